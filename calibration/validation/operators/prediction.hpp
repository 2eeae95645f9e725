#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/operators/measured_operator.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// What the model says about one operator, or why it says nothing.
struct OperatorPrediction {
  std::optional<Seconds> time;
  std::optional<Watts> power;  ///< where the row measures power
  std::string reason;
  std::string estimate;  ///< whose constants these are, where measurements of the family did not make them; else empty
};

/// An accelerator and the constants of its family.
struct OperatorMachine {
  const Accelerator* accelerator = nullptr;
  const OperatorProfile* profile = nullptr;
  std::vector<const OperatorProfile*> siblings = {};  ///< nearest first: for formats that nobody measured
  const ComputeProfile* compute = nullptr;            ///< what steps use: for formats that no sibling has either
};

/// Format of numbers that a table's compute in (fp16-tensor: fp16; fp16-storage: fp32; fp8_block: fp8); null for none.
std::optional<Precision> precision_of_format(std::string_view format);

/// Peak that a table's format computes at (fp16-tensor: fp16's; fp16-storage: fp32's; fp8_block and mxfp8: fp8's); 0
/// when the accelerator has none.
FlopsPerSecond peak_of_format(const Accelerator& accelerator, std::string_view format);
/// The key under which profiles hold a format's constants: what the table says where there is one, else the other
/// 16-bit format.
std::string format_key(const std::map<std::string, double>& by_format, std::string_view format);

/// The same among the formats that a profile has convolutions in.
std::string convolution_format(const OperatorProfile& profile, std::string_view format);

/// Predicts one operator.
OperatorPrediction predict_operator(const MeasuredOperator& measured, const OperatorMachine& machine);

}  // namespace stepcast
