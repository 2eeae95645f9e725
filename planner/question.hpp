#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"
#include "planner/choices.hpp"

namespace stepcast {

inline constexpr int kPlanQuestionVersion = 1;

/// What is trained, and how much the batch may give way so that it divides.
struct PlanWorkload {
  WorkloadSpec training;
  std::optional<long> least_global_batch;  ///< smallest batch that is still wanted; none: global_batch exactly
  static const FieldTable<PlanWorkload>& fields();
};

/// A kind of server to choose from, how many of it, and what may join them.
struct PlanCluster {
  std::string node;
  Counts nodes{{1}};
  Choices<FabricSpec> fabric;    ///< open: the standard fabric
  Choices<std::string> storage;  ///< open: the nodes' own drives
  std::string site, cooling;
  Choices<Watts> power_cap;   ///< of each device; open: its board limit
  Choices<double> clock_MHz;  ///< at which devices are locked; open: what their power allows
  CostSpec cost;
  static const FieldTable<PlanCluster>& fields();
};

/// Settings of the strategy that are searched; what is left open is searched over all that is legal.
struct PlanStrategy {
  Choices<std::string> framework;
  Choices<int> tensor_parallel, pipeline_parallel, context_parallel, expert_parallel, expert_tensor_parallel,
      virtual_pipeline;
  Choices<ExpertDispatch> expert_dispatch;
  Choices<long> micro_batch;
  Choices<PipelineSchedule> schedule;
  Choices<Recompute> recompute;
  Choices<Sharding> sharding;
  Choices<bool> sequence_parallel;
  Choices<bool> offload_optimizer;
  Choices<OffloadDevice> offload_optimizer_device;
  bool uneven_stages = true;  ///< pipelines whose stages differ by a layer are allowed
  // Not searched: the same in every option.
  std::vector<RecomputeModule> recompute_modules;  ///< of options with recompute "modules"
  std::optional<ContextMethod> context_method;     ///< default: the model's
  std::string order = StrategySpec().order;
  std::optional<bool> overlap_tensor_parallel, overlap_gradients, overlap_parameter_gather, fused_loss,
      gradients_in_fp32, fused_activation, fused_norm, fused_rotary;
  std::optional<AttentionKernel> attention_kernel;
  std::optional<OptimizerKind> optimizer;
  std::optional<MemoryFormat> memory_format;
  bool parameters_in_16_bit = false;
  bool torch_compile = false;
  static const FieldTable<PlanStrategy>& fields();
};

/// Limits that every answer keeps.
struct PlanConstraints {
  std::optional<Dollars> budget_to_buy;
  std::optional<DollarsPerSecond> budget;  ///< budget_usd_per_month: rent, or purchase over its amortisation and power
  std::optional<Dollars> budget_of_run;
  std::optional<Seconds> deadline;
  std::optional<Watts> power;  ///< of the whole cluster at the meter, its highest
  std::optional<int> rack_units;
  std::optional<double> minimum_goodput_percent;  ///< share of the time that is useful training
  double memory_headroom_percent = 0;             ///< of every device, kept free
  static const FieldTable<PlanConstraints>& fields();
};

/// What is made as small (throughput per watt: as large) as can be.
enum class Objective { time, cost, energy, carbon, throughput_per_watt };
template <>
struct EnumNames<Objective> {
  static constexpr std::array names{"time", "cost", "energy", "carbon", "throughput-per-watt"};
};

/// A question as it is written (docs/formats/plan-question.md).
struct PlanQuestionSpec {
  std::string schema;
  int format_version = kPlanQuestionVersion;
  std::string name, description;
  PlanWorkload workload;
  std::vector<PlanCluster> clusters;
  PlanStrategy strategy;
  PlanConstraints constraints;
  Choices<Objective> objective{{Objective::time}};  ///< the first ranks; several make a Pareto front
  RunSpec run;
  static const FieldTable<PlanQuestionSpec>& fields();
};

/// A question without faults of its own.
struct PlanQuestion {
  std::string file;  ///< for messages
  PlanQuestionSpec spec;
  [[nodiscard]] Objective objective() const { return spec.objective.values.front(); }
};

/// Whether a document asks for a plan: it names clusters to choose from instead of one.
bool is_plan_question(const Json& document);

/// Reads, overrides and checks a question against the catalogue. Throws InputError with every fault.
PlanQuestion read_plan_question(Json document, const std::string& file, const std::vector<std::string>& overrides,
                                const Catalog& catalog);
/// The same from a file.
PlanQuestion load_plan_question(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                const Catalog& catalog);

/// The published JSON Schema (planner/plan-question.schema.json).
Json plan_question_schema();

}  // namespace stepcast
