#include "hardware-catalog/part_table.hpp"
#include "hardware-catalog/parts.hpp"

namespace stepcast {

using namespace part_rules;

namespace {

/// Of one node; the largest slice of TPUs that software sees as one has 6,144.
constexpr double kMostDevices = 1e4;

}  // namespace

const FieldTable<NodeInterconnect>& NodeInterconnect::fields() {
  using I = NodeInterconnect;
  static const FieldTable<I> table =
      PartTable<I>("node interconnect", "How the accelerators of a node reach one another")
          .field("kind", &I::kind, "Topology; hybrid_cube_mesh is any mesh given link by link", required())
          .field("generation", &I::generation, "NVLink 3, xGMI 4 and so on")
          .field("link_bandwidth_GBps", &I::per_link, "Of each link, per direction", at_least(0))
          .field("links_per_accelerator", &I::links_per_accelerator, "Links into the switch, or in all (torus)",
                 at_least(0))
          .field("links_per_pair", &I::links_per_pair, "Links between every two (mesh, pair)", at_least(0))
          .field("links", &I::links, "Entries [accelerator, accelerator, links] (hybrid_cube_mesh)")
          .field("switches", &I::switches, "Switch chips", at_least(0))
          .field("pcie_gen", &I::pcie_gen, "PCIe generation where the accelerators meet over PCIe", a_pcie_gen())
          .field("note", &I::note, "What needs saying");
  return table;
}

const FieldTable<Nic>& Nic::fields() {
  static const FieldTable<Nic> table =
      PartTable<Nic>("NIC", "Network adapters of one kind")
          .field("count", &Nic::count, "How many", required_positive())
          .field("bandwidth_Gbps", &Nic::bandwidth, "Of each, per direction", required_positive())
          .field("kind", &Nic::kind, "Kind of network", required())
          .field("training", &Nic::training, "Carries training traffic; false: storage and management only")
          .field("name", &Nic::name, "As the source names it")
          .field("on_device", &Nic::on_device, "Ports of the accelerators themselves, which no PCIe lies before")
          .field("network_profile", &Nic::network_profile,
                 "Constants of collectives over them; empty: the usual ones of their kind",
                 refers_to("network-profiles"));
  return table;
}

const FieldTable<LocalStorage>& LocalStorage::fields() {
  using L = LocalStorage;
  static const FieldTable<L> table =
      PartTable<L>("local storage", "Drives of a node")
          .field("count", &L::count, "How many", required_positive())
          .field("capacity_TB", &L::capacity, "Of each", required_positive())
          .field("device", &L::device, "Drive whose rates are used", refers_to("storage"))
          .field("raid", &L::raid, "RAID level over all of them", between(0, 10))
          .field("read_GBps", &L::read_GBps, "Of all together, instead of the device's", positive())
          .field("write_GBps", &L::write_GBps, "Of all together, instead of the device's", positive());
  return table;
}

const FieldTable<PowerSupplies>& PowerSupplies::fields() {
  using P = PowerSupplies;
  static const FieldTable<P> table = PartTable<P>("power supplies", "Power supplies of a node")
                                         .field("count", &P::count, "How many", required_positive())
                                         .field("rating_W", &P::rating, "Of each", required_within(10, 1e6))
                                         .field("efficiency", &P::efficiency, "Efficiency curve", refers_to("psus"));
  return table;
}

const FieldTable<NodePrice>& NodePrice::fields() {
  using P = NodePrice;
  static const FieldTable<P> table =
      PartTable<P>("node price", "What a node costs to buy or to rent")
          .field("purchase_usd", &P::purchase, "To buy", positive())
          .field("on_demand_usd_per_h", &P::on_demand, "On demand", positive())
          .field("rental_usd_per_month", &P::monthly, "Rented by the month, electricity included", positive())
          .field("capacity_block_usd_per_h", &P::capacity_block, "Reserved for days, as a whole", positive())
          .field("earlier_on_demand_usd_per_h", &P::earlier_on_demand, "On demand before a change", positive())
          .field("earlier_date", &P::earlier_date, "When the earlier price held")
          .field("spot_low_usd_per_h", &P::spot_low, "Spot, lowest region", positive())
          .field("spot_high_usd_per_h", &P::spot_high, "Spot, highest region", positive())
          .field("reserved_one_year_usd_per_h", &P::reserved_one_year, "Reserved for one year", positive())
          .field("reserved_three_years_usd_per_h", &P::reserved_three_years, "Reserved for three years", positive())
          .field("reserved_date", &P::reserved_date, "When the reserved prices held")
          .field("date", &P::date, "When the prices held", required());
  return table;
}

const FieldTable<Node>& Node::fields() {
  static const FieldTable<Node> table =
      PartTable<Node>("node",
                      "A server, or a rack that software sees as one. Without accelerators its processors train.")
          .field("id", &Node::id, "Name of the file", required())
          .field("accelerator", &Node::accelerator, "Accelerator; empty when there is none", refers_to("accelerators"))
          .field("accelerator_count", &Node::accelerator_count, "Devices that software sees", between(0, kMostDevices))
          .field("cpu", &Node::cpu, "Processor; empty when unknown", refers_to("cpus"))
          .field("cpu_count", &Node::cpu_count, "Sockets; 0 when unknown", between(0, kMostDevices))
          .field("cpu_cores", &Node::cpu_cores, "Cores of each socket that the node gets; 0: all", at_least(0))
          .field("vcpus", &Node::vcpus, "Virtual processors of a cloud instance", at_least(0))
          .field("provider", &Node::provider, "Cloud that rents it out, as records of reliability name it")
          .field("instance", &Node::instance, "What the provider calls it")
          .field("cpu_link", &Node::cpu_link,
                 "Link of each accelerator to its processor that is no PCIe, where the accelerator's entry has none")
          .field("memory_GB", &Node::memory, "Host memory", required_positive())
          .field("memory_bandwidth_GBps", &Node::memory_bandwidth, "Host memory, of all sockets", required_positive())
          .field("interconnect", &Node::interconnect, "How its accelerators reach one another", required())
          .field("nics", &Node::nics, "Network adapters; a base board without a host has none")
          .field("local_storage", &Node::local_storage, "Drives")
          .field("max_power_W", &Node::max_power, "Highest power", positive())
          .field("typical_power_W", &Node::typical_power, "Typical power", positive())
          .field("psus", &Node::psus, "Power supplies")
          .field("cooling", &Node::cooling, "Kind of cooling; empty: air", refers_to("cooling"))
          .field("rack_units", &Node::rack_units, "Height; 0: not stated", at_least(0))
          .field("price", &Node::price, "Prices")
          .field("price_like", &Node::price_like,
                 "Without a price of its own: node whose price per accelerator holds here", refers_to("nodes"))
          .field("figures", &Node::figures, "Further figures, by name with unit")
          .field("labels", &Node::labels, "Further words, by name")
          .fields_of(&Node::provenance);
  return table;
}

}  // namespace stepcast
