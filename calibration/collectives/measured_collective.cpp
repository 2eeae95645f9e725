#include "calibration/collectives/measured_collective.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "calibration/collectives/device_text.hpp"
#include "calibration/collectives/library_text.hpp"
#include "calibration/collectives/nic_text.hpp"
#include "calibration/validation/accelerator_names.hpp"
#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"
#include "models/collectives/calibrated.hpp"

namespace stepcast {

namespace {

/// OSU's latency and bandwidth tests between two ranks.
constexpr std::string_view kLatency = "pt2ptlatency", kStream = "pt2ptbandwidth";

/// The first reason why a row cannot be predicted stays.
void refuse(MeasuredCollective& out, std::string reason) {
  if (out.refusal.empty()) out.refusal = std::move(reason);
}

void set_kind(MeasuredCollective& out, const std::string& op) {
  // OSU's latency test sends a message there and back; its table has half of that.
  const std::string word = squashed(op);
  const auto kind = word == kLatency ? CollectiveKind::send_recv : stated_enum<CollectiveKind>(op);
  if (kind)
    out.kind = *kind;
  else
    refuse(out,
           word == kStream ? "a stream of messages, not one" : not_understood("op", op, names_of<CollectiveKind>()));
}

void set_width(MeasuredCollective& out, const std::string& dtype) {
  const std::string lower = lower_case(dtype);
  const auto says = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return contains(lower, word); });
  };
  if (says({"64", "double"}))
    out.width = ElementWidth::wide;
  else if (says({"int8", "fp8", "float8", "char", "byte"}))
    out.width = ElementWidth::narrow;
  else if (!says({"32", "16", "float", "half", "int"}))
    refuse(out, not_understood("dtype", dtype, {"fp32", "fp16", "bf16", "fp64", "int32", "int64", "int8", "fp8"}));
}

/// What a source says of its own row.
void set_health(MeasuredCollective& out, const std::string& stated) {
  constexpr std::string_view kUnknown = "unknown";
  const std::optional<bool> healthy = stated_flag(stated);
  if (!healthy && squashed(stated) != kUnknown)
    refuse(out, not_understood("healthy", stated, {"yes", "no", std::string(kUnknown)}));
  out.healthy = healthy.value_or(false);
}

/// A row that does not say it is one of a buffer of its own for the result.
void set_place(MeasuredCollective& out, const std::string& stated) {
  const std::optional<bool> in_place = stated_flag(stated);
  if (!in_place && !stated.empty() && squashed(stated) != "notstated")
    refuse(out, not_understood("in_place", stated, {"yes", "no", "not stated"}));
  out.in_place = in_place.value_or(false);
}

/// The server of a row, `node` known, as a machine's.
void take_server(MeasuredCollective& out, const Accelerator* accelerator, const Catalog& catalog) {
  CollectiveMachine& machine = out.machine;
  machine.accelerator = accelerator;
  machine.compute = catalog.find<ComputeProfile>(accelerator->family);
  machine.devices_per_node = out.node.accelerator_count;
  machine.links = link_profile_of(out.node, accelerator, catalog);
  machine.host_links = host_link_profile_of(out.node, accelerator, catalog);
  if (!out.node.cpu.empty()) machine.cpu = catalog.find<Cpu>(out.node.cpu);
  machine.library = library_profile_of(accelerator, catalog);
}

/// A figure that some tools round to 0; null then, or when it is not stated.
std::optional<double> above_zero(const CsvRow& row, std::string_view column) {
  const std::string text = row.text(column);
  const bool zero = !text.empty() && text.find_first_not_of("0.") == std::string::npos;
  return zero ? std::nullopt : row.number(column);
}

/// Counts of a row: ranks on the devices (or processes) of its nodes.
struct StatedRanks {
  long ranks, nodes, per_node;
  std::string_view what;  ///< that a node has: "GPUs"
};

StatedRanks ranks_of(const CsvRow& row, const char* per_node, std::string_view what) {
  return {row.required_whole("ranks"), row.required_whole("nodes"), row.required_whole(per_node), what};
}

