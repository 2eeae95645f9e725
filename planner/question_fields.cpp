#include "planner/question.hpp"

namespace stepcast {

namespace {

// As a scenario's own limits (models/scenario/spec_fields.cpp).
constexpr double kMostNodes = 1e6;
constexpr double kMostRanks = 1e8;
constexpr double kMostBatch = 1e9;

}  // namespace

const FieldTable<PlanWorkload>& PlanWorkload::fields() {
  static const auto kTable = [] {
    FieldTable<PlanWorkload> t("workload", "What is trained");
    t.fields_of(&PlanWorkload::training)
        .field("least_global_batch", &PlanWorkload::least_global_batch,
               "Smallest batch that is still wanted where global_batch does not divide; default: global_batch exactly",
               {.min = 1, .max = kMostBatch});
    return t;
  }();
  return kTable;
}

const FieldTable<PlanCluster>& PlanCluster::fields() {
  using C = PlanCluster;
  static const auto kTable = [] {
    FieldTable<C> t("cluster", "A kind of server to choose");
    t.field("node", &C::node, "Catalogue id of the server", {.required = true, .refers_to = "nodes"})
        .field("nodes", &C::nodes, "How many: a number, a list, or {\"from\", \"to\", \"step\"}",
               {.min = 1, .max = kMostNodes})
        .field("fabric", &C::fabric, "How they are joined: one fabric, or several to choose from")
        .field("storage", &C::storage,
               "Catalogue id of a shared storage system, or several; default: the nodes' own drives",
               {.refers_to = "storage"})
        .field("site", &C::site, "Catalogue id of the site; default: a stated PUE and price", {.refers_to = "sites"})
        .field("cooling", &C::cooling, "Catalogue id of the cooling; default: the node's", {.refers_to = "cooling"})
        .field("power_cap_W", &C::power_cap, "Power limit of each device, or several; default: its board limit",
               {.min = 0, .max = 1e5, .above_min = true})
        .field("clock_MHz", &C::clock_MHz,
               "Clock that devices are locked at, or several; default: as fast as power allows",
               {.min = 0, .max = 1e5, .above_min = true})
        .field("cost", &C::cost, "What it costs, as in a scenario: bought or rented, at whose price");
    return t;
  }();
  return kTable;
}

const FieldTable<PlanStrategy>& PlanStrategy::fields() {
  using S = PlanStrategy;
  static const auto kTable = [] {
    FieldTable<S> t("strategy", "Which settings are searched: a value, a list, or (left out) all that are legal");
    const Rules degree{.min = 1, .max = kMostRanks};
    t.field("framework", &S::framework,
            "Ids of framework profiles; default: megatron-lm and pytorch-fsdp for transformers on GPUs, else the "
            "device's usual one")
        .field("tensor_parallel", &S::tensor_parallel, "Devices that share each layer's matrices", degree)
        .field("pipeline_parallel", &S::pipeline_parallel, "Stages of the pipeline", degree)
        .field("context_parallel", &S::context_parallel,
               "Devices that share each sequence; default: 1, and powers of two where sequences are long", degree)
        .field("expert_parallel", &S::expert_parallel, "Devices that share the experts", degree)
        .field("expert_tensor_parallel", &S::expert_tensor_parallel,
               "Tensor-parallel devices that share one expert: all of them, or 1", degree)
        .field("expert_dispatch", &S::expert_dispatch,
               "How tokens reach experts of other devices; default: all that framework and accelerator have")
        .field("virtual_pipeline", &S::virtual_pipeline, "Model chunks of each stage", {.min = 1, .max = 10000})
        .field("micro_batch", &S::micro_batch, "Samples of a micro-batch", {.min = 1, .max = kMostBatch})
        .field("schedule", &S::schedule, "Pipeline schedules; default: 1f1b and interleaved-1f1b")
        .field("recompute", &S::recompute, "Recomputation; default: none, selective and full")
        .field("sharding", &S::sharding, "What replicas share out; default: all that the framework offers")
        .field("sequence_parallel", &S::sequence_parallel,
               "Norms and dropout split over the tensor-parallel group; default: both are tried")
        .field("offload_optimizer", &S::offload_optimizer, "Optimizer states in host memory; default: no")
        .field("offload_optimizer_device", &S::offload_optimizer_device,
               "Where offloaded states lie: host, or nvme, the node's drives; default: host")
        .field("uneven_stages", &S::uneven_stages, "Pipelines whose stages differ by a layer are allowed")
        .field("recompute_modules", &S::recompute_modules, "Parts of a layer that recompute \"modules\" repeats")
        .field("context_method", &S::context_method,
               "How attention meets the rest of its sequence; default: ring, or all-gather with sparse or compressed "
               "attention")
        .field("order", &S::order, "Dimensions over ranks, innermost first")
        .field("overlap_tensor_parallel", &S::overlap_tensor_parallel, "As in a scenario")
        .field("overlap_gradients", &S::overlap_gradients, "As in a scenario")
        .field("overlap_parameter_gather", &S::overlap_parameter_gather, "As in a scenario")
        .field("fused_loss", &S::fused_loss, "As in a scenario")
        .field("gradients_in_fp32", &S::gradients_in_fp32, "As in a scenario")
        .field("optimizer", &S::optimizer, "As in a scenario")
        .field("parameters_in_16_bit", &S::parameters_in_16_bit, "As in a scenario")
        .field("fused_activation", &S::fused_activation, "As in a scenario")
        .field("fused_norm", &S::fused_norm, "As in a scenario")
        .field("fused_rotary", &S::fused_rotary, "As in a scenario")
        .field("attention_kernel", &S::attention_kernel, "As in a scenario")
        .field("torch_compile", &S::torch_compile, "As in a scenario")
        .field("memory_format", &S::memory_format, "As in a scenario");
    return t;
  }();
  return kTable;
}

const FieldTable<PlanConstraints>& PlanConstraints::fields() {
  using C = PlanConstraints;
  static const auto kTable = [] {
    FieldTable<C> t("constraints", "Limits that every answer keeps");
    const Rules positive{.min = 0, .above_min = true};
    t.field("budget_to_buy_usd", &C::budget_to_buy, "Price of all servers and switches", positive)
        .field("budget_usd_per_month", &C::budget,
               "What the cluster costs while it runs: rent, or its price over four years and electricity", positive)
        .field("budget_of_run_usd", &C::budget_of_run, "Cost of the whole training", positive)
        .field("deadline_days", &C::deadline, "The training takes no longer", positive)
        .field("power_kW", &C::power, "Highest draw of the whole cluster at the meter", positive)
        .field("rack_units", &C::rack_units, "Height of all servers", {.min = 1, .max = 1e9})
        .field("minimum_goodput_percent", &C::minimum_goodput_percent,
               "Of the time, to be useful training: what failures and checkpoints leave", {.min = 0, .max = 100})
        .field("memory_headroom_percent", &C::memory_headroom_percent, "Of every device's memory, to stay free",
               {.min = 0, .max = 90});
    return t;
  }();
  return kTable;
}

const FieldTable<PlanQuestionSpec>& PlanQuestionSpec::fields() {
  using Q = PlanQuestionSpec;
  static const auto kTable = [] {
    FieldTable<Q> t("plan question", "What to train, within which limits, on what, and what matters");
    t.field("$schema", &Q::schema, "Address of this schema, for editors")
        .field("format_version", &Q::format_version, "Version of this format", {.min = 1, .max = kPlanQuestionVersion})
        .field("name", &Q::name, "Name for reports")
        .field("description", &Q::description, "What is asked and why")
        .field("workload", &Q::workload, "What is trained", {.required = true})
        .field("clusters", &Q::clusters, "Kinds of servers to choose from", {.required = true})
        .field("strategy", &Q::strategy, "Which settings are searched")
        .field("constraints", &Q::constraints, "Limits that every answer keeps")
        .field("objective", &Q::objective, "What matters; the first of several ranks, all make the Pareto front")
        .field("run", &Q::run, "How the forecast is made");
    return t;
  }();
  return kTable;
}

Json plan_question_schema() { return published_schema<PlanQuestionSpec>("Stepcast plan question"); }

}  // namespace stepcast
