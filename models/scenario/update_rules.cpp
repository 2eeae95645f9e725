#include <algorithm>
#include <functional>

#include "models/scenario/draft.hpp"

namespace stepcast {

namespace {

/// A key that one mode (or two) alone understands.
struct KeyOfModes {
  const char* key;
  bool (*given)(const StrategySpec&);
  std::vector<UpdateMode> modes;
  bool required;                    ///< by each of them
  const char* without = "missing";  ///< what is found where it is not given
};

const std::vector<KeyOfModes>& keys_of_modes() {
  static const std::vector<KeyOfModes> kKeys{
      {"staleness_bound",
       [](const StrategySpec& s) { return s.staleness_bound.has_value(); },
       {UpdateMode::stale_synchronous},
       true},
      {"backup_workers",
       [](const StrategySpec& s) { return s.backup_workers > 0; },
       {UpdateMode::backup_workers},
       true,
       "found 0, expected 1 or more"},
      {"local_steps",
       [](const StrategySpec& s) { return s.local_steps > 1; },
       {UpdateMode::local, UpdateMode::asynchronous},
       false},
      {"federated", [](const StrategySpec& s) { return s.federated.has_value(); }, {UpdateMode::federated}, true},
      {"gossip_graph",
       [](const StrategySpec& s) { return s.gossip_graph != GossipTopology::ring; },
       {UpdateMode::gossip},
       false},
  };
  return kKeys;
}

std::vector<std::string> words(const std::vector<UpdateMode>& modes) {
  std::vector<std::string> out;
  out.reserve(modes.size());
  for (const UpdateMode mode : modes) out.emplace_back(name_of(mode));
  return out;
}

void check_keys(Draft& draft) {
  const UpdateMode mode = draft.scenario.update;
  for (const KeyOfModes& key : keys_of_modes()) {
    const std::string pointer = fmt::format("/strategy/{}", key.key);
    if (!draft.sound({pointer})) continue;
    const bool fits = std::find(key.modes.begin(), key.modes.end(), mode) != key.modes.end();
    const bool given = key.given(draft.spec().strategy);
    if (given && !fits)
      draft.fault(pointer, fmt::format("is for update {}, found update {}", listed(words(key.modes)), name_of(mode)),
                  fmt::format("update \"{}\", or leave {} out", name_of(key.modes.front()), key.key));
    if (!given && fits && key.required)
      draft.fault(pointer, fmt::format("{}: update \"{}\" needs it", key.without, name_of(mode)));
  }
}

bool through_servers(UpdateMode mode) {
  return mode == UpdateMode::asynchronous || mode == UpdateMode::stale_synchronous ||
         mode == UpdateMode::backup_workers;
}

/// Whether a framework's programs know parameter servers at all.
bool knows_servers(const FrameworkProfile& framework) {
  const ExchangeProfile& exchange = framework.exchange;
  return exchange.pattern == ExchangePattern::parameter_servers ||
         std::any_of(exchange.updates.begin(), exchange.updates.end(), through_servers);
}

/// Servers that the scenario states, or the framework brings along.
void resolve_servers(Draft& draft) {
  Scenario& s = draft.scenario;
  if (!draft.sound({"/strategy/parameter_servers"}) || !draft.cluster_known()) return;
  const std::string pointer = "/strategy/parameter_servers";
  const ExchangeProfile& exchange = s.framework->exchange;
  const bool usable = s.update == UpdateMode::synchronous || through_servers(s.update);
  s.servers = draft.spec().strategy.parameter_servers;
  if (s.servers && !usable) {
    draft.fault(pointer, fmt::format("update \"{}\" has none", name_of(s.update)), "leave parameter_servers out");
    return;
  }
  if (s.servers && !knows_servers(*s.framework)) {
    draft.fault(
        pointer, fmt::format("{} has none: its devices meet by collectives", s.framework->id),
        fmt::format("leave parameter_servers out, or a framework of {}", listed(frameworks_that(knows_servers))));
    return;
  }
  const bool wanted = through_servers(s.update) || exchange.pattern == ExchangePattern::parameter_servers;
  if (!s.servers && usable && wanted) {
    if (!exchange.servers_on_every_node) {
      draft.fault(pointer, fmt::format("missing: {} trains with parameter servers here", s.framework->id),
                  "state their count and placement");
      return;
    }
    s.servers = ParameterServerSpec{.count = draft.spec().cluster.nodes};
  }
  if (!s.servers) return;
  if (s.servers->placement == ServerHost::driver && s.servers->count != 1)
    draft.fault(pointer + "/count", fmt::format("found {}, but a driver has one server", s.servers->count),
                "nearest valid: 1");
  if (!s.servers->sharding) s.servers->sharding = exchange.sharding;
  if (s.servers->node.empty()) return;
  if (s.servers->placement == ServerHost::on_workers)
    draft.fault(pointer + "/node", "servers on the workers' nodes have none of their own",
                "placement \"own-nodes\", or leave node out");
  s.server_node = draft.catalog.find<Node>(s.servers->node, pointer + "/node", draft.diagnostics);
}

/// What servers' processors apply is additions and the traffic of states.
void check_servers_optimizer(Draft& draft) {
  const Scenario& s = draft.scenario;
  const char* pointer = "/strategy/optimizer";
  if (!s.servers || s.framework->exchange.workers_update || !draft.sound({pointer})) return;
  if (draft.spec().strategy.optimizer != OptimizerKind::muon) return;
  draft.fault(pointer, "found muon, but parameter servers update on processors, where Newton-Schulz is not described",
              "adam, or a way of training without servers");
}

/// A round's clients are drawn from all, each once.
void check_clients(Draft& draft) {
  const std::optional<FederatedSpec>& federated = draft.spec().strategy.federated;
  const int round = draft.spec().cluster.nodes;
  if (!federated || !federated->clients || *federated->clients >= round || !draft.cluster_known()) return;
  draft.fault("/strategy/federated/clients",
              fmt::format("found {}, but a round draws cluster.nodes of them, {}", *federated->clients, round),
              fmt::format("nearest valid: {}", round));
}

/// One device has nobody to exchange with, unless the scenario asks for it; synchronous updates ask for nothing.
bool trains_alone(const Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  return draft.cluster_known() && draft.scenario.devices() == 1 &&
         strategy.update.value_or(UpdateMode::synchronous) == UpdateMode::synchronous && !strategy.parameter_servers &&
         !strategy.federated && !strategy.staleness_bound && strategy.backup_workers == 0;
}

/// A worker is a model replica with all that it is cut into; only inside a node can that be.
void check_replicas(Draft& draft) {
  const Scenario& s = draft.scenario;
  if (!draft.degrees_known) return;
  const int replica = s.degrees.tp * s.degrees.cp * s.degrees.pp;
  const int worker = s.worker == WorkerUnit::device ? 1 : s.devices_per_node();
  if (worker % replica != 0)
    draft.fault("/strategy/worker",
                fmt::format("a replica of {} devices does not fit into a worker of {} {}", replica, worker,
                            worker == 1 ? "device" : "devices"),
                "smaller tensor_parallel, context_parallel or pipeline_parallel");
  if (s.sharding != Sharding::none && s.shard_size > worker)
    draft.fault("/strategy/sharding",
                fmt::format("{} cuts states over {} ranks, but update \"{}\" has workers of {}", name_of(s.sharding),
                            s.shard_size, name_of(s.update), worker),
                "sharding \"hsdp\" inside a node, or \"none\"");
  if (s.model && s.model->recommender && s.devices() > worker) {
    const bool asked = s.update != UpdateMode::synchronous;
    draft.fault(
        asked ? "/strategy/update" : "/strategy/parameter_servers",
        fmt::format("the tables of {} lie over all devices, which meet in every step, so no worker has a model of "
                    "its own",
                    s.model->id),
        asked ? "update \"synchronous\"" : "leave parameter_servers out");
  } else if (s.degrees.ep > 1 && (worker / (s.degrees.etp * s.degrees.pp)) % s.degrees.ep != 0)
    draft.fault("/strategy/expert_parallel",
                fmt::format("{} experts' ranks do not fit into a worker of {} devices", s.degrees.ep, worker));
  const int workers = s.devices() / worker;
  const StrategySpec& strategy = draft.spec().strategy;
  if (s.update == UpdateMode::backup_workers && strategy.backup_workers >= workers)
    draft.fault("/strategy/backup_workers", fmt::format("found {} of {} workers", strategy.backup_workers, workers),
                fmt::format("nearest valid: {}", workers - 1));
  if (!draft.spec().cluster.conditions.empty() || !draft.spec().cluster.other_nodes.empty())
    draft.fault("/strategy/update",
                fmt::format("found {}, but nodes that differ are forecast with collectives only", name_of(s.update)),
                "leave conditions and other_nodes out");
}

/// Programs that sum gradients otherwise than by the devices' library have one way to do so.
void check_algorithm(Draft& draft) {
  const ExchangeProfile& exchange = draft.scenario.framework->exchange;
  const CollectiveAlgorithm stated = draft.spec().strategy.collective_algorithm;
  const std::string pointer = "/strategy/collective_algorithm";
  if (stated == CollectiveAlgorithm::automatic || !draft.sound({pointer})) return;
  if (exchange.all_reduce > BytesPerSecond(0) || exchange.tensor_owners)
    draft.fault(pointer,
                fmt::format("found {}, but {} sums gradients in its own way, not by the devices' library",
                            name_of(stated), draft.scenario.framework->id),
                "leave collective_algorithm out");
}

/// Statistics of a batch can only be met where the replicas take their steps together, in a network that has them.
void check_batch_norm(Draft& draft) {
  const Scenario& scenario = draft.scenario;
  const std::string pointer = "/strategy/sync_batch_norm";
  if (!draft.spec().strategy.sync_batch_norm || !draft.sound({pointer})) return;
  if (scenario.update != UpdateMode::synchronous)
    draft.fault(pointer,
                fmt::format("found true, but update \"{}\" lets no replica wait for the others in a layer",
                            name_of(scenario.update)),
                "sync_batch_norm false, or update \"synchronous\"");
  else if (scenario.model && batch_norms(*scenario.model) == 0)
    draft.fault(pointer,
                fmt::format("found true, but {} has no batch norms, or none that were counted", scenario.model->id),
                "sync_batch_norm false");
}

/// What only workers that meet otherwise have.
void check_workers_keys(Draft& draft) {
  const Scenario& s = draft.scenario;
  const StrategySpec& strategy = draft.spec().strategy;
  if (s.update != UpdateMode::synchronous || s.servers || !draft.sound({"/strategy/parameter_servers"})) return;
  const char* suggestion = "leave it out, or state parameter_servers or another update";
  if (strategy.step_spread && draft.sound({"/strategy/step_spread"}))
    draft.fault("/strategy/step_spread", "is of workers that meet otherwise than by collectives of all devices",
                suggestion);
  if (strategy.worker.value_or(s.framework->exchange.worker) != s.framework->exchange.worker)
    draft.fault("/strategy/worker",
                fmt::format("found {}, but by collectives all devices meet, and none is a worker of its own",
                            name_of(*strategy.worker)),
                suggestion);
}

/// Servers that apply gradients leave workers no optimizer.
void check_offloaded(Draft& draft) {
  const Scenario& s = draft.scenario;
  const std::string pointer = "/strategy/offload_optimizer";
  if (!draft.spec().strategy.offload_optimizer || !s.servers || !draft.sound({pointer})) return;
  if (!s.framework->exchange.workers_update)
    draft.fault(pointer, "found true, but the parameter servers hold the optimizer's states", "leave it out");
}

/// Keys of compression that its method does not read.
void check_compression_keys(Draft& draft) {
  const CompressionSpec& stated = draft.spec().strategy.compression;
  const CompressionSpec usual;
  if (!draft.sound({"/strategy/compression"})) return;
  const bool sparse = stated.method == CompressionMethod::top_k || stated.method == CompressionMethod::random_k;
  if (stated.ratio != usual.ratio && !sparse)
    draft.fault("/strategy/compression/ratio",
                fmt::format("is for methods top-k and random-k, found method {}", name_of(stated.method)),
                "leave ratio out, or method \"top-k\"");
  if (stated.rank != usual.rank && stated.method != CompressionMethod::powersgd)
    draft.fault("/strategy/compression/rank",
                fmt::format("is for method powersgd, found method {}", name_of(stated.method)),
                "leave rank out, or method \"powersgd\"");
}

void check_compression(Draft& draft) {
  check_compression_keys(draft);
  const Scenario& s = draft.scenario;
  const CompressionSpec& compression = draft.spec().strategy.compression;
  if (compression.method == CompressionMethod::none || !draft.sound({"/strategy/compression"})) return;
  const std::string pointer = "/strategy/compression/method";
  if (s.sharding != Sharding::none && compression.method != CompressionMethod::fp16)
    draft.fault(pointer,
                fmt::format("found {}, but sharding {} scatters what it compresses", name_of(compression.method),
                            name_of(s.sharding)),
                "fp16, or sharding \"none\"");
  const bool averages = s.update == UpdateMode::gossip || s.update == UpdateMode::pair_averaging;
  if (averages && compression.method != CompressionMethod::fp16)
    draft.fault(pointer,
                fmt::format("found {}, but update \"{}\" averages whole models, of which nothing may be left out",
                            name_of(compression.method), name_of(s.update)),
                "nearest valid: fp16");
  const std::optional<FederatedSpec>& federated = draft.spec().strategy.federated;
  if (s.update == UpdateMode::federated && federated && federated->secure_aggregation)
    draft.fault(
        pointer,
        fmt::format("found {}, but secure aggregation masks every element in 16 bit", name_of(compression.method)),
        "method \"none\", or federated.secure_aggregation false");
  // Clients of federated averaging send to a server as well.
  const bool pushes = s.servers || s.update == UpdateMode::federated;
  const bool servers_known = draft.cluster_known() && draft.sound({"/strategy/parameter_servers"});
  if (compression.method == CompressionMethod::two_bit && servers_known && !pushes && !averages)
    draft.fault(pointer, "2-bit is for what workers push to parameter servers, and there are none",
                "nearest valid: 1-bit, or state parameter_servers");
  const bool sums = !s.servers && s.update == UpdateMode::synchronous;
  if (compression.method == CompressionMethod::powersgd && !sums)
    draft.fault(pointer, "powersgd sums factors in two all-reduces, which only synchronous collectives do",
                "top-k or 1-bit");
  if (compression.method == CompressionMethod::powersgd && s.model && s.model->compact &&
      s.model->compact->weight_matrices.empty())
    draft.assume(fmt::format("powersgd: the matrices of {} are not listed, each layer's weights count as a square one",
                             s.model->id));
}

}  // namespace

void resolve_update(Draft& draft) {
  Scenario& s = draft.scenario;
  if (!s.framework || !draft.sound({"/strategy/update", "/strategy/worker"})) return;
  const StrategySpec& strategy = draft.spec().strategy;
  const auto& offered = s.framework->exchange.updates;
  s.update = strategy.update.value_or(offered.front());
  s.worker = strategy.worker.value_or(s.framework->exchange.worker);
  if (trains_alone(draft)) {
    s.update = UpdateMode::synchronous;
    check_batch_norm(draft);
    return check_compression(draft);
  }
  if (!strategy.update && s.update != UpdateMode::synchronous)
    draft.assume(fmt::format("update {} (the default of {})", name_of(s.update), s.framework->id));
  if (std::find(offered.begin(), offered.end(), s.update) == offered.end()) {
    const std::string others = offered_by([&](const FrameworkProfile& f) {
      return std::count(f.exchange.updates.begin(), f.exchange.updates.end(), s.update) > 0;
    });
    draft.fault("/strategy/update",
                fmt::format("found {}, but {} offers {}", name_of(s.update), s.framework->id, listed(words(offered))),
                others);
    return;
  }
  check_keys(draft);
  check_algorithm(draft);
  check_batch_norm(draft);
  resolve_servers(draft);
  check_servers_optimizer(draft);
  check_clients(draft);
  if (s.update != UpdateMode::synchronous || s.servers) check_replicas(draft);
  check_workers_keys(draft);
  check_offloaded(draft);
  check_compression(draft);
}

}  // namespace stepcast