/// Why such counts are of no run; empty where they may be: every node has as many ranks, at most one a device.
std::string contradiction_in(const StatedRanks& stated) {
  constexpr long kMost = 1'000'000;  // past any machine, and the product of two is exact
  const auto& [ranks, nodes, per_node, what] = stated;
  if (ranks == 1) return "one rank has nobody to talk to";
  if (std::max({ranks, nodes, per_node}) > kMost) return fmt::format("more than {} ranks, nodes or {}", kMost, what);
  if (ranks % nodes == 0 && ranks <= nodes * per_node) return "";
  return fmt::format("{} ranks on {} {} of {} {}, which hold {}", ranks, nodes, nodes == 1 ? "node" : "nodes", per_node,
                     what, nodes * per_node);
}

/// Trays of an NVL72 rack hold four GPUs.
constexpr int kRack = 72;
constexpr int kTray = 4;

/// Racks whose devices all share one switch count as nodes.
bool is_rack(const Accelerator& accelerator, long devices, long ranks) {
  return (accelerator.id.substr(0, 2) == "gb") && devices == kTray && ranks > devices;
}

/// Why NICs do not say how fast they are, with a number where one lacks its unit.
std::string no_rate(const std::string& nics) {
  if (nics.find_first_of("0123456789") == std::string::npos) return "the NIC's rate is not stated";
  return fmt::format("the NIC's rate is not stated: found \"{}\", expected as in \"8x 400 Gb/s InfiniBand\"", nics);
}

std::string unknown_gpu(const std::string& gpu) {
  const std::string hint = accelerator_hint(gpu);
  return fmt::format("gpu: no accelerator of the catalogue is meant by \"{}\"{}", gpu, hint.empty() ? "" : ", " + hint);
}

/// Which EFA a server has, by what the catalogue's servers of the accelerator say of theirs: only one cloud has it.
/// Empty: the usual one.
std::string efa_profile(const Accelerator& accelerator, const Catalog& catalog) {
  for (const std::string& id : catalog.ids("nodes")) {
    const auto* node = catalog.find<Node>(id);
    if (node->accelerator != accelerator.id) continue;
    for (const Nic& nic : node->nics)
      if (nic.training && nic.kind == NetworkKind::efa && !nic.network_profile.empty()) return nic.network_profile;
  }
  return "";
}

/// Machine and place of a device row.
void set_machine(MeasuredCollective& out, const CsvRow& row, const Catalog& catalog) {
  const std::string gpu = row.text("gpu");
  const Accelerator* accelerator = stated_accelerator(gpu, catalog);
  if (accelerator == nullptr) {
    out.refusal = contains(gpu, "not stated") || gpu.empty() ? "the GPU is not stated" : unknown_gpu(gpu);
    return;
  }
  auto [ranks, nodes, devices, what] = ranks_of(row, "gpus_per_node", "GPUs");
  const std::string nic_text = row.text("nic");
  StatedNics nics = read_nics(nic_text);
  // "8x 400G per GPU" of servers of eight has counted those of the node.
  if (nics.per_device && nics.count != devices) nics.count *= static_cast<int>(devices);
  const bool rack = is_rack(*accelerator, devices, ranks);
  if (rack) {
    const long trays = std::min<long>(kRack / kTray, nodes);
    nodes = (nodes * devices + kRack - 1) / kRack;
    devices = trays * kTray;
    nics.count *= static_cast<int>(trays);
  }
  const std::string remarks = row.text("config");
  out.node = stated_node(
      *accelerator, {static_cast<int>(devices), static_cast<int>(nodes), nodes > 1 ? "" : nic_text, remarks}, catalog);
  if (rack) {
    out.node.interconnect.kind = NodeTopology::nvswitch_rack;
    out.node.accelerator_count = static_cast<int>(devices);
  }
  take_server(out, accelerator, catalog);
  const long per_node = rack ? std::min(devices, ranks) : ranks / nodes;
  out.group = {static_cast<int>(ranks), static_cast<int>(per_node), 1, {}};
  CollectiveMachine& machine = out.machine;
  const bool pcie = machine.links->medium == "pcie";
  out.where = pcie ? MeasuredWhere::node_pcie : MeasuredWhere::node_native;
  if (nodes <= 1) return;
  if (!nics.bandwidth) {
    out.refusal = no_rate(nic_text);
    return;
  }
  machine.nics = nics.count;
  machine.nic_bandwidth = *nics.bandwidth;
  machine.network = nics.kind;
  if (!nics.direct_to_device_tcp.empty()) out.network_profile = nics.direct_to_device_tcp;
  if (nics.kind == NetworkKind::efa) out.network_profile = efa_profile(*accelerator, catalog);
  if (nics.kind == NetworkKind::slingshot && contains(remarks, "software match"))
    out.network_profile = "slingshot-software-match";
  machine.network_profile = out.network_profile.empty() ? network_profile_of(nics.kind, false, catalog)
                                                        : catalog.find<NetworkProfile>(out.network_profile);
  const bool rdma = nics.kind == NetworkKind::infiniband || nics.kind == NetworkKind::ethernet_rdma;
  out.where = rdma ? MeasuredWhere::rdma : MeasuredWhere::other_network;
}

