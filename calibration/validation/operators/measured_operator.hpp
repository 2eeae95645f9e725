#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calibration/validation/known_tables.hpp"
#include "calibration/validation/operators/conditions.hpp"
#include "models/compute/attention_time.hpp"
#include "models/compute/convolution_time.hpp"
#include "models/compute/product_time.hpp"

namespace stepcast {

/// A matrix product; `quantises`: its left operand is turned from 16 into 8 bit in the same timing.
struct ProductWork {
  ProductShape shape;
  bool quantises = false;
};
struct AttentionWork {
  AttentionShape shape;
  std::string kernel;  ///< key of OperatorProfile::attention, or "unfused"
};
/// A memory-bound kernel.
struct StreamingWork {
  std::string kernel;  ///< operator.direction.implementation
  std::optional<Bytes> bytes;
  double columns = 0;
};
struct ConvolutionWork {
  ConvolutionShape shape;
};

/// One timed operator of a table.
struct MeasuredOperator {
  int line = 0;
  std::string refusal;      ///< why it cannot be predicted; its work is void then
  std::string accelerator;  ///< catalogue id, as the table has it
  std::string format;       ///< of numbers, as profiles of operators have it
  std::string source, implementation;
  Conditions conditions;
  std::variant<ProductWork, AttentionWork, StreamingWork, ConvolutionWork> work;
  Seconds measured;
  std::optional<Watts> power;   ///< mean of the board's sensor
  bool power_doubtful = false;  ///< what was measured again contradicts it
  std::string family;           ///< equal for rows that a fold of a cross-validation must not part
};

/// Operators of one file.
struct OperatorSet {
  std::string name;
  std::vector<MeasuredOperator> operators;
};

/// Kinds of tables of operators.
std::vector<KnownTable> operator_tables();
/// True when the header is that of a table of operators.
bool holds_operators(const CsvTable& table);
/// Reads a table of operators, of any of the five kinds. Throws InputError with every fault of the file.
OperatorSet read_operators(const CsvTable& table, std::string name);

}  // namespace stepcast
