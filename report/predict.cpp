#include "report/predict.hpp"

#include <algorithm>

#include "models/closed_form.hpp"
#include "models/convergence/target.hpp"
#include "models/memory/advice.hpp"
#include "models/phases/run_phases.hpp"
#include "models/power/average_power.hpp"
#include "models/power/device_power.hpp"
#include "models/power/power.hpp"
#include "models/scenario/node_kinds.hpp"
#include "models/updates/actor_step.hpp"
#include "models/updates/lone_node.hpp"
#include "report/helper_nodes.hpp"
#include "report/json.hpp"
#include "report/outlook.hpp"
#include "report/predict_updates.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

Flops model_flops(const Scenario& scenario, ModelFlopsOptions options) {
  options.document_len = scenario.spec.workload.document_len;
  options.frozen = scenario.spec.workload.adapter_rank > 0;
  return model_flops_per_sample(*scenario.model, scenario.seq_len, options) *
         static_cast<double>(scenario.spec.workload.global_batch);
}

/// Whether the strategy runs the attention core's forward pass twice.
bool recomputes_attention(const StrategySpec& strategy) {
  if (strategy.recompute == Recompute::selective || strategy.recompute == Recompute::full) return true;
  return strategy.recompute == Recompute::modules &&
         std::any_of(strategy.recompute_modules.begin(), strategy.recompute_modules.end(), [](RecomputeModule module) {
           return module == RecomputeModule::attention_core || module == RecomputeModule::attention;
         });
}

/// Share of the layers whose backward pass repeats something.
double repeating_share(const Job& job) {
  int repeating = 0, blocks = 0;
  for (const Chunk& chunk : job.chunks)
    for (const int kind : chunk.layer_kinds) {
      const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
      if (layer.role != LayerRole::dense_block && layer.role != LayerRole::moe_block) continue;
      ++blocks;
      if (layer.repeats) ++repeating;
    }
  return static_cast<double>(repeating) / std::max(1, blocks);
}

/// What the convention counts beyond (or short of) the executed FLOPs, in which the output layer is counted and fused
/// kernels leave out the half of causal attention that a mask hides; others run it whole. Attention that is recomputed
/// runs 4 times the forward work instead of 3.
Flops convention_correction(const Job& job) {
  const Scenario& scenario = *job.scenario;
  const FlopConvention& convention = scenario.spec.run.flop_convention;
  const Flops executed = model_flops(scenario, {true, true});
  Flops out{0};
  if (!convention.causal_halved && scenario.framework->fused_attention())
    out += (model_flops(scenario, {false, true}) - executed) *
           (recomputes_attention(scenario.spec.strategy) ? 1 + repeating_share(job) / 3 : 1.0);
  if (!convention.output_layer) out += model_flops(scenario, {true, false}) - executed;
  return out;
}

/// What the devices could do at their usual clocks, mean over all: utilisation is not of what a cap leaves.
FlopsPerSecond mean_peak(const Job& job) {
  FlopsPerSecond sum{0};
  for (const NodeKind& kind : node_kinds(*job.scenario)) {
    const Device device = kind.scenario == job.scenario ? job.device : device_of(*kind.scenario);
    const double share = static_cast<double>(kind.nodes) / job.scenario->spec.cluster.nodes;
    sum += device.peak / clock_state(*kind.scenario).products * share;
  }
  return sum;
}

void fill_rates(Prediction& out, const Job& job, const StepBreakdown& breakdown) {
  const Scenario& scenario = *job.scenario;
  const double devices = out.devices;
  const auto batch = static_cast<double>(scenario.spec.workload.global_batch);
  const Seconds step = breakdown.step_time;
  out.samples_per_s = batch / step.value();
  out.samples_per_s_per_gpu = out.samples_per_s / devices;
  if (scenario.model->is_transformer()) {
    out.tokens_per_s = out.samples_per_s * scenario.seq_len;
    out.tokens_per_s_per_gpu = out.tokens_per_s / devices;
  }
  const FlopConvention& convention = scenario.spec.run.flop_convention;
  const FlopsPerSecond model =
      model_flops(scenario, {convention.causal_halved, convention.output_layer}) / devices / step;
  const FlopsPerSecond hardware = (breakdown.executed_flops + convention_correction(job) / devices) / step;
  out.model_tflops_per_gpu = model.in(1_TFLOPS);
  out.hardware_tflops_per_gpu = hardware.in(1_TFLOPS);
  if (const FlopsPerSecond peak = mean_peak(job); peak > FlopsPerSecond(0)) {
    out.mfu = model / peak;
    out.hfu = hardware / peak;
  }
}

