#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fields/option_fault.hpp"
#include "fields/plain_text.hpp"
#include "models/collectives/calibrated.hpp"
#include "models/collectives/lateness.hpp"
#include "models/fabric/findings.hpp"
#include "models/fabric/plan/torus.hpp"
#include "models/fabric/preset_kinds.hpp"
#include "report/collective_cluster.hpp"
#include "report/collective_question.hpp"
#include "report/peer_exchange.hpp"

namespace stepcast {

namespace {

template <class E>
E choice(const char* option, const std::string& name) {
  if (name.empty()) return E{};
  const auto value = parse_enum<E>(with_dashes(name));
  if (!value)
    refuse_option(option, fmt::format("found \"{}\"", name), nearest_choice(with_dashes(name), names_of<E>()));
  return *value;
}

bool is_collective(ExchangeKind kind) { return kind <= ExchangeKind::barrier || kind == ExchangeKind::all_to_all_v; }
/// The first kinds are those of CollectiveKind, in its order.
CollectiveKind collective_of(ExchangeKind kind) {
  return kind == ExchangeKind::all_to_all_v ? CollectiveKind::all_to_all : static_cast<CollectiveKind>(kind);
}

constexpr std::string_view kNccl = "nccl";
constexpr std::string_view kRaw = "alpha-beta";

/// Libraries of makers who ship another than NCCL: RCCL and Neuron's have its interface, XLA makes its own.
struct MakersLibrary {
  std::string_view vendor, library;
};
constexpr std::array kMakersLibraries{MakersLibrary{"AMD", "rccl"}, MakersLibrary{"Google", "xla"},
                                      MakersLibrary{"AWS", "neuron"}};

std::string_view accelerators_library(const CollectiveCluster& cluster) {
  const Accelerator* accelerator = cluster.machine.accelerator;
  if (accelerator == nullptr) return kNccl;
  if (!accelerator->collective_library.empty()) return accelerator->collective_library;
  for (const auto& [vendor, library] : kMakersLibraries)
    if (accelerator->vendor == vendor) return library;
  return kNccl;
}

/// Name of the library that a calibration of the cluster was measured with; empty without one.
std::string_view measured_library(const CollectiveCluster& cluster) {
  if (cluster.raw) return {};
  if (const auto host = measured_host_library(cluster.machine)) return name_of(*host);
  const MachineCalibration calibration = calibration_of(cluster.machine);
  return calibration.across != nullptr || calibration.inside != nullptr ? accelerators_library(cluster)
                                                                        : std::string_view{};
}

/// Library by name; nothing for the one of the accelerators.
std::optional<HostLibrary> library_of(const CollectiveQuestion& question, const CollectiveCluster& cluster) {
  std::vector<std::string> known = names_of<HostLibrary>();
  known.insert(known.begin(), std::string(kNccl));
  if (cluster.raw) {
    if (!question.library.empty())
      refuse_option("--library", fmt::format("found \"{}\", but raw hosts run the bare algorithm", question.library),
                    "leave it out, or name a node");
    return std::nullopt;
  }
  if (question.library.empty() && cluster.has_accelerators()) return std::nullopt;
  if (question.library.empty()) return measured_host_library(cluster.machine).value_or(kDefaultHostLibrary);
  const std::string name = with_dashes(question.library);
  if (name == kNccl) {
    if (!cluster.has_accelerators())
      refuse_option("--library", fmt::format("{} has no accelerators for nccl", cluster.name), "openmpi or gloo");
    return std::nullopt;
  }
  const auto library = host_library_named(name);
  if (!library) refuse_option("--library", fmt::format("found \"{}\"", question.library), nearest_choice(name, known));
  return library->rules;
}

/// That a library is priced by another's rules.
void add_library_note(const CollectiveQuestion& question, std::vector<std::string>& notes) {
  const auto named = host_library_named(with_dashes(question.library));
  if (named && named->own_rules_unknown)
    notes.push_back(
        fmt::format("{} chooses by rules of its own that are not known: priced by those of {} 4 (estimated)",
                    question.library, name_of(named->rules)));
}

std::string protocol_name(CollectiveProtocol protocol) {
  switch (protocol) {
    case CollectiveProtocol::ll:
      return "LL";
    case CollectiveProtocol::ll128:
      return "LL128";
    default:
      return "Simple";
  }
}

ElementWidth width_of(const ElementType& type) {
  return type.bytes == 1 ? ElementWidth::narrow : type.bytes == 8 ? ElementWidth::wide : ElementWidth::usual;
}

/// A collective by the library of the accelerators, or the bare algorithm of raw hosts.
struct DeviceCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  CollectiveProtocol protocol = CollectiveProtocol::automatic;
  bool raw = false;

