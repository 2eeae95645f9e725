#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/cost/cost.hpp"
#include "models/power/device_power.hpp"
#include "models/scenario/draft.hpp"
#include "models/storage/raid.hpp"
#include "models/storage/rates.hpp"

namespace stepcast {

namespace {

void check_drives(Draft& draft) {
  const ClusterSpec& cluster = draft.spec().cluster;
  const Scenario& s = draft.scenario;
  if (!cluster.local_raid || s.node == nullptr || !draft.sound({"/cluster/local_raid"})) return;
  if (!s.node->local_storage)
    return draft.fault("/cluster/local_raid", fmt::format("node \"{}\" lists no drives of its own", s.node->id),
                       "leave it out");
  const int drives = s.node->local_storage->count;
  if (!raid_possible(*cluster.local_raid, drives))
    draft.fault("/cluster/local_raid",
                fmt::format("RAID {} over {} {}", *cluster.local_raid, drives, drives == 1 ? "drive" : "drives"),
                "levels: 0; 1 from 2 drives, 5 from 3, 6 from 4, 10 from 4 in pairs");
}

void check_supplies(Draft& draft) {
  const auto& in_use = draft.spec().cluster.facility.supplies_in_use;
  const Scenario& s = draft.scenario;
  if (!in_use || s.node == nullptr || !draft.sound({"/cluster/facility/supplies_in_use"})) return;
  const char* at = "/cluster/facility/supplies_in_use";
  if (!s.node->psus)
    return draft.fault(at, fmt::format("node \"{}\" lists no power supplies", s.node->id), "leave it out");
  if (*in_use > s.node->psus->count)
    draft.fault(at, fmt::format("found {}, but a node has {} power supplies", *in_use, s.node->psus->count),
                fmt::format("at most {}", s.node->psus->count));
}

/// Entries of the catalogue's storage that are no system which nodes share.
constexpr std::string_view kNotShared[] = {"nvme", "sata", "hdd", "raid"};

/// Whether nodes can share it: a drive or the level of an array they cannot, and what was measured of some system only
/// if that says how fast it is.
bool is_shared(const StoragePart& part) {
  if (part.kind == "measured") return part.read || part.write || part.aggregate_read || part.aggregate_write;
  return std::find(std::begin(kNotShared), std::end(kNotShared), part.kind) == std::end(kNotShared);
}

void check_storage(Draft& draft) {
  const ScenarioSpec& spec = draft.spec();
  if (!draft.sound({"/cluster/storage"})) return;
  if (const StoragePart* part = draft.scenario.storage; part != nullptr && !is_shared(*part))
    draft.fault("/cluster/storage",
                fmt::format("\"{}\" ({}) is no storage system that nodes share", part->id, part->kind),
                "a file system, object store or block store (stepcast catalog list storage)");
  if (!spec.cluster.storage.empty()) return;
  const char* hint = "name cluster.storage (stepcast catalog list storage)";
  if (spec.workload.input.source == InputSource::shared && draft.sound({"/workload/input/source"}))
    draft.fault("/workload/input/source", "the cluster has no shared storage", hint);
  if (spec.run.checkpoint.target == CheckpointTarget::shared && draft.sound({"/run/checkpoint/target"}))
    draft.fault("/run/checkpoint/target", "the cluster has no shared storage", hint);
}

/// Connections are to an object store that input comes from.
void check_connections(Draft& draft) {
  const InputSpec& input = draft.spec().workload.input;
  const char* at = "/workload/input/connections";
  if (!input.connections || !draft.sound({at, "/workload/input/source", "/cluster/storage"})) return;
  if (input.source == InputSource::local || !object_store(draft.scenario))
    draft.fault(at, "says nothing of input that comes from no object store",
                "leave it out, or name an object store in cluster.storage");
}

/// What says nothing of checkpoints that nobody makes.
void check_checkpoint(Draft& draft) {
  const CheckpointSpec& checkpoint = draft.spec().run.checkpoint;
  if (checkpoint.kind != CheckpointKind::none || !draft.sound({"/run/checkpoint/kind"})) return;
  for (const auto& [key, stated] :
       {std::pair{"interval_s", checkpoint.interval.has_value()}, std::pair{"size_GB", checkpoint.size.has_value()},
        std::pair{"target", checkpoint.target.has_value()}})
    if (const std::string at = fmt::format("/run/checkpoint/{}", key); stated && draft.sound({at}))
      draft.fault(at, "says nothing of checkpoints that are not made (kind \"none\")",
                  "leave it out, or kind \"sharded\"");
}

/// What says nothing of troubles that the run does not have.
void check_troubles(Draft& draft) {
  const ReliabilitySpec& r = draft.spec().run.reliability;
  const ReliabilitySpec standard;
  if (!draft.sound({"/run/reliability"})) return;
  const auto refuse = [&](bool stated, const char* key, const char* why, const char* suggestion) {
    if (stated) draft.fault(fmt::format("/run/reliability/{}", key), why, suggestion);
  };
  const char *endless = "says nothing where another node is always to be had",
             *spares = "leave it out, or state spares";
  refuse(r.elastic && !r.spares, "elastic", endless, spares);
  refuse(r.repair && !r.spares, "repair_h", endless, spares);
  const bool slow = r.slow_nodes_per_1000_node_days > 0;
  const char *never = "says nothing where no node turns slow",
             *rate = "leave it out, or state slow_nodes_per_1000_node_days";
  refuse(!slow && r.slow_node_speed != standard.slow_node_speed, "slow_node_speed", never, rate);
  refuse(!slow && r.slow_node_found, "slow_node_found_h", never, rate);
  refuse(!(r.link_flaps_per_1000_nic_days > 0) && r.link_flap, "link_flap_s", "says nothing where no link flaps",
         "leave it out, or state link_flaps_per_1000_nic_days");
}

/// How often instances are taken back that are not.
void check_spot(Draft& draft) {
  const ReliabilitySpec& reliability = draft.spec().run.reliability;
  const char* at = "/run/reliability/spot_interruptions_per_1000_node_days";
  if (!reliability.spot_interruptions_per_1000_node_days) return;
  if (reliability.spot.value_or(draft.spec().cluster.cost.basis == PriceBasis::spot)) return;
  if (draft.sound({"/run/reliability", "/cluster/cost"}))
    draft.fault(at, "says nothing of instances that are not taken back", "leave it out, or run.reliability.spot true");
}

void check_record(Draft& draft) {
  const std::string& id = draft.spec().run.reliability.published;
  if (id.empty()) return;
  try {
    const std::string at = "/run/reliability/published";
    const auto* record = draft.catalog.find<ReliabilityRecord>(id, at, draft.diagnostics);
    if (record == nullptr) return;
    if (!record->interruptions_per_1000_node_days)
      draft.fault(at, fmt::format("record \"{}\" states no interruptions_per_1000_node_days", id),
                  "llama3-405b, meta-rsc-clusters or meta-rsc-law");
  } catch (const InputError& error) {
    draft.diagnostics.add(error.faults());
  }
}

void check_clock(Draft& draft) {
  const auto& clock = draft.spec().cluster.clock_MHz;
  const Scenario& s = draft.scenario;
  if (!clock || s.node == nullptr || !draft.sound({"/cluster/clock_MHz"})) return;
  const char* at = "/cluster/clock_MHz";
  if (s.accelerator == nullptr) return draft.fault(at, "only accelerators are held to a clock", "leave it out");
  const double most = usual_clock_MHz(*s.accelerator), least = std::ceil(least_device_power(s).clock_MHz);
  if (!(most > 0)) return draft.fault(at, "the clock of this node's devices is not known", "state power_cap_W instead");
  // Nothing in the catalogue says what a device computes and draws above the clock that its peaks are stated at.
  if (*clock > most)
    draft.fault(at, fmt::format("found {}, but {}'s peaks are those at {} MHz", *clock, s.accelerator->id, most),
                fmt::format("at most {}", most));
  if (*clock < least)
    draft.fault(at, fmt::format("found {}, but {} runs at {} MHz at least", *clock, s.accelerator->id, least),
                fmt::format("at least {}", least));
}

void check_power_cap(Draft& draft) {
  const auto& cap = draft.spec().cluster.power_cap;
  const Scenario& s = draft.scenario;
  if (!cap || s.node == nullptr || !draft.sound({"/cluster/power_cap_W"})) return;
  const char* at = "/cluster/power_cap_W";
  if (s.accelerator == nullptr) return draft.fault(at, "only accelerators can be capped", "leave it out");
  const double least = std::ceil(least_device_power(s).power.in(1_W));
  if (cap->in(1_W) < least)
    draft.fault(at,
                fmt::format("found {:g}, but {} draws {} W at work at its lowest clock", cap->in(1_W),
                            s.accelerator->id, least),
                fmt::format("at least {}", least));
}

/// Whether the scenario itself says that nodes are rented; with basis `auto` the catalogue decides.
bool rents(const CostSpec& cost) {
  return cost.node_rent || (cost.basis != PriceBasis::automatic && cost.basis != PriceBasis::purchase);
}

/// A node is rented or bought, and what only a bought one costs is no part of a rent.
void check_terms(Draft& draft) {
  const CostSpec& cost = draft.spec().cluster.cost;
  if (!draft.sound({"/cluster/cost"})) return;
  if (cost.node_rent && cost.node_purchase)
    return draft.fault("/cluster/cost/node_rent_usd_per_h", "stated beside node_purchase_usd", "keep one of them");
  if (cost.node_rent && cost.basis == PriceBasis::purchase)
    return draft.fault("/cluster/cost/basis", "found purchase, but node_rent_usd_per_h states a rent",
                       "node_purchase_usd, or leave it out");
  if (cost.node_purchase && rents(cost))
    return draft.fault("/cluster/cost/basis",
                       fmt::format("found {}, but node_purchase_usd states a price to buy at", name_of(cost.basis)),
                       "node_rent_usd_per_h, or leave it out");
  if (!rents(cost)) return;
  const auto refuse = [&](bool stated, const char* key) {
    if (stated)
      draft.fault(fmt::format("/cluster/cost/{}", key), "belongs to a bought cluster, and this one is rented",
                  "leave it out, or state node_purchase_usd");
  };
  refuse(cost.network_purchase.has_value(), "network_purchase_usd");
  refuse(cost.amortisation.has_value(), "amortisation_years");
  refuse(cost.electricity.has_value(), "electricity_usd_per_kWh");
  refuse(cost.upkeep_percent_per_year > 0, "upkeep_percent_per_year");
}

/// What a stated basis asks of the catalogue. `way_out`: what else the scenario may say.
void check_basis_of(Draft& draft, const Node& node, const char* pointer, const char* way_out) {
  const PriceBasis basis = draft.spec().cluster.cost.basis;
  if (basis == PriceBasis::automatic) return;
  try {
    if (!offered(node, basis, draft.catalog))
      draft.fault(pointer, fmt::format("the catalogue has no such price of node \"{}\": {}", node.id, name_of(basis)),
                  way_out);
  } catch (const InputError& error) {
    draft.diagnostics.add(error.faults());
  }
}

/// A stated price is of cluster.node alone.
void check_price(Draft& draft) {
  const CostSpec& cost = draft.spec().cluster.cost;
  const Scenario& s = draft.scenario;
  if (s.node != nullptr && !cost.node_rent && !cost.node_purchase)
    check_basis_of(draft, *s.node, "/cluster/cost/basis", "state node_rent_usd_per_h or node_purchase_usd");
  if (s.server_node != nullptr && s.server_node != s.node)
    check_basis_of(draft, *s.server_node, "/strategy/parameter_servers/node",
                   "a node that has one, or leave /cluster/cost/basis out");
}

}  // namespace

void check_surroundings(Draft& draft) {
  check_drives(draft);
  check_supplies(draft);
  check_storage(draft);
  check_connections(draft);
  check_record(draft);
  check_checkpoint(draft);
  check_troubles(draft);
  check_spot(draft);
  check_clock(draft);
  check_power_cap(draft);
  check_terms(draft);
  check_price(draft);
}

}  // namespace stepcast