/// Storage traffic is no collective; it goes by its own name.
std::string_view kind_name(std::size_t kind, std::size_t dimension) {
  const bool storage = static_cast<Dimension>(dimension) == Dimension::storage;
  return storage ? "storage" : EnumNames<CollectiveKind>::names[kind];
}

void fill_communication(CommunicationMetrics& out, const StepBreakdown& breakdown) {
  out.total = breakdown.communication_total();
  out.exposed = breakdown.communication_exposed();
  for (std::size_t kind = 0; kind < kCollectiveKinds; ++kind)
    for (std::size_t dimension = 0; dimension < kDimensions; ++dimension) {
      const StepBreakdown::Communication& share = breakdown.communication[kind][dimension];
      if (!(share.total > Seconds(0)) && !(share.exposed > Seconds(0))) continue;
      CommunicationMetrics::Share& of_kind = out.by_kind[std::string(kind_name(kind, dimension))];
      CommunicationMetrics::Share& of_dimension = out.by_dimension[std::string(EnumNames<Dimension>::names[dimension])];
      for (CommunicationMetrics::Share* sum : {&of_kind, &of_dimension}) {
        sum->total += share.total;
        sum->exposed += share.exposed;
      }
    }
}

Bytes left(const MemoryReport& memory) {
  return memory.capacity - memory.stages[static_cast<std::size_t>(memory.worst_stage)].total();
}

/// Whether one is worse off: it fits no more where the other does, else the one that has less left.
bool scarcer(const MemoryReport& one, const MemoryReport& other) {
  return one.fits != other.fits ? !one.fits : left(one) < left(other);
}

/// The memory of the kind of node that has least left: a step fits when it fits on every kind.
MemoryReport scarcest_memory(const Job& job) {
  std::optional<MemoryReport> out;
  for (const NodeKind& kind : node_kinds(*job.scenario)) {
    MemoryReport here = kind.scenario == job.scenario ? memory_of(job) : memory_of(lower(*kind.scenario));
    if (!out || scarcer(here, *out)) out = std::move(here);
  }
  return std::move(*out);
}

/// The same over the training phases of the run, with advice for the one that does not fit.
MemoryReport scarcest_memory_of_run(const Job& job, const Catalog& catalog, MemoryAdvice advice) {
  MemoryReport out = scarcest_memory(job);
  const Scenario* worst = job.scenario;
  const std::vector<PhaseScenario> phases = training_scenarios(*job.scenario);
  for (const PhaseScenario& phase : phases) {
    MemoryReport other = scarcest_memory(lower(*phase.scenario));
    if (!scarcer(other, out)) continue;
    out = std::move(other);
    out.phase = phase.name;
    worst = phase.scenario.get();
  }
  if (!out.fits && advice == MemoryAdvice::when_it_does_not_fit) out.advice = memory_advice(*worst, catalog);
  return out;
}

/// No measured run stands behind the updates' simulation. Published rates of such systems differ from what their
/// mechanisms allow by tens of per cent: half as much again is taken, an estimate.
constexpr double kUnmeasured = 1.5;

void widen(ExpectedError& error, const Scenario& scenario) {
  error.grade = EvidenceGrade::none;
  error.share_80 *= kUnmeasured;
  const std::string what = scenario.actors ? "learners that actors feed"
                                           : fmt::format("update {}{}", name_of(scenario.update),
                                                         scenario.servers ? " through parameter servers" : "");
  error.why =
      fmt::format("no measured run of {}; a {} by itself: {}", what, scenario.actors ? "learner" : "worker", error.why);
}

/// That the stated work is taken as it is, where updates are not those that it usually stands for.
std::optional<std::string> uncounted_samples(const Scenario& scenario) {
  const std::vector<std::string> updates = uncounted_updates(scenario);
  if (updates.empty() || !steps_to_train(scenario)) return std::nullopt;
  return fmt::format("samples to the target as stated: what {} add to them is not counted", fmt::join(updates, ", "));
}