  /// A barrier sums one element that nobody reads.
  static Bytes payload(Bytes size) { return size > Bytes(0) ? size : 4_B; }
  void name(CollectiveRow& row, CollectiveAlgorithm took, CollectiveProtocol by) const {
    row.algorithm = name_of(took);
    row.protocol = raw ? "-" : protocol_name(by);
  }
};

DeviceCollective device_collective(const CollectiveQuestion& question, const CollectiveCluster& cluster,
                                   const GroupShape& group) {
  DeviceCollective out;
  out.kind = collective_of(question.op);
  out.algorithm = choice<CollectiveAlgorithm>("--algorithm", question.algorithm);
  out.protocol = choice<CollectiveProtocol>("--protocol", question.protocol);
  out.raw = cluster.raw;
  // NCCL calls the chain that a broadcast or a reduction runs down a ring, cut open at the root.
  const bool rooted = out.kind == CollectiveKind::broadcast || out.kind == CollectiveKind::reduce;
  if (rooted && out.algorithm == CollectiveAlgorithm::ring) out.algorithm = CollectiveAlgorithm::chain;
  if (cluster.raw) {
    if (out.protocol != CollectiveProtocol::automatic)
      refuse_option("--protocol", fmt::format("found \"{}\", but raw hosts have none", question.protocol),
                    "leave it out");
    // They have no library that chooses, so the plain algorithm it is.
    const bool ring = out.kind == CollectiveKind::all_reduce || out.kind == CollectiveKind::barrier;
    if (ring && out.algorithm == CollectiveAlgorithm::automatic) out.algorithm = CollectiveAlgorithm::ring;
  }
  const auto reason = unavailable_reason(out.kind, out.algorithm, out.protocol, group, cluster.machine);
  if (reason)
    refuse_option(
        out.algorithm == CollectiveAlgorithm::automatic ? "--protocol" : "--algorithm",
        fmt::format("{} by {}: {}", name_of(out.kind),
                    out.algorithm == CollectiveAlgorithm::automatic ? name_of(out.protocol) : name_of(out.algorithm),
                    *reason),
        "leave it to the library: auto");
  return out;
}

void take(CollectiveRow& row, const CalibratedTime& calibrated) {
  row.time = calibrated.time;
  row.basis = name_of(calibrated.basis);
}

/// In closed form: nothing is random, and nobody's messages meet others'.
RowPricer closed_form(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places) {
  PlacedGroup placed = placed_group(cluster, places);
  if (question.op == ExchangeKind::send_recv) placed.group = on_own_rails(placed.group, cluster, places);
  const DeviceCollective call = device_collective(question, cluster, placed.group);
  const ElementWidth width = width_of(question.type);
  const int devices = cluster.machine.devices_per_node;
  const double unequal = question.imbalance.value_or(1);
  // What was measured is the library's own choice; a forced algorithm is the model's alone.
  const Calibrated* calibration = cluster.raw ? nullptr : calibration_of(cluster.machine).of(placed.group);
  const bool chosen =
      call.algorithm == CollectiveAlgorithm::automatic && call.protocol == CollectiveProtocol::automatic;
  return [=](CollectiveRow& row) {
    const auto priced = [&](double imbalance) {
      return collective_cost(call.kind, DeviceCollective::payload(row.size), placed.group, placed.interconnect,
                             call.algorithm, call.protocol, width, imbalance);
    };
    const CollectiveCost cost = priced(unequal);
    row.time = cost.alone(placed.interconnect, placed.group);
    call.name(row, cost.algorithm, cost.protocol);
    if (calibration == nullptr || !chosen) return;
    const ModelTime model = [&](const CollectivePlace& place) {
      GroupShape shape = placed.group;
      shape.size = place.ranks;
      shape.per_node = place.per_node;
      Interconnect links = placed.interconnect;
      reach_nearest_nics(links, place.per_node, devices);
      const Bytes payload = DeviceCollective::payload(place.size);
      return collective_cost(call.kind, payload, shape, links, call.algorithm, call.protocol, width)
          .alone(links, shape);
    };
    const Seconds time = row.time;
    take(row, calibrated_time(*calibration, call.kind, {row.size, places.ranks, places.per_node}, model));
    if (unequal == 1) return;
    // Equal parts were measured.
    row.time *= time / priced(1).alone(placed.interconnect, placed.group);
    row.basis = name_of(CalibrationBasis::scaled);
  };
}

/// Mean lateness of a rank that the calibration of these links tells; 0 without one.
Seconds calibrated_jitter(const CollectiveCluster& cluster, const RankPlaces& places) {
  const MachineCalibration counts = cluster.raw ? MachineCalibration{} : calibration_of(cluster.machine);
  const Calibrated* one = places.nodes > 1 ? counts.across : counts.inside;
  return one != nullptr ? one->jitter : Seconds(0);
}

/// What calls of a calibrated machine lie about: calibrated times hold the median wait for the latest rank, so 9 of 10
/// calls lie between the quantiles about it.
void add_range(CollectiveRow& row, Seconds jitter, int ranks) {
  const Seconds median = latest_quantile(jitter, ranks, 0.5);
  row.low = std::max(Seconds(0), row.time + latest_quantile(jitter, ranks, 0.05) - median);
  row.high = row.time + latest_quantile(jitter, ranks, 0.95) - median;
}

/// Messages of an exchange of all pairs whose hashed paths are laid on cables one by one: seconds of work, for each of
/// 21 seeds.
constexpr double kMostHashedMessages = 512.0 * 512;
/// Whether a collective is priced by the links that its messages are laid on, of all pairs no more than of hashed ones.
bool is_laid(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places) {
  const bool pairs =
      collective_of(question.op) == CollectiveKind::all_to_all || with_dashes(question.algorithm) == "direct";
  const double messages = static_cast<double>(places.ranks) * places.ranks;
  return !(pairs && messages > kMostHashedMessages) && is_laid_on_links(cluster, places);
}

/// An exchange of all pairs that is too large for that: takes the cables' expected loads. Throws InputError where its
/// network's are not known.
void expect_collisions(CollectiveRun& run, const CollectiveQuestion& question, const CollectiveCluster& cluster,
                       const RankPlaces& places, std::vector<std::string>& notes) {
  const double messages = static_cast<double>(places.ranks) * places.ranks;
  if (question.full || !run.setting.hashed || messages <= kMostHashedMessages ||
      run.jobs.front().kind != CollectiveKind::all_to_all)
    return;
  const FabricPreset preset = cluster.fabric.preset;
  if (is_torus(preset) || is_dragonfly(preset) || preset == FabricPreset::custom || cluster.fabric.wan)
    refuse_option("--routing",
                  fmt::format("{} ranks send {:.0f} messages over hashed paths of a {}, which are too many to lay one "
                              "by one",
                              places.ranks, messages, name_of(preset)),
                  fmt::format("adaptive, or at most {:.0f} ranks", std::sqrt(kMostHashedMessages)));
  run.setting.hashed = false;
  run.jobs.front().shape = with_collisions(*run.jobs.front().shape, cluster, places);
  notes.push_back(
      fmt::format("{:.0f} messages are too many to draw a path for each: the fullest cables carry what they are "
                  "expected to",
                  messages));
}

/// Rank by rank, or by the loads that hashed flows put on links.
RowPricer executed(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
                   const Catalog& catalog, std::vector<std::string>& notes) {
  const PlacedSetting placed = placed_setting(cluster, places, catalog);
  const DeviceCollective call = device_collective(question, cluster, placed.group);
  CollectiveRun run;
  run.setting = placed.setting;
  run.setting.laid = is_laid(question, cluster, places);
  // Links that messages are laid on say themselves what one of them can have.
  if (question.full || run.setting.hashed || run.setting.laid) run.setting.interconnect.message_rate = {};
  run.seed = question.seed;
  run.flows = question.full ? CollectiveFlows::full : CollectiveFlows::folded;
  const Seconds calibrated = question.jitter ? Seconds(0) : calibrated_jitter(cluster, places);
  run.conditions.jitter = question.jitter.value_or(calibrated);
  // Fitted constants hold the median wait already.
  const Seconds held = latest_quantile(calibrated, placed.group.size, 0.5);
  CollectiveJob job;
  job.kind = call.kind;
  job.algorithm = call.algorithm;
  job.protocol = call.protocol;
  job.width = width_of(question.type);
  job.ranks = placed.devices;
  job.imbalance = question.imbalance.value_or(1);
  job.shape = question.op == ExchangeKind::send_recv ? on_own_rails(placed.group, cluster, places) : placed.group;
  run.jobs.push_back(std::move(job));
  expect_collisions(run, question, cluster, places, notes);
  return [=](CollectiveRow& row) mutable {
    run.jobs.front().payload = DeviceCollective::payload(row.size);
    const CollectiveRunResult result = run_collectives(run);
    const CollectiveJobResult& ended = result.jobs.front();
    const auto drawn = [&](Seconds end) { return std::max(Seconds(0), end - held); };
    row.time = drawn(ended.time());
    if (ended.low) row.low = drawn(*ended.low);
    if (ended.high) row.high = drawn(*ended.high);
    call.name(row, ended.algorithm, ended.protocol);
  };
}

/// Processes with host memory.
RowPricer host_collective(const CollectiveQuestion& question, const CollectiveCluster& cluster,
                          const RankPlaces& places, HostLibrary library) {
  HostCollective call{collective_of(question.op), {}, places.ranks, places.per_node, library, std::nullopt};
  if (!question.protocol.empty() && question.protocol != "auto")
    refuse_option("--protocol",
                  fmt::format("found \"{}\", but {} has no protocols to choose", question.protocol, name_of(library)),
                  "leave it out");
  const std::string name = with_dashes(question.algorithm);
  if (!name.empty() && name != "auto") {
    std::vector<std::string> known{"auto"};
    for (const HostAlgorithm algorithm : algorithms_of(call.kind)) {
      known.emplace_back(name_of(algorithm));
      if (name == known.back()) call.algorithm = algorithm;
    }
    if (!call.algorithm)
      refuse_option("--algorithm",
                    fmt::format("found \"{}\" for {} by {}", question.algorithm, name_of(call.kind), name_of(library)),
                    nearest_choice(name, known));
  }
  const HostNetwork network = placed_host_network(cluster, places, library);
  const GroupShape group{places.ranks, places.per_node, 1, {}};
  const Calibrated* calibration = calibration_of(cluster.machine).of(group);
  // Measured with this library, and its own choice.
  if (calibration != nullptr && (call.algorithm || !calibrated_host_network(cluster.machine, library)))
    calibration = nullptr;
  return [=](CollectiveRow& row) mutable {
    call.size = row.size;
    const HostCollectiveTime priced = host_collective_time(call, network);
    row.time = priced.time;
    row.algorithm = name_of(priced.algorithm);
    row.protocol = "-";
    if (calibration == nullptr) return;
    const ModelTime model = [&](const CollectivePlace& place) {
      return host_collective_time({call.kind, place.size, place.ranks, place.per_node, library, std::nullopt}, network)
          .time;
    };
    take(row, calibrated_time(*calibration, call.kind, {row.size, places.ranks, places.per_node}, model));
  };
}

void check_imbalance(const CollectiveQuestion& question, const RankPlaces& places) {
  if (question.op != ExchangeKind::all_to_all_v) return;
  if (!question.imbalance) refuse_option("--imbalance", "is missing", "1.5: the busiest rank over the mean");
  if (!(*question.imbalance >= 1 && *question.imbalance <= places.ranks))
    refuse_option("--imbalance",
                  fmt::format("found {}, expected 1 to {} (all to one rank)", *question.imbalance, places.ranks),
                  *question.imbalance > 1 ? std::to_string(places.ranks) : "1");
}

/// Options that a formula of loads and ranks in step would ignore.
void check_formula(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
                   std::vector<Fault>& faults) {
  if (question.full)
    faults.push_back({"--flows", "", "found \"full\", but this is worked out, not simulated", "folded"});
  if (question.jitter.value_or(Seconds(0)) > Seconds(0))
    faults.push_back({"--jitter", "", "this is worked out for ranks in step", "leave it out"});
  // Where no message goes up a level there is one path.
  if (cluster.fabric.routing == FabricRouting::ecmp && !peer_levels(cluster, places).empty())
    faults.push_back({"--routing", "",
                      "found \"ecmp\", but this is worked out for messages spread evenly over their paths",
                      "adaptive"});
}

/// Options of other exchanges than the one asked for would be ignored, so they are faults.
void check_options(const CollectiveQuestion& question, std::vector<Fault>& faults) {
  struct Option {
    const char* name;
    bool given, allowed;
  };
  const bool servers = question.of_servers(), gossip = question.op == ExchangeKind::gossip,
             unequal = question.op == ExchangeKind::all_to_all_v;
  const bool algorithms = is_collective(question.op);
  const auto forced = [](const std::string& choice) { return !choice.empty() && choice != "auto"; };
  for (const Option& option : {Option{"--algorithm", forced(question.algorithm), algorithms},
                               {"--protocol", forced(question.protocol), algorithms},
                               {"--servers", question.servers.has_value(), servers},
                               {"--servers-per-node", question.servers_per_node.has_value(), servers},
                               {"--server-placement", question.server_placement.has_value(), servers},
                               {"--graph", !question.graph.empty(), gossip},
                               {"--degree", question.degree.has_value(), gossip},
                               {"--imbalance", question.imbalance.has_value(), unequal}})
    if (option.given && !option.allowed)
      faults.push_back({option.name, "", fmt::format("says nothing about {}", name_of(question.op)), "leave it out"});
}

RowPricer pricer(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
                 std::optional<HostLibrary> library, const Catalog& catalog, std::vector<std::string>& notes) {
  std::vector<Fault> faults;
  check_options(question, faults);
  if (library || !is_collective(question.op)) check_formula(question, cluster, places, faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  if (question.of_servers()) return parameter_server_pricer(question, cluster, places, library);
  if (question.op == ExchangeKind::gossip) return gossip_pricer(question, cluster, places, library, notes);
  check_imbalance(question, places);
  if (library && question.op == ExchangeKind::all_to_all_v)
    refuse_option("--op", fmt::format("all_to_all_v by {} has no description", name_of(*library)), "all_to_all");
  if (library) return host_collective(question, cluster, places, *library);
  const bool hashed = cluster.fabric.routing == FabricRouting::ecmp && places.nodes > 1;
  if (question.full || hashed || question.jitter.value_or(Seconds(0)) > Seconds(0))
    return executed(question, cluster, places, catalog, notes);
  // What was measured holds how its messages met.
  const bool calibrated =
      !cluster.raw && calibration_of(cluster.machine).of({places.ranks, places.per_node}) != nullptr;
  if (!calibrated && is_laid(question, cluster, places)) return executed(question, cluster, places, catalog, notes);
  return closed_form(question, cluster, places);
}

CollectiveTable empty_table(const CollectiveQuestion& question, const CollectiveCluster& cluster,
                            const RankPlaces& places, std::optional<HostLibrary> library) {
  CollectiveTable out;
  out.op = name_of(question.op);
  out.cluster = cluster.name;
  out.machine = cluster.words();
  out.library =
      library ? std::string(name_of(*library)) : std::string(cluster.raw ? kRaw : accelerators_library(cluster));
  out.flows = question.full ? "full" : "folded";
  out.ranks = places.ranks;
  out.ranks_per_node = places.per_node;
  out.nodes = places.nodes;
  out.type = question.type;
  const ExchangeKind op = question.op;
  out.counts_per_rank = op == ExchangeKind::all_gather || op == ExchangeKind::reduce_scatter ||
                        op == ExchangeKind::all_to_all || op == ExchangeKind::all_to_all_v;
  out.sums = op == ExchangeKind::all_reduce || op == ExchangeKind::reduce_scatter || op == ExchangeKind::reduce ||
             op == ExchangeKind::barrier || op == ExchangeKind::parameter_server_push;
  out.has_root = op == ExchangeKind::broadcast || op == ExchangeKind::reduce;
  return out;
}

std::string sizes_on(const CollectiveTable& table, CalibrationBasis basis) {
  double least = 0, most = 0;
  for (const CollectiveRow& row : table.rows) {
    if (row.basis != name_of(basis)) continue;
    if (least == 0) least = row.size.value();
    most = row.size.value();
  }
  return least == most ? fmt::format("{:.0f} bytes", most) : fmt::format("{:.0f} to {:.0f} bytes", least, most);
}

/// What the times rest on, so that nobody takes an extrapolation for a measurement.
void add_basis_notes(CollectiveTable& table, const CollectiveCluster& cluster, const RankPlaces& places) {
  const std::string_view measured = measured_library(cluster);
  if (!measured.empty() && measured != table.library) {
    table.notes.push_back(
        fmt::format("the calibration is of {}: for {} nothing of it counts", measured, table.library));
    return;
  }
  const auto any = [&](CalibrationBasis basis) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [&](const CollectiveRow& row) { return row.basis == name_of(basis); });
  };
  for (std::string& remark : calibration_remarks(cluster.machine, places.nodes))
    table.notes.push_back(std::move(remark));
  if (any(CalibrationBasis::measured))
    table.notes.push_back("measured, or between measured sizes: " + sizes_on(table, CalibrationBasis::measured));
  if (any(CalibrationBasis::between))
    table.notes.push_back("between measured numbers of nodes, the model scaled as it was off there: " +
                          sizes_on(table, CalibrationBasis::between));
  if (any(CalibrationBasis::scaled))
    table.notes.push_back("outside of what was measured, the model scaled as it was off at the nearest: " +
                          sizes_on(table, CalibrationBasis::scaled));
  if (any(CalibrationBasis::model))
    table.notes.push_back(fmt::format("no {} was measured: the model with the calibrated constants", table.op));
}

