#include "planner/bill.hpp"

#include "models/cost/cost.hpp"
#include "models/fabric/fabric.hpp"
#include "models/fabric/metrics.hpp"

namespace stepcast {

namespace {

void add_server(std::vector<BillLine>& out, const Scenario& s, const Catalog& catalog) {
  const Node& node = *s.node;
  const long nodes = s.spec.cluster.nodes;
  out.push_back(
      {is_rented(s, catalog) ? "server (rented)" : "server", node.id, nodes, price_on_terms(s, catalog), false});
  if (node.has_accelerators())
    out.push_back({"accelerator", node.accelerator, nodes * node.accelerator_count, {}, true});
  if (!node.cpu.empty() && node.cpu_count > 0) out.push_back({"processor", node.cpu, nodes * node.cpu_count, {}, true});
  for (const Nic& nic : node.nics)
    out.push_back({nic.training ? "NIC" : "NIC (storage and management)",
                   fmt::format("{} {:g} Gb/s", name_of(nic.kind), nic.bandwidth.in(1_Gbps)),
                   nodes * nic.count,
                   {},
                   true});
  if (node.local_storage)
    out.push_back({"drive",
                   node.local_storage->device.empty() ? fmt::format("{:g} TB", node.local_storage->capacity.in(1_TB))
                                                      : node.local_storage->device,
                   nodes * node.local_storage->count,
                   {},
                   true});
}

std::optional<Dollars> price_of_transceiver(const FabricInventory& all, const Catalog& catalog) {
  if (all.transceiver.empty()) return std::nullopt;
  const auto price = catalog.find<LinkPart>(all.transceiver)->figure("price_usd");
  return price ? std::optional(1_usd * *price) : std::nullopt;
}

std::string switch_words(const SwitchTier& tier) {
  if (tier.parts == tier.switches) return fmt::format("switch ({})", tier.name);
  return fmt::format("switch ({}; at least, for {} of up to {} ports)", tier.name, tier.switches, tier.most_ports);
}

void add_network(std::vector<BillLine>& out, const Scenario& s, const Catalog& catalog) {
  const ClusterSpec& cluster = s.spec.cluster;
  if (cluster.nodes < 2 || s.nics_per_node == 0 || s.devices() > kMostFabricDevices) return;
  const SwitchPart* part = s.network_switch;
  const FabricInventory all =
      fabric_inventory(cluster.fabric, *s.node, cluster.nodes, s.nics_per_node, s.nic_bandwidth, part, catalog);
  // Rent includes the landlord's network, and a stated price of the network all of its parts.
  const bool rented = is_rented(s, catalog), apart = !rented && !cluster.cost.network_purchase;
  const auto own = [&](std::optional<Dollars> price) { return apart ? price : std::nullopt; };
  for (const SwitchTier& tier : all.tiers)
    out.push_back({switch_words(tier), part != nullptr ? part->id : fmt::format("at least {} ports", tier.most_ports),
                   tier.parts, own(part != nullptr ? part->price : std::nullopt), rented});
  for (const CableRun& run : all.cables)
    out.push_back({fmt::format("cable ({})", run.name), fmt::format("{:g} Gb/s", run.bandwidth.in(1_Gbps)), run.cables,
                   std::nullopt, rented});
  if (all.transceivers > 0)
    out.push_back({"transceiver (at most, all cables optical)",
                   all.transceiver.empty() ? "none known for the rate" : all.transceiver, all.transceivers,
                   own(price_of_transceiver(all, catalog)), rented});
}

/// RFC 4180: in quotes, and quotes doubled.
std::string cell(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::vector<BillLine> bill_of_materials(const Scenario& scenario, const Catalog& catalog) {
  std::vector<BillLine> out;
  add_server(out, scenario, catalog);
  if (const auto& network = scenario.spec.cluster.cost.network_purchase; network && !is_rented(scenario, catalog))
    out.push_back({"network", "all of its parts, as stated", 1, network, false});
  add_network(out, scenario, catalog);
  if (scenario.storage != nullptr) out.push_back({"shared storage", scenario.storage->id, 1, {}, false});
  return out;
}

std::optional<Dollars> price_to_buy(const std::vector<BillLine>& bill) {
  if (bill.empty() || !bill.front().unit_price) return std::nullopt;
  Dollars sum;
  for (const BillLine& line : bill)
    if (line.unit_price && !line.included) sum += *line.unit_price * static_cast<double>(line.count);
  return sum;
}

std::string bill_csv(const std::vector<BillLine>& bill) {
  std::string out = "item,part,count,unit_price_usd,price_usd,included_in_server\n";
  for (const BillLine& line : bill) {
    const std::string unit = line.unit_price ? fmt::format("{:.0f}", line.unit_price->in(1_usd)) : "";
    const std::string all =
        line.unit_price ? fmt::format("{:.0f}", (*line.unit_price * static_cast<double>(line.count)).in(1_usd)) : "";
    out += fmt::format("{},{},{},{},{},{}\n", cell(line.item), cell(line.part), line.count, unit, all,
                       line.included ? "yes" : "no");
  }
  return out;
}

}  // namespace stepcast