/// What the row's remarks force upon the library, its machine known.
void set_settings(MeasuredCollective& out, const std::string& remarks) {
  CollectiveMachine machine = out.machine;
  machine.node = &out.node;
  out.settings = nccl_settings(remarks, {out.kind, out.group, machine});
  refuse(out, out.settings.refusal);
}

MeasuredCollective device_row(const CsvRow& row, const Catalog& catalog) {
  MeasuredCollective out;
  out.system = row.text("system_id");
  out.time_us = above_zero(row, "time_us").value_or(0);
  out.size = Bytes(row.required_number("size_bytes"));
  set_kind(out, row.text("op"));
  set_health(out, row.text("healthy"));
  set_width(out, row.text("dtype"));
  set_place(out, row.text("in_place"));
  refuse(out, contradiction_in(ranks_of(row, "gpus_per_node", "GPUs")));
  if (out.refusal.empty()) set_machine(out, row, catalog);
  if (out.refusal.empty()) set_settings(out, row.text("config"));
  if (out.refusal.empty() && out.time_us <= 0) out.refusal = "no time is stated";
  // oneCCL's benchmark states what each rank gives to a gather.
  if (out.kind == CollectiveKind::all_gather && contains(row.text("library_version"), "oneCCL"))
    out.size *= static_cast<double>(out.group.size);
  out.call = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", out.system, row.text("gpu"), row.text("gpus_per_node"),
                         row.text("nodes"), row.text("nic"), row.text("library_version"), row.text("op"),
                         row.text("dtype"), row.text("config"), row.text("size_bytes"));
  return out;
}

/// The table of one node's all_reduce: no word on NICs, two times a row, the out-of-place one is taken.
MeasuredCollective nvlink_row(const CsvRow& row, const Catalog& catalog) {
  MeasuredCollective out;
  out.system = fmt::format("{}, {}", row.text("system"), row.text("gpu"));
  out.time_us = row.required_number("time_us_out_of_place");
  out.size = Bytes(row.required_number("size_bytes"));
  set_kind(out, row.text("collective"));
  set_width(out, row.text("dtype"));
  const Accelerator* accelerator = stated_accelerator(row.text("gpu"), catalog);
  if (accelerator == nullptr) {
    out.refusal = unknown_gpu(row.text("gpu"));
    return out;
  }
  const long nodes = row.required_whole("nodes"), stated_ranks = row.required_whole("ranks");
  if (nodes > 1) refuse(out, "a table without NICs is of one node");
  refuse(out, contradiction_in({stated_ranks, 1, stated_ranks, "GPUs"}));
  if (!out.refusal.empty()) return out;
  const auto ranks = static_cast<int>(stated_ranks);
  // Servers of eight: the set's own runs go up to that.
  out.node = stated_node(*accelerator, {ranks, 1, "", "1 of 8 GPUs"}, catalog);
  take_server(out, accelerator, catalog);
  out.group = {ranks, ranks, 1, {}};
  out.call = fmt::format("{}|{}|{}", out.system, ranks, out.size.value());
  return out;
}

