#include "hardware-catalog/part_table.hpp"
#include "hardware-catalog/parts.hpp"

namespace stepcast {

using namespace part_rules;

const FieldTable<Provenance>& Provenance::fields() {
  static const FieldTable<Provenance> table =
      PartTable<Provenance>("provenance", "Where an entry's figures come from")
          .field("sources", &Provenance::sources, "Citation by key, or by name of a figure; `all` for the rest",
                 required())
          .field("evidence", &Provenance::evidence, "How each figure was obtained, by the same keys", required())
          .field("note", &Provenance::note, "What is doubtful, or needs saying");
  return table;
}

const FieldTable<NativeLinks>& NativeLinks::fields() {
  static const FieldTable<NativeLinks> table =
      PartTable<NativeLinks>("interconnect", "Links of an accelerator to its peers")
          .field("kind", &NativeLinks::kind, "Name and generation", required())
          .field("links", &NativeLinks::links, "Number of links", required_positive())
          .field("link_bandwidth_GBps", &NativeLinks::per_link, "Of each link, per direction", required_positive())
          .field("wrap_multiple", &NativeLinks::wrap_multiple,
                 "Torus: an axis wraps around where its length is a multiple of it, else it is open", at_least(1));
  return table;
}

const FieldTable<HostLink>& HostLink::fields() {
  static const FieldTable<HostLink> table =
      PartTable<HostLink>("cpu_link", "Link to the host processor that is no PCIe")
          .field("kind", &HostLink::kind, "Name", required())
          .field("bandwidth_GBps", &HostLink::bandwidth, "Per direction", required_positive())
          .field("shared_by_accelerators", &HostLink::shared_by_accelerators, "Accelerators that share it",
                 at_least(1));
  return table;
}

const FieldTable<Accelerator>& Accelerator::fields() {
  using A = Accelerator;
  static const FieldTable<A> table =
      PartTable<A>("accelerator", "A GPU, TPU or other accelerator, as software counts devices. All peaks are dense.")
          .field("id", &A::id, "Name of the file", required())
          .field("vendor", &A::vendor, "Maker", required())
          .field("family", &A::family, "Compute profile that it uses", refers_to("compute-profiles"))
          .field("collective_library", &A::collective_library,
                 "Library profile of its collectives; over PCIe they are those of the link profile pcie-LIBRARY. "
                 "Default: nccl and pcie",
                 refers_to("library-profiles"))
          .field("form_factor", &A::form_factor, "Board or module")
          .field("year", &A::year, "First year of sale", a_year())
          .field("peak_TFLOPS", &A::peak_TFLOPS, "Dense peak by precision", required_positive())
          .field("peak_matrix_TFLOPS", &A::peak_matrix_TFLOPS,
                 "Dense peak of the matrix unit where peak_TFLOPS has the vector unit's", positive())
          .field("matmul_measured_TFLOPS", &A::matmul_measured_TFLOPS,
                 "Best large matrix product of a wide search, by precision", positive())
          .field("achievable_TFLOPS", &A::achievable_TFLOPS, "What the maker states as achievable, by precision",
                 positive())
          .field("memory_GB", &A::memory, "Memory as marketed", required_positive())
          .field("memory_visible_MiB", &A::memory_visible, "Memory that software sees", positive())
          .field("memory_kind", &A::memory_kind, "HBM3, GDDR6 ECC and so on")
          .field("memory_bandwidth_GBps", &A::memory_bandwidth, "Peak bandwidth of its memory", required_positive())
          .field("l2_cache_MB", &A::l2_cache, "Level-2 cache", positive())
          .field("l3_cache_MB", &A::l3_cache, "Level-3 cache", positive())
          .field("sram_MB", &A::sram, "Scratchpad memory", positive())
          .field("sm_count", &A::sm_count, "SMs, CUs or cores; 0: not stated", at_least(0))
          .field("base_clock_MHz", &A::base_clock_MHz, "Base clock; 0: not stated", at_least(0))
          .field("boost_clock_MHz", &A::boost_clock_MHz, "Boost clock; 0: not stated", at_least(0))
          .field("tensor_peak_clock_MHz", &A::tensor_peak_clock_MHz, "Clock of the tensor peaks, if another",
                 at_least(0))
          .field("tdp_W", &A::tdp, "Board power limit", required(device_watts()))
          .field("tdp_peak_W", &A::tdp_peak, "Short-term power limit", device_watts())
          .field("idle_W", &A::idle_power, "Power when idle", device_watts())
          .field("interconnect", &A::interconnect, "Links to its peers")
          .field("cpu_link", &A::cpu_link, "Coherent link to the host processor")
          .field("pcie_gen", &A::pcie_gen, "PCIe generation of its host link; 0: not PCIe or not stated", a_pcie_gen())
          .field("pcie_lanes", &A::pcie_lanes, "PCIe lanes of its host link", a_pcie_lanes())
          .field("pcie_bandwidth_GBps", &A::pcie_bandwidth, "Raw rate of its host link, per direction",
                 required_positive())
          .field("price_usd", &A::price, "Price", positive())
          .field("price_kind", &A::price_kind, "What kind of price")
          .field("price_date", &A::price_date, "When")
          .field("figures", &A::figures, "Further figures, by name with unit")
          .fields_of(&A::provenance);
  return table;
}

const FieldTable<Cpu>& Cpu::fields() {
  static const FieldTable<Cpu> table =
      PartTable<Cpu>("cpu", "A processor: one socket")
          .field("id", &Cpu::id, "Name of the file", required())
          .field("vendor", &Cpu::vendor, "Maker", required())
          .field("family", &Cpu::family, "Compute profile that it uses", refers_to("compute-profiles"))
          .field("cores", &Cpu::cores, "Cores", required_positive())
          .field("p_cores", &Cpu::p_cores, "Performance cores, when there are two kinds", at_least(0))
          .field("e_cores", &Cpu::e_cores, "Efficiency cores, when there are two kinds", at_least(0))
          .field("base_GHz", &Cpu::base_GHz, "Base clock", required_positive())
          .field("turbo_GHz", &Cpu::turbo_GHz, "Highest clock of one core", positive())
          .field("e_base_GHz", &Cpu::e_base_GHz, "Base clock of the efficiency cores", at_least(0))
          .field("memory_channels", &Cpu::memory_channels, "Memory channels", at_least(0))
          .field("memory_MTps", &Cpu::memory_MTps, "Memory transfers, million per second", at_least(0))
          .field("memory_bandwidth_GBps", &Cpu::memory_bandwidth, "Peak memory bandwidth", required_positive())
          .field("flop_per_cycle_per_core_fp32", &Cpu::flop_per_cycle_per_core_fp32,
                 "2 (multiply-add) × FMA units × lanes of 32 bits", positive())
          .field("peak_fp32_GFLOPS", &Cpu::peak_fp32, "Cores × base clock × FLOP per cycle", required_positive())
          .field("tdp_W", &Cpu::tdp, "Thermal design power", required(device_watts()))
          .field("turbo_power_W", &Cpu::turbo_power, "Short-term power limit", device_watts())
          .field("pcie_gen", &Cpu::pcie_gen, "PCIe generation", a_pcie_gen())
          .field("pcie_lanes", &Cpu::pcie_lanes, "PCIe lanes", a_pcie_lanes())
          .field("socket_links_GBps", &Cpu::socket_links,
                 "All links between two sockets, per direction; one alone has none", positive())
          .field("year", &Cpu::year, "First year of sale", a_year())
          .field("price_usd", &Cpu::price, "Price", positive())
          .field("price_kind", &Cpu::price_kind, "What kind of price")
          .fields_of(&Cpu::provenance);
  return table;
}

}  // namespace stepcast
