#include "models/workload/optimizer.hpp"

#include <stdexcept>

#include "models/workload/workload_kind.hpp"

namespace stepcast {

namespace {

// bitsandbytes: an fp32 scale for every 256 values of a moment (functional.py, quantize_blockwise).
constexpr double kScalesOfEightBit = 4.0 / 256;

}  // namespace

OptimizerKind usual_optimizer(const Model& model) {
  const bool adam = model.is_transformer() || workload_kind(model) == WorkloadKind::diffusion;
  return adam ? OptimizerKind::adam : OptimizerKind::sgd;
}

OptimizerKind outside_matrices(OptimizerKind kind) { return kind == OptimizerKind::muon ? OptimizerKind::adam : kind; }

double optimizer_state_bytes(OptimizerKind kind, double element) {
  switch (kind) {
    case OptimizerKind::adam:
      return 2 * element;
    case OptimizerKind::adam_16bit:
      return 2 * 2;
    case OptimizerKind::adam_8bit:
      return 2 * (1 + kScalesOfEightBit);
    case OptimizerKind::sgd:
    case OptimizerKind::lion:
    case OptimizerKind::muon:
      return element;
    case OptimizerKind::adafactor:
      return 0;  // a row and a column of each matrix
  }
  throw std::logic_error("optimizer_state_bytes: an optimizer without a name");
}

double least_update_bytes(OptimizerKind kind, const UpdatedParameter& formats) {
  // Adafactor's sums over rows and columns come before the update, which reads the gradient again.
  const double gradient_reads = kind == OptimizerKind::adafactor ? 2 : 1;
  // The momentum is handed to Newton–Schulz in 16 bit, and its result read.
  const double handed = kind == OptimizerKind::muon ? 2 * 2 : 0;
  const double states = optimizer_state_bytes(kind, formats.parameter);
  return gradient_reads * formats.gradient + 2 * formats.parameter + 2 * states + formats.copy + handed;
}

}  // namespace stepcast