MeasuredCollective processor_row(const CsvRow& row, const Catalog& catalog) {
  MeasuredCollective out;
  out.where = MeasuredWhere::processors;
  out.system = row.text("system_id");
  set_kind(out, row.text("op"));
  set_health(out, row.text("healthy"));
  out.time_us = above_zero(row, "time_us").value_or(0);
  out.size = Bytes(above_zero(row, "size_bytes").value_or(0));
  if (row.text("size_bytes").empty()) refuse(out, "the size is not stated");
  if (out.refusal.empty() && out.time_us <= 0) out.refusal = "no time is stated";
  const std::string library = row.text("library_version");
  const std::optional<HostLibrary> chosen = stated_host_library(library);
  if (!chosen) out.refusal = not_understood("library_version", library, {"Open MPI", "MPICH", "Gloo"});
  const StatedNics nics = read_nics(row.text("network"));
  if (!nics.bandwidth) out.refusal = no_rate(row.text("network"));
  const StatedRanks stated = ranks_of(row, "ranks_per_node", "ranks");
  refuse(out, contradiction_in(stated));
  if (!out.refusal.empty()) return out;
  const auto ranks = static_cast<int>(stated.ranks), per_node = static_cast<int>(stated.ranks / stated.nodes);
  out.host = {out.kind, out.size, ranks, per_node, *chosen, std::nullopt};
  out.host_network = host_network_of(nics.kind, *nics.bandwidth, nics.count, *chosen);
  const StatedProcessors processors = stated_processors(row.text("cpu"), catalog);
  if (processors.cpu != nullptr) share_memory(*out.host_network, *processors.cpu, processors.sockets);
  out.group = {ranks, per_node, 1, {}};
  return out;
}

/// A kind of table of collectives, and how its rows are read.
struct ColumnSet {
  KnownTable table;
  MeasuredCollective (*read)(const CsvRow& row, const Catalog& catalog);
};

const std::vector<ColumnSet>& column_sets() {
  static const std::vector<ColumnSet> kSets{
      {{"collectives between GPUs",
        {"system_id", "gpu", "gpus_per_node", "nodes", "ranks", "nic", "op", "dtype", "size_bytes", "time_us", "config",
         "healthy", "library_version"},
        {"collectives-singlenode"}},
       device_row},
      {{"collectives in one node",
        {"gpu", "ranks", "nodes", "collective", "size_bytes", "dtype", "time_us_out_of_place"},
        {"collectives-nvlink"}},
       nvlink_row},
      {{"collectives between processors",
        {"system_id", "cpu", "ranks_per_node", "nodes", "ranks", "network", "library_version", "op", "size_bytes",
         "time_us", "healthy"},
        {"collectives-cpu"}},
       processor_row},
  };
  return kSets;
}

const ColumnSet* set_of(const CsvTable& table) {
  for (const ColumnSet& set : column_sets())
    if (is_of(table, set.table)) return &set;
  return nullptr;
}

}  // namespace

std::vector<KnownTable> collective_tables() {
  std::vector<KnownTable> out;
  for (const ColumnSet& set : column_sets()) out.push_back(set.table);
  return out;
}

bool is_collective_table(const CsvTable& table) { return set_of(table) != nullptr; }

std::vector<MeasuredCollective> read_collectives(const CsvTable& table, const Catalog& catalog) {
  const ColumnSet* set = set_of(table);
  std::vector<MeasuredCollective> out;
  std::vector<Fault> faults;
  for (std::size_t i = 0; set != nullptr && i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    out.push_back(set->read(row, catalog));
    out.back().line = row.line();
  }
  throw_if_faulty(std::move(faults));
  return out;
}

double predicted_us(const MeasuredCollective& row) {
  if (row.host_network) return host_collective_time(row.host, *row.host_network).time.in(1_us);
  CollectiveMachine machine = row.machine;
  machine.node = &row.node;
  Interconnect net = interconnect_of(machine);
  if (!row.settings.switch_sums) leave_out_switch_sums(net);
  const CollectiveCost cost =
      collective_cost(row.kind, row.size, row.group, net, row.settings.algorithm, row.settings.protocol, row.width);
  return calibrated(cost, row.kind, row.size, row.group, net, machine).alone(net, row.group).in(1_us);
}

}  // namespace stepcast
