#include "explain/setting_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "models/compute/layout_conversion.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/scenario/at_size.hpp"
#include "models/scenario/memory_format.hpp"
#include "models/updates/lone_node.hpp"

namespace stepcast {

namespace {

/// Ranges of nodes that are named one by one; more are counted.
constexpr std::size_t kMostNamedRanges = 3;

/// "node 3", "nodes 3, 60–63", "12 nodes".
std::string named_nodes(std::vector<int> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::vector<std::string> ranges;
  for (std::size_t first = 0, next = 0; first < nodes.size(); first = next) {
    for (next = first + 1; next < nodes.size() && nodes[next] == nodes[next - 1] + 1;) ++next;
    ranges.push_back(next - first == 1 ? fmt::format("{}", nodes[first])
                                       : fmt::format("{}–{}", nodes[first], nodes[next - 1]));
  }
  if (ranges.size() > kMostNamedRanges) return fmt::format("{} nodes", nodes.size());
  return fmt::format("node{} {}", nodes.size() == 1 ? "" : "s", fmt::join(ranges, ", "));
}

class Changes {
 public:
  explicit Changes(const Scenario& scenario) : scenario_(scenario) {}

  std::vector<SettingChange> all() {
    batches();
    degrees();
    pairs();
    memory();
    kernels();
    overlaps();
    updates();
    actors();
    compression();
    hardware();
    uneven_nodes();
    return std::move(out_);
  }

 private:
  void add(std::string name, std::vector<std::string> words) { out_.push_back({std::move(name), std::move(words)}); }

  static std::string set(const char* key, long value) { return fmt::format("{}={}", key, value); }

  /// Twice as many, and half.
  void double_and_halve(const char* name, const char* key, long value) {
    add(fmt::format("{} {} → {}", name, value, 2 * value), {set(key, 2 * value)});
    if (value > 1 && value % 2 == 0) add(fmt::format("{} {} → {}", name, value, value / 2), {set(key, value / 2)});
  }

  void batches() {
    double_and_halve("micro_batch", "strategy.micro_batch", scenario_.degrees.micro_batch);
    double_and_halve("global_batch", "workload.global_batch", scenario_.spec.workload.global_batch);
  }

  bool parallel() const { return scenario_.framework->tensor_parallel && scenario_.model->is_transformer(); }

  void degrees() {
    if (!parallel()) return;
    const Degrees& d = scenario_.degrees;
    double_and_halve("tensor_parallel", "strategy.tensor_parallel", d.tp);
    double_and_halve("pipeline_parallel", "strategy.pipeline_parallel", d.pp);
    double_and_halve("context_parallel", "strategy.context_parallel", d.cp);
    if (d.pp > 1) double_and_halve("virtual_pipeline", "strategy.virtual_pipeline", d.vpp);
    if (scenario_.model->transformer->experts > 0) experts(d);
    if (d.pp < 2) return;
    for (const std::string_view schedule : {"1f1b", "interleaved-1f1b", "zero-bubble"}) {
      if (schedule == name_of(scenario_.schedule)) continue;
      std::vector<std::string> words{fmt::format("strategy.schedule={}", schedule)};
      const bool interleaved = schedule == "interleaved-1f1b";
      if (interleaved != (d.vpp > 1)) words.push_back(set("strategy.virtual_pipeline", interleaved ? 2 : 1));
      add(fmt::format("schedule {} → {}", name_of(scenario_.schedule), schedule), std::move(words));
    }
  }

  void experts(const Degrees& d) {
    double_and_halve("expert_parallel", "strategy.expert_parallel", d.ep);
    if (d.tp == 1) return;
    const int other = d.etp == d.tp ? 1 : d.tp;
    add(fmt::format("expert_tensor_parallel {} → {}", d.etp, other), {set("strategy.expert_tensor_parallel", other)});
  }

  /// Trades of one degree for another.
  void pairs() {
    if (!parallel()) return;
    const Degrees& d = scenario_.degrees;
    const auto trade = [&](const char* more, int a, const char* less, int b) {
      if (b < 2 || b % 2 != 0) return;
      add(fmt::format("{} {} → {}, {} {} → {}", more, a, 2 * a, less, b, b / 2),
          {fmt::format("strategy.{}={}", more, 2 * a), fmt::format("strategy.{}={}", less, b / 2)});
    };
    trade("tensor_parallel", d.tp, "pipeline_parallel", d.pp);
    trade("pipeline_parallel", d.pp, "tensor_parallel", d.tp);
    if (d.tp > 1) toggle("sequence_parallel", scenario_.spec.strategy.sequence_parallel);
  }

  void toggle(const char* key, bool on) {
    add(fmt::format("{} {} → {}", key, on ? "on" : "off", on ? "off" : "on"),
        {fmt::format("strategy.{}={}", key, on ? "false" : "true")});
  }

