#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

/// `startup`: processes, communicators and data before the first step; `compile`: traced and tuned kernels.
enum class PhaseKind { train, evaluation, startup, compile };
template <>
struct EnumNames<PhaseKind> {
  static constexpr std::array names{"train", "evaluation", "startup", "compile"};
};

/// A stretch of a run that differs from the scenario in what it states. Training phases say how much they train on;
/// one of them may leave it out and then takes what the workload states and no other phase does.
struct PhaseSpec {
  std::string name;
  PhaseKind kind = PhaseKind::train;
  std::optional<double> tokens, samples;  ///< of an evaluation: of each time
  std::optional<double> steps;
  std::optional<Seconds> time;           ///< stated rather than predicted
  std::optional<double> every_steps;     ///< evaluation: once in so many training steps
  std::optional<double> times;           ///< how often it occurs; default: once
  std::optional<long> global_batch;      ///< at its start
  std::optional<long> global_batch_end;  ///< a ramp, linear over its samples
  std::optional<int> seq_len;
  std::vector<std::string> set;  ///< what else differs, as `--set` takes it
  static const FieldTable<PhaseSpec>& fields();
};

}  // namespace stepcast
