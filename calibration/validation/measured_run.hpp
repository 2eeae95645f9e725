#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/field_table.hpp"
#include "fields/json_text.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What a row states about its run, and what is compared.
enum class Metric { step_time, tokens_per_s_per_gpu, samples_per_s, minutes_to_target };
template <>
struct EnumNames<Metric> {
  static constexpr std::array names{"step_time_s", "tokens_per_s_per_gpu", "samples_per_s", "minutes_to_target"};
};
/// Whether more of it is slower.
constexpr bool is_time(Metric metric) { return metric == Metric::step_time || metric == Metric::minutes_to_target; }

/// What a source counts as memory: what the framework's allocator handed out, what it reserved for that, or what the
/// device's driver says is in use.
enum class MemoryCount { allocated, reserved, device };

/// What a source leaves out of a run's mapping, to be chosen as settle.hpp says.
struct OpenChoices {
  bool mapping = false;          ///< tensor and pipeline parallel degrees
  bool without_context = false;  ///< … of mappings without context parallelism
  bool interleaving = false, recompute = false, micro_batch = false;
  bool shard_group = false;        ///< over how many ranks a hybrid sharding spreads one copy
  bool sequence_parallel = false;  ///< chosen with tensor parallelism, where the mapping is open
  bool narrow_attention = false;   ///< attention in 8 bit where the scenario can say it
  [[nodiscard]] bool any() const { return mapping || interleaving || recompute || micro_batch || shard_group; }
};

/// Among a run's inputs_unstated: the table that holds the run assumes what it ran on.
inline constexpr std::string_view kUnstatedAccelerator = "accelerator";
/// Among them: whether its products were in 8 or in 4 bit.
inline constexpr std::string_view kUnstatedWidth = "precision: 8 or 4 bit";
/// Among them: how many blocks of multi-token prediction the network has.
inline constexpr std::string_view kUnstatedPredictions = "mtp_layers";

/// A measured training run: the scenario that a user would write for it, and what was measured.
struct MeasuredRun {
  std::string id;
  int line = 0;         ///< of the file it was read from
  std::string source;   ///< where the figure was published; empty where one file has one source
  std::string model;    ///< as the row names it; may be empty
  Json scenario;        ///< null when no scenario can say it
  std::string refusal;  ///< why not
  OpenChoices open;
  std::vector<std::string> inputs_unstated;       ///< what unstated.hpp filled in; empty: the row states everything
  std::string doubtful;                           ///< why the source itself doubts the figure; empty: sound
  std::string framework, accelerator, precision;  ///< as the row names them
  int gpus = 0;
  bool mixture_of_experts = false;
  std::string group;          ///< equal for runs that differ in their mapping only
  std::string scaling_group;  ///< equal for runs that differ in their number of devices only; empty: not compared
  Metric metric = Metric::step_time;
  double measured = 0;         ///< in the unit of the metric's name
  double steps_to_target = 0;  ///< of a run that is measured in minutes to its target
  double evaluations = 0;      ///< on the way there
  double samples_an_evaluation = 0;
  std::optional<Bytes> measured_memory;  ///< peak on one device
  MemoryCount memory_count = MemoryCount::allocated;
};

/// Measured runs of one file.
struct RunSet {
  std::string name;
  std::vector<MeasuredRun> runs;
};

}  // namespace stepcast