  void memory() {
    for (const std::string_view recompute : {"none", "selective", "full"})
      if (scenario_.model->is_transformer() && recompute != name_of(scenario_.spec.strategy.recompute))
        add(fmt::format("recompute {} → {}", name_of(scenario_.spec.strategy.recompute), recompute),
            {fmt::format("strategy.recompute={}", recompute)});
    if (const auto layers = scenario_.spec.strategy.recompute_layers) recomputed_layers(*layers);
    for (const std::string& sharding : scenario_.framework->shardings)
      if (sharding != name_of(scenario_.sharding))
        add(fmt::format("sharding {} → {}", name_of(scenario_.sharding), sharding),
            {fmt::format("strategy.sharding={}", sharding)});
    for (const Precision precision : {Precision::fp16, Precision::bf16, Precision::fp8, Precision::mxfp8})
      if (precision != scenario_.precision && scenario_.accelerator &&
          scenario_.accelerator->peak(precision) > scenario_.accelerator->peak(scenario_.precision))
        add(fmt::format("precision {} → {}", name_of(scenario_.precision), name_of(precision)),
            {fmt::format("workload.precision={}", name_of(precision))});
    if (below_16_bit(scenario_.precision))
      toggle("fp8_dot_product_attention", scenario_.spec.strategy.fp8_dot_product_attention);
  }

  /// One layer of each chunk more or less.
  void recomputed_layers(int now) {
    for (const int other : {now - 1, now + 1})
      add(fmt::format("recompute_layers {} → {}", now, other), {fmt::format("strategy.recompute_layers={}", other)});
  }

  void kernels() {
    if (scenario_.framework->compiled_memory_efficiency > 0 && scenario_.model->is_transformer())
      toggle("torch_compile", scenario_.spec.strategy.torch_compile);
    if (has_memory_format(*scenario_.model) && converts_layouts(scenario_))
      add("memory_format channels_first → channels_last", {"strategy.memory_format=channels_last"});
    attention_kernel();
  }

  /// The vendor's kernels, where the framework calls others of which the device has a figure of its own.
  void attention_kernel() {
    const AttentionKernel own = scenario_.framework->attention_kernel, newest = AttentionKernel::native;
    const bool slower =
        own == AttentionKernel::unfused ||
        (own != newest && scenario_.compute->attention_forward_share.contains(std::string(name_of(own))));
    if (!scenario_.model->is_transformer() || !slower) return;
    add(fmt::format("attention_kernel {} → {}", name_of(own), name_of(newest)),
        {fmt::format("strategy.attention_kernel={}", name_of(newest))});
  }

  void overlaps() {
    const StrategySpec& strategy = scenario_.spec.strategy;
    if (scenario_.degrees.pp > 1 && strategy.recompute != Recompute::none)
      toggle("recompute_last_stage", strategy.recompute_last_stage);
    const FrameworkProfile& framework = *scenario_.framework;
    if (scenario_.degrees.dp > 1 && !synchronization_plan(scenario_).sharded_parameters)
      toggle("overlap_gradients", strategy.overlap_gradients.value_or(framework.overlap_gradients));
    if (scenario_.degrees.dp > 1 && batch_norms(*scenario_.model) > 0)
      toggle("sync_batch_norm", strategy.sync_batch_norm);
    if (scenario_.sharding == Sharding::zero1 || scenario_.sharding == Sharding::zero2)
      toggle("overlap_parameter_gather",
             strategy.overlap_parameter_gather.value_or(framework.overlap_parameter_gather));
    const bool in_chunks = framework.tensor_parallel_exposed < 1;
    if (scenario_.degrees.tp > 1 && (in_chunks || framework.overlap_input_gradients))
      toggle("overlap_tensor_parallel",
             strategy.overlap_tensor_parallel.value_or((in_chunks && framework.overlap_tensor_parallel) ||
                                                       framework.overlap_input_gradients));
    if (scenario_.degrees.ep > 1) {
      toggle("overlap_expert_parallel", strategy.overlap_expert_parallel);
      dispatches();
    }
  }

  void dispatches() {
    const std::string_view now = name_of(scenario_.expert_dispatch);
    for (const std::string& dispatch : scenario_.framework->expert_dispatches)
      if (dispatch != now)
        add(fmt::format("expert_dispatch {} → {}", now, dispatch),
            {fmt::format("strategy.expert_dispatch={}", dispatch)});
  }

  /// Of workers that meet otherwise than by collectives.
  void updates() {
    const StrategySpec& strategy = scenario_.spec.strategy;
    if (strategy.parameter_servers && strategy.parameter_servers->placement != ServerHost::driver)
      double_and_halve("parameter servers", "strategy.parameter_servers.count", strategy.parameter_servers->count);
    if (scenario_.update == UpdateMode::local || scenario_.update == UpdateMode::asynchronous)
      double_and_halve("local_steps", "strategy.local_steps", strategy.local_steps);
    if (scenario_.update == UpdateMode::stale_synchronous) {
      const int bound = strategy.staleness_bound.value_or(0);
      if (bound == 0) add("staleness_bound 0 → 1", {set("strategy.staleness_bound", 1)});
      if (bound > 0) double_and_halve("staleness_bound", "strategy.staleness_bound", bound);
    }
    if (scenario_.update == UpdateMode::backup_workers)
      double_and_halve("backup_workers", "strategy.backup_workers", strategy.backup_workers);
  }