/// Which axes of a torus have no link between their ends, and so half as many links as others.
void add_torus_note(CollectiveTable& table, const CollectiveCluster& cluster, const RankPlaces& places) {
  const TorusPlan torus = torus_plan(cluster.fabric, std::max(cluster.most_nodes.value_or(0), places.all_nodes()),
                                     cluster.machine.nics, cluster.machine.nic_bandwidth);
  const std::vector<int> open = torus.open_axes();
  if (open.empty()) return;
  table.notes.push_back(
      fmt::format("the torus is open along {}: its chips' links wrap around on axes that are "
                  "multiples of {} (cluster.fabric.wrap_multiple)",
                  fmt::join(open, " and "), torus.wrap_multiple));
}

/// What of the fabric does not count, or is not what it seems.
void add_fabric_notes(CollectiveTable& table, const CollectiveCluster& cluster, const RankPlaces& places) {
  if (places.all_nodes() == 1) return;
  for (std::string& words : ratios_without_effect(cluster.fabric, cluster_levels(cluster, places), places.all_nodes()))
    table.notes.push_back(std::move(words));
  if (cluster.machine.network == NetworkKind::ici && !is_torus(cluster.fabric.preset))
    table.notes.emplace_back("the chips' own links (ici) form a torus: --fabric torus-2d or torus-3d");
  if (is_torus(cluster.fabric.preset) && !cluster.raw) add_torus_note(table, cluster, places);
}

}  // namespace

