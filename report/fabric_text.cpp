#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/fabric_report.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

constexpr int kLabel = 14;

std::string line(const std::string& label, const std::string& text) {
  return fmt::format("  {}{}\n", pad_right(label, kLabel), text);
}

std::string gbps(BytesPerSecond rate) { return fmt::format("{} Gb/s", significant(rate.in(1_Gbps))); }

/// Rates of whole networks: bytes, as transfers are counted.
std::string bytes_rate(BytesPerSecond rate) {
  return rate >= 1000_GBps ? significant(rate.in(1000_GBps)) + " TB/s" : significant(rate.in(1_GBps)) + " GB/s";
}

std::string counted(long count, const std::string& what) {
  return fmt::format("{} {}{}", whole(count), what, count == 1 || what.ends_with("NICs") ? "" : "s");
}

/// ", open along 8 and 14": axes whose ends no link joins.
std::string open_words(const TorusPlan& torus) {
  const std::vector<int> open = torus.open_axes();
  return open.empty() ? "" : fmt::format(", open along {}", fmt::join(open, " and "));
}

std::string network_word(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::infiniband:
      return "InfiniBand";
    case NetworkKind::ethernet_rdma:
      return "Ethernet with RDMA";
    case NetworkKind::ethernet_tcp:
      return "Ethernet with TCP";
    case NetworkKind::efa:
      return "Elastic Fabric Adapter";
    case NetworkKind::slingshot:
      return "Slingshot";
    case NetworkKind::omni_path:
      return "Omni-Path";
    case NetworkKind::ici:
      return "the chips' own links";
  }
  return "";
}

std::string header(const FabricReport& r) {
  const int devices = r.fabric.devices_per_node();
  std::string out =
      fmt::format("{}: {}, {}\n", r.name, name_of(r.spec().preset), counted(r.fabric.devices(), "device"));
  out += line("Node", fmt::format("{}, {}, {} of {} ({})", r.node->id, counted(devices, "device"),
                                  counted(r.nics, "NIC"), gbps(r.nic_bandwidth), network_word(r.network)));
  if (const SwitchPart* part = r.fabric.network_switch(); part != nullptr && r.inventory.switches() > 0) {
    std::string text = fmt::format("{}, {}", part->id, counted(part->ports, "port"));
    if (part->port_bandwidth) text += fmt::format(" of {}", gbps(*part->port_bandwidth));
    if (r.spec().switch_id.empty()) text += " (the usual one for these NICs)";
    out += line("Switch", text);
  }
  if (const TorusPlan* torus = r.fabric.torus()) {
    std::vector<int> sizes;
    sizes.reserve(static_cast<std::size_t>(torus->axes));
    for (int axis = 0; axis < torus->axes; ++axis) sizes.push_back(torus->size(axis));
    out +=
        line("Torus", fmt::format("{}, links of {}{}", fmt::join(sizes, " × "), gbps(torus->link), open_words(*torus)));
  }
  return out;
}

std::string levels(const FabricReport& r) {
  if (r.fabric.levels().levels.empty()) return "";
  std::string out = "\nTiers, from the nodes outwards\n";
  std::vector<std::array<std::string, 5>> rows{
      {"nodes together", "send to the others", "over", "oversubscription", "adds"}};
  for (const FabricLevel& level : r.fabric.levels().levels) {
    const double ratio = r.nic_bandwidth * r.nics * level.nodes / level.up;
    rows.push_back({whole(level.nodes), bytes_rate(level.up), counted(level.links, "cable"),
                    fmt::format("{} : 1", significant(ratio)), humane(level.hop)});
  }
  std::array<int, 5> width{};
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], columns_of(row[c]));
  for (const auto& row : rows) {
    std::string text = " ";
    for (std::size_t c = 0; c < row.size(); ++c) text += " " + pad_left(row[c], width[c] + 1);
    out += text + "\n";
  }
  return out;
}

/// Up-links carry what oversubscription leaves, in whole cables of the NICs' rate.
std::string cable_rate(const FabricReport& r, const CableRun& run) {
  constexpr double kRounding = 1e-9;
  const bool of_nics = r.fabric.torus() == nullptr && r.spec().preset != FabricPreset::custom && !r.spec().wan;
  const bool whole_rate = run.bandwidth > r.nic_bandwidth * (1 - kRounding);
  if (!of_nics || whole_rate) return gbps(run.bandwidth);
  return fmt::format("{} of {}", gbps(run.bandwidth), gbps(r.nic_bandwidth));
}

std::string parts(const FabricReport& r) {
  const FabricInventory& inventory = r.inventory;
  std::string out;
  std::vector<std::string> tiers;
  for (const SwitchTier& tier : inventory.tiers) tiers.push_back(fmt::format("{} {}", whole(tier.switches), tier.name));
  if (!tiers.empty())
    out += line("Switches", fmt::format("{} ({}), {} ports in use", whole(inventory.switches()), fmt::join(tiers, ", "),
                                        whole(inventory.ports)));
  std::vector<std::string> runs;
  for (const CableRun& run : inventory.cables)
    runs.push_back(fmt::format("{} {} at {}", whole(run.cables), run.name, cable_rate(r, run)));
  if (!runs.empty()) out += line("Cables", fmt::format("{}: {}", whole(inventory.all_cables()), fmt::join(runs, ", ")));
  if (inventory.transceivers > 0)
    out += line("Transceivers", fmt::format("{} ({}), if every cable is optical", whole(inventory.transceivers),
                                            inventory.transceiver));
  for (const std::string& words : inventory.composed) out += line("Assumed", words);
  if (inventory.power) out += line("Power", humane(*inventory.power));
  if (inventory.price) out += line("Price", humane(*inventory.price));
  if (!inventory.estimated.empty())
    out += line("Estimated", fmt::format("{}, as of the catalogue's others by ports and their rate",
                                         fmt::join(inventory.estimated, ", ")));
  if (!inventory.unknown.empty()) out += line("Not counted", fmt::format("{}", fmt::join(inventory.unknown, ", ")));
  return out.empty() ? out : "\nParts\n" + out;
}

std::string reach(const FabricReport& r) {
  if (r.fabric.nodes() < 2) return "";
  const int half_of_nodes = r.fabric.nodes() / 2;
  const BytesPerSecond half = r.nic_bandwidth * r.nics * half_of_nodes;
  std::string out = "\nReach\n";
  out += line("Bisection", fmt::format("{}, {} of what the NICs of half the nodes carry", bytes_rate(r.bisection),
                                       percent(r.bisection / half)));
  out += line("Diameter", fmt::format("{}, {}", counted(r.diameter.links, "link"), humane(r.diameter.latency)));
  return out;
}

std::string finding(const FabricFinding& f) {
  return fmt::format("{}: {}\n", f.fault ? "fault" : "warning", f.message);
}

}  // namespace

std::string fabric_text(const FabricReport& report) {
  std::string out = header(report) + levels(report) + parts(report) + reach(report);
  if (!report.findings.empty()) out += "\n";
  for (const FabricFinding& f : report.findings) out += finding(f);
  return out;
}

std::string fabric_check_text(const FabricReport& report) {
  std::string out;
  for (const FabricFinding& f : report.findings) out += fmt::format("{}: {}", report.name, finding(f));
  return out + fmt::format("{}: {}\n", report.name, report.faulty() ? "not good" : "good");
}

}  // namespace stepcast