  void actors() {
    if (!scenario_.spec.strategy.actors) return;
    const ActorSpec& actors = *scenario_.spec.strategy.actors;
    double_and_halve("actors' nodes", "strategy.actors.nodes", actors.nodes);
    if (!actors.samples_per_s) {
      double_and_halve("actors' concurrent", "strategy.actors.concurrent", actors.concurrent);
      double_and_halve("actors' tensor_parallel", "strategy.actors.tensor_parallel", actors.tensor_parallel);
    }
    const int bound = actors.staleness_bound;
    for (const int other : {bound + 1, bound - 1})
      if (other >= 0)
        add(fmt::format("actors' staleness_bound {} → {}", bound, other),
            {set("strategy.actors.staleness_bound", other)});
    if (bound > 0 && !actors.interruptible)
      add("actors' interruptible off → on", {"strategy.actors.interruptible=true"});
  }

  /// Whether a method is for what workers send here.
  bool compresses(CompressionMethod method) const {
    using enum CompressionMethod;
    if (method == none || method == fp16) return true;
    const bool averages = scenario_.update == UpdateMode::gossip || scenario_.update == UpdateMode::pair_averaging;
    if (averages || scenario_.sharding != Sharding::none) return false;
    if (method == powersgd) return !exchanges_apart(scenario_);
    return method != two_bit || scenario_.servers || scenario_.update == UpdateMode::federated;
  }

  /// Where a worker's exchange has a cost of its own, or the scenario compresses already.
  void compression() {
    const StrategySpec& strategy = scenario_.spec.strategy;
    const CompressionMethod now = strategy.compression.method;
    const bool masked = strategy.federated && strategy.federated->secure_aggregation;
    if (masked || (!exchanges_apart(scenario_) && now == CompressionMethod::none)) return;
    for (const std::string& name : names_of<CompressionMethod>()) {
      if (const auto method = parse_enum<CompressionMethod>(name); method == now || !compresses(*method)) continue;
      add(fmt::format("compression {} → {}", name_of(now), name),
          {fmt::format(R"(strategy.compression={{"method":"{}"}})", name)});
    }
  }

  void hardware() {
    double_and_halve("nodes", "cluster.nodes", scenario_.spec.cluster.nodes);
    if (scenario_.nics_per_node > 0 && scenario_.spec.cluster.nodes > 1) {
      const int nics = scenario_.nics_per_node;
      add(fmt::format("NICs of a node {} → {}", nics, nics + 1), {set("cluster.fabric.nics_per_node", nics + 1)});
      out_.back().one_more_nic = true;
      if (nics > 1) double_and_halve("NICs of a node", "cluster.fabric.nics_per_node", nics);
    }
    if (scenario_.spec.cluster.fabric.oversubscription > 1)
      add(fmt::format("oversubscription {:g} → 1", scenario_.spec.cluster.fabric.oversubscription),
          {"cluster.fabric.oversubscription=1"});
  }

  /// Slow nodes repaired, nodes of other kinds replaced, and both.
  void uneven_nodes() {
    const ClusterSpec& cluster = scenario_.spec.cluster;
    const auto even = [&](std::string name, std::vector<std::string> words) {
      add(std::move(name), std::move(words));
      out_.back().evens_nodes = true;
    };
    const std::string repaired = "cluster.conditions=[]", replaced = "cluster.other_nodes=[]";
    std::vector<int> slow, other;
    for (const NodeConditionSpec& condition : cluster.conditions)
      slow.insert(slow.end(), condition.nodes.begin(), condition.nodes.end());
    for (const OtherNodesSpec& kind : cluster.other_nodes)
      other.insert(other.end(), kind.nodes.begin(), kind.nodes.end());
    if (!slow.empty()) even(fmt::format("conditions of {} → none", named_nodes(slow)), {repaired});
    if (other.empty()) return;
    const std::string kinds = cluster.other_nodes.size() == 1 ? cluster.other_nodes.front().node + " " : "";
    even(fmt::format("{} {}→ {}", named_nodes(other), kinds, cluster.node), {replaced});
    if (!slow.empty()) even(fmt::format("all nodes → {}, without conditions", cluster.node), {repaired, replaced});
  }

  const Scenario& scenario_;
  std::vector<SettingChange> out_;
};

bool changes(const SettingChange& change, std::string_view key) {
  for (const std::string& word : change.words)
    if (word.starts_with(key)) return true;
  return false;
}

}  // namespace

std::vector<SettingChange> setting_changes(const Scenario& scenario) { return Changes(scenario).all(); }

Json changed_document(Json document, const SettingChange& change) {
  free_data_parallel(document);
  if (document.contains("strategy") && document["strategy"].is_object() &&
      (changes(change, "strategy.pipeline_parallel") || changes(change, "strategy.virtual_pipeline")))
    document["strategy"].erase("stage_layers");
  Diagnostics diagnostics("change");
  for (const std::string& word : change.words) apply_override(document, word, diagnostics);
  diagnostics.throw_if_faulty();
  return document;
}

}  // namespace stepcast
