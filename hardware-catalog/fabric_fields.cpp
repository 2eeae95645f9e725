#include "hardware-catalog/part_table.hpp"
#include "hardware-catalog/parts.hpp"

namespace stepcast {

using namespace part_rules;

const FieldTable<LinkPart>& LinkPart::fields() {
  static const FieldTable<LinkPart> table =
      PartTable<LinkPart>("link", "A link, NIC rate, cable, or measured link figure")
          .field("id", &LinkPart::id, "Name of the file", required())
          .field("kind", &LinkPart::kind, "Kind of link; `measured` for figures of a running system", required())
          .field("figures", &LinkPart::figures, "Figures by name with unit, as latency_us")
          .field("labels", &LinkPart::labels, "Words by name")
          .fields_of(&LinkPart::provenance);
  return table;
}

const FieldTable<SwitchPart>& SwitchPart::fields() {
  using S = SwitchPart;
  static const FieldTable<S> table =
      PartTable<S>("switch", "A network switch, or a switch chip between accelerators")
          .field("id", &S::id, "Name of the file", required())
          .field("kind", &S::kind, "infiniband, ethernet, nvswitch and so on", required())
          .field("usual_for", &S::usual_for,
                 "Kinds of network that are built of it where nobody names a switch and NICs have its ports' rate")
          .field("asic", &S::asic, "Chip")
          .field("ports", &S::ports, "Ports; 0: not stated", at_least(0))
          .field("port_bandwidth_Gbps", &S::port_bandwidth, "Of each port, per direction", positive())
          .field("latency_ns", &S::latency, "Port to port", positive())
          .field("typical_power_W", &S::typical_power, "Typical power", positive())
          .field("max_power_W", &S::max_power, "Highest power", positive())
          .field("price_usd", &S::price, "Price", positive())
          .field("price_kind", &S::price_kind, "What kind of price")
          .field("price_date", &S::price_date, "When")
          .field("sharp", &S::sharp, "Reduces in the network")
          .field("rack_units", &S::rack_units, "Height; 0: not stated", at_least(0))
          .field("year", &S::year, "First year of sale; 0: not stated", a_year())
          .field("figures", &S::figures, "Further figures, by name with unit")
          .fields_of(&S::provenance);
  return table;
}

const FieldTable<StoragePart>& StoragePart::fields() {
  using S = StoragePart;
  static const FieldTable<S> table =
      PartTable<S>("storage", "A drive, a shared file system, an object store, a RAID rule or a measured figure")
          .field("id", &S::id, "Name of the file", required())
          .field("kind", &S::kind, "nvme, lustre, object store and so on", required())
          .field("capacity_TB", &S::capacity, "Capacity", positive())
          .field("read_GBps", &S::read, "Sequential read of one drive or one client", positive())
          .field("write_GBps", &S::write, "Sequential write of one drive or one client", positive())
          .field("aggregate_read_GBps", &S::aggregate_read, "Read of the whole system, shared by all clients",
                 positive())
          .field("aggregate_write_GBps", &S::aggregate_write, "Write of the whole system, shared by all clients",
                 positive())
          .field("random_read_kIOPS", &S::random_read, "Random reads of 4 KiB", positive())
          .field("random_write_kIOPS", &S::random_write, "Random writes of 4 KiB", positive())
          .field("read_latency_us", &S::read_latency, "Latency of a read", positive())
          .field("pcie_gen", &S::pcie_gen, "PCIe generation; 0: not PCIe", a_pcie_gen())
          .field("pcie_lanes", &S::pcie_lanes, "PCIe lanes", a_pcie_lanes())
          .field("idle_W", &S::idle_power, "Power when idle", positive())
          .field("active_W", &S::active_power, "Power when busy", positive())
          .field("figures", &S::figures, "Further figures, by name with unit")
          .field("labels", &S::labels, "Further words, by name")
          .fields_of(&S::provenance);
  return table;
}

}  // namespace stepcast