CollectiveTable answer(const CollectiveQuestion& question, const Catalog& catalog) {
  CollectiveCluster cluster = find_cluster(question, catalog);
  const RankPlaces places = place_ranks(question, cluster);
  settle_fabric(cluster, places, catalog);
  const std::optional<HostLibrary> library = library_of(question, cluster);
  CollectiveTable table = empty_table(question, cluster, places, library);
  add_fabric_notes(table, cluster, places);
  add_library_note(question, table.notes);
  const RowPricer price = pricer(question, cluster, places, library, catalog, table.notes);
  std::vector<Bytes> sizes = question.sizes;
  if (question.op == ExchangeKind::barrier) {
    if (!sizes.empty()) table.notes.emplace_back("a barrier carries no data: sizes do not matter to it");
    sizes = {Bytes(0)};
  }
  for (const Bytes size : sizes) {
    CollectiveRow& row = table.rows.emplace_back();
    row.size = size;
    if (is_collective(question.op)) row.bus_factor = bus_factor(collective_of(question.op), places.ranks);
    price(row);
    if (const Seconds jitter = question.jitter ? Seconds(0) : calibrated_jitter(cluster, places);
        jitter > Seconds(0) && is_collective(question.op) && !row.low)
      add_range(row, jitter, places.ranks);
  }
  add_basis_notes(table, cluster, places);
  return table;
}

}  // namespace stepcast