void fill_power(Prediction& out, const Scenario& scenario, const StepBreakdown& breakdown, const Catalog& catalog) {
  const PowerModel power = power_model(scenario);
  const bool known = breakdown.average_device_power > Watts(0);
  out.device_average_power = known ? breakdown.average_device_power : average_device_power(breakdown, power);
  // The closed form knows no instants: the busiest state that occurs stands for its peak.
  const Watts peak = breakdown.peak_device_power > Watts(0) ? breakdown.peak_device_power : power.device_compute;
  out.average_power = power.cluster_at_meter(out.device_average_power);
  out.peak_power = power.cluster_at_meter(std::max(peak, out.device_average_power));
  const std::vector<HelperNodes> helpers = helper_nodes(scenario, catalog, out.updates);
  out.average_power += draw_of(helpers);
  out.peak_power += draw_of(helpers);
  for (const HelperNodes& helper : helpers) {
    const int nodes = helper.scenario.spec.cluster.nodes;
    const bool actors = helper.role == HelperRole::actors;
    out.assumptions.push_back(fmt::format(
        "{} of {} for {} beside the {} that train{}",
        nodes == 1 ? std::string("one node") : fmt::format("{} nodes", nodes), helper.scenario.node->id, helper.what(),
        scenario.spec.cluster.nodes,
        actors ? "; a lost actor costs its samples, not the job, as actors hold no state of training" : ""));
  }
  if (power.pue_assumed)
    out.assumptions.push_back(
        fmt::format("PUE {}, the industry's mean of 2024: neither site nor cooling states one", power.pue));
  out.energy_per_step = out.average_power * out.step_time;
  out.energy_per_sample = out.energy_per_step / static_cast<double>(scenario.spec.workload.global_batch);
}

}  // namespace

Prediction predict(const Job& job, const StepBreakdown& own, Fidelity fidelity, const Catalog& catalog,
                   MemoryAdvice advice, Extent extent, std::optional<UpdateOutcome> updates) {
  const Scenario& scenario = *job.scenario;
  Prediction out;
  StepBreakdown breakdown = own;
  out.updates = std::move(updates);
  if (scenario.actors) out.updates = wait_for_actors(breakdown, job);
  out.scenario_name = scenario.spec.name;
  out.step_time = breakdown.step_time;
  out.devices = scenario.devices();
  out.nodes = scenario.spec.cluster.nodes;
  out.degrees = scenario.degrees;
  out.flop_convention = scenario.spec.run.flop_convention;
  out.assumptions = scenario.assumptions;
  if (auto words = uncounted_samples(scenario)) out.assumptions.push_back(std::move(*words));
  out.expected_error = expected_error(scenario, prediction_errors());
  if (out.updates) widen(out.expected_error, scenario);
  fill_rates(out, job, breakdown);
  fill_communication(out.communication, breakdown);
  out.compute = breakdown.compute;
  out.host = breakdown.host;
  out.optimizer = breakdown.optimizer;
  out.overhead = breakdown.overhead;
  out.bubble = breakdown.bubble;
  out.synchronization_wait = breakdown.synchronization_wait;
  const Seconds updating = scenario.spec.strategy.offload_optimizer ? Seconds(0) : breakdown.optimizer;
  out.gpu_utilization = (breakdown.compute + updating) / breakdown.step_time;
  out.memory = scarcest_memory_of_run(job, catalog, advice);
  fill_power(out, scenario, breakdown, catalog);
  if (extent == Extent::run) add_outlook(out, job, catalog);
  if (extent == Extent::run_figures) add_run_figures(out, job, catalog, fabric_bill(scenario, catalog));
  out.fidelity = name_of(fidelity);
  out.version = kVersion;
  out.catalog_hash = catalog.hash_of_used();
  check_figures(out);
  return out;
}

Prediction predict_analytic(const Scenario& scenario, const Catalog& catalog, MemoryAdvice advice, Extent extent) {
  if (exchanges_apart(scenario))
    return predict_updates(scenario, catalog, Fidelity::analytic, closed_form, advice, extent);
  const Job job = lower(scenario);
  return predict(job, closed_form(job), Fidelity::analytic, catalog, advice, extent);
}

}  // namespace stepcast
