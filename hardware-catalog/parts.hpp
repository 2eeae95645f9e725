#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fields/field_table.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// How a figure was obtained. `measured`: on the part itself; `datasheet`: confirmed by a look-up of the maker's or a
/// provider's document; `recalled`: from memory of one, not confirmed; `estimated`: by a stated rule.
enum class Evidence { measured, datasheet, recalled, estimated };
template <>
struct EnumNames<Evidence> {
  static constexpr std::array names{"measured", "datasheet", "recalled", "estimated"};
};

/// Where the figures of an entry come from. Both maps are by key of the entry (`psus`, or `psus.count` for a part of
/// it), or by name of a figure, label or curve, or `all` for the rest; every figure has both. In JSON the three stand
/// beside the entry's own keys.
struct Provenance {
  std::map<std::string, std::string> sources;
  std::map<std::string, Evidence> evidence;
  std::string note;
  static const FieldTable<Provenance>& fields();

  /// Source and evidence of one key; the entry's `all` when it has none of its own.
  [[nodiscard]] std::string source_of(const std::string& key) const;
  [[nodiscard]] std::optional<Evidence> evidence_of(const std::string& key) const;
};

/// Figures and words that have no field of their own: figures by name with unit, as `airflow_CFM`.
using Figures = std::map<std::string, double>;
using Labels = std::map<std::string, std::string>;

/// Number formats that a matrix unit multiplies in.
/// `mxfp8`: 8 bit with a scale for every 32 elements (OCP Microscaling formats, v1.0); `fp8` has one for a tensor.
enum class Precision { fp64, fp32, tf32, fp16, bf16, fp8, mxfp8, fp4, int8 };
template <>
struct EnumNames<Precision> {
  static constexpr std::array names{"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "fp4", "int8"};
};

/// Formats whose products run in 8 or 4 bit while norms and the output layer stay in 16.
bool below_16_bit(Precision precision);

/// An accelerator's own links to its peers (NVLink, Infinity Fabric, ICI).
struct NativeLinks {
  std::string kind;
  int links = 0;
  int wrap_multiple = 1;    ///< torus: an axis wraps around where its length is a multiple of it, else it is open
  BytesPerSecond per_link;  ///< link_bandwidth_GBps: of each, per direction
  static const FieldTable<NativeLinks>& fields();
};

/// A link between accelerator and host processor that is no PCIe (NVLink-C2C, POWER9's NVLink).
struct HostLink {
  std::string kind;
  BytesPerSecond bandwidth;  ///< per direction
  int shared_by_accelerators = 1;
  static const FieldTable<HostLink>& fields();
};

/// A GPU, TPU or other accelerator, as software counts them: each die of a two-die board that shows two devices is one.
/// All peaks are dense.
struct Accelerator {
  std::string id;
  std::string vendor;
  std::string family;                                 ///< id of the compute profile (kernel efficiencies) that it uses
  std::string collective_library;                     ///< id of a library profile; empty: nccl, or what is like it
  std::map<std::string, FlopsPerSecond> peak_TFLOPS;  ///< by precision name; keys are those of Precision
  std::map<std::string, FlopsPerSecond>
      peak_matrix_TFLOPS;  ///< where the matrix unit has a rate of its own (fp64, fp32)
  std::map<std::string, FlopsPerSecond> matmul_measured_TFLOPS;  ///< the best product of a wide search
  std::map<std::string, FlopsPerSecond> achievable_TFLOPS;       ///< as the maker states it
  Bytes memory;                                                  ///< as marketed (memory_GB)
  std::optional<Bytes> memory_visible;  ///< what software sees (memory_visible_MiB); decides whether a model fits
  std::string memory_kind;
  BytesPerSecond memory_bandwidth;
  std::optional<Bytes> l2_cache;
  std::optional<Bytes> l3_cache;
  std::optional<Bytes> sram;
  int sm_count = 0;                  ///< SMs, CUs or cores; 0 when not stated
  double base_clock_MHz = 0;         ///< 0 when not stated
  double boost_clock_MHz = 0;        ///< 0 when not stated
  double tensor_peak_clock_MHz = 0;  ///< clock that the tensor peaks are stated at, if another; 0 when not stated
  Watts tdp;
  std::optional<Watts> tdp_peak;
  std::optional<Watts> idle_power;
  std::optional<NativeLinks> interconnect;
  std::optional<HostLink> cpu_link;
  int pcie_gen = 0;
  int pcie_lanes = 0;
  BytesPerSecond pcie_bandwidth;  ///< per direction, of its host link
  std::string form_factor;
  int year = 0;
  std::optional<Dollars> price;
  std::string price_kind;
  std::string price_date;
  Figures figures;
  Provenance provenance;

  /// Peak of one precision, or zero when the part has none.
  [[nodiscard]] FlopsPerSecond peak(Precision precision) const;
  /// Of matrix products: the matrix unit's, where it has a rate of its own.
  [[nodiscard]] FlopsPerSecond product_peak(Precision precision) const;
  /// What software can allocate: `memory_visible_MiB`, or kVisibleShare of the marketed size when not measured.
  [[nodiscard]] Bytes usable_memory() const;
  static const FieldTable<Accelerator>& fields();
};

/// Visible over marketed memory, the median of the catalogue's measured parts. Marketed gigabytes are of 2^30 bytes, of
/// which the driver keeps about half a per cent; GDDR with ECC on gives up another sixteenth.
inline constexpr double kVisibleShare = 1.068;
inline constexpr double kVisibleShareEccGddr = 1.006;

/// A processor: one socket.
struct Cpu {
  std::string id;
  std::string vendor;
  std::string family = "cpu";  ///< id of the compute profile that it uses
  int cores = 0;
  int p_cores = 0;  ///< of them performance cores, when there are two kinds
  int e_cores = 0;
  double base_GHz = 0;
  double turbo_GHz = 0;
  double e_base_GHz = 0;
  int memory_channels = 0;
  double memory_MTps = 0;
  BytesPerSecond memory_bandwidth;
  double flop_per_cycle_per_core_fp32 = 0;  ///< 2 (multiply-add) × FMA units × lanes of 32 bits
  FlopsPerSecond peak_fp32;                 ///< cores × base clock × FLOP per cycle
  Watts tdp;
  std::optional<Watts> turbo_power;
  int pcie_gen = 0;
  int pcie_lanes = 0;
  std::optional<BytesPerSecond> socket_links;  ///< all links between two sockets, per direction
  int year = 0;
  std::optional<Dollars> price;
  std::string price_kind;
  Provenance provenance;

  /// Raw rate between two sockets; where the entry is silent, kUnknownSocketLinks.
  [[nodiscard]] BytesPerSecond between_sockets() const;
  static const FieldTable<Cpu>& fields();
};

/// Between two sockets of a kind that nobody states: three UPI links of 20.8 GB/s (links upi-10.4), the slowest pair of
/// sockets of the last ten years in the catalogue.
inline constexpr BytesPerSecond kUnknownSocketLinks = 3 * 20.8_GBps;

/// A link, NIC rate, cable or measured link figure. The figures differ by kind, so they are kept by name.
struct LinkPart {
  std::string id;
  std::string kind;
  Figures figures;  ///< by key with unit, as `latency_us`
  Labels labels;
  Provenance provenance;
  static const FieldTable<LinkPart>& fields();

  /// A figure by name, if the entry has it.
  [[nodiscard]] std::optional<double> figure(const std::string& name) const;
};

enum class NetworkKind { infiniband, ethernet_rdma, ethernet_tcp, efa, slingshot, omni_path, ici };
template <>
struct EnumNames<NetworkKind> {
  static constexpr std::array names{"infiniband", "ethernet_rdma", "ethernet_tcp", "efa",
                                    "slingshot",  "omni_path",     "ici"};
};

/// A switch.
struct SwitchPart {
  std::string id;
  std::string kind;
  std::vector<NetworkKind> usual_for;  ///< networks of its ports' rate that are built of it where nobody names a switch
  std::string asic;
  int ports = 0;
  std::optional<BytesPerSecond> port_bandwidth;
  std::optional<Seconds> latency;
  std::optional<Watts> typical_power;
  std::optional<Watts> max_power;
  std::optional<Dollars> price;
  std::string price_kind;
  std::string price_date;
  bool sharp = false;  ///< reduces in the network
  int rack_units = 0;
  int year = 0;
  Figures figures;
  Provenance provenance;
  static const FieldTable<SwitchPart>& fields();
};

/// How the accelerators of a node reach one another. `hybrid_cube_mesh` is any mesh given link by link.
enum class NodeTopology { single, pair, pcie, mesh, hybrid_cube_mesh, nvswitch, nvswitch_rack, torus_2d, torus_3d };
template <>
struct EnumNames<NodeTopology> {
  static constexpr std::array names{"single",   "pair",          "pcie",     "mesh",    "hybrid_cube_mesh",
                                    "nvswitch", "nvswitch_rack", "torus_2d", "torus_3d"};
};

struct NodeInterconnect {
  NodeTopology kind = NodeTopology::single;
  std::string generation;               ///< "NVLink 3", "PCIe 4", "xGMI 4"; free text
  BytesPerSecond per_link;              ///< link_bandwidth_GBps: of each, per direction
  int links_per_accelerator = 0;        ///< into the switch (nvswitch) or in all (mesh, torus)
  int links_per_pair = 0;               ///< mesh with the same number between every two
  std::vector<std::vector<int>> links;  ///< hybrid cube mesh: [accelerator, accelerator, links]
  int switches = 0;                     ///< NVSwitch chips
  int pcie_gen = 0;                     ///< when the accelerators meet over PCIe
  std::string note;
  static const FieldTable<NodeInterconnect>& fields();

  /// What one accelerator can send to its peers in the node, per direction, over the native links (zero if none).
  [[nodiscard]] BytesPerSecond bandwidth_per_accelerator(int accelerators) const;
};

struct Nic {
  int count = 0;
  BytesPerSecond bandwidth;  ///< of each, per direction (bandwidth_Gbps)
  NetworkKind kind = NetworkKind::infiniband;
  bool training = true;    ///< false: storage and management only
  std::string name;        ///< as the source names it
  bool on_device = false;  ///< parts of the accelerators themselves: no PCIe lies between
  /// id of a network profile, where collectives reach the network otherwise than is usual of its kind
  std::string network_profile;
  static const FieldTable<Nic>& fields();
};

struct LocalStorage {
  int count = 0;
  Bytes capacity;      ///< of each (capacity_TB)
  std::string device;  ///< id of a storage part; its rates are used when read and write are not given
  int raid = 0;        ///< level over all of them
  std::optional<BytesPerSecond> read_GBps;  ///< of all together
  std::optional<BytesPerSecond> write_GBps;
  static const FieldTable<LocalStorage>& fields();
};

struct PowerSupplies {
  int count = 0;
  Watts rating;            ///< of each
  std::string efficiency;  ///< id of a psu entry; empty: the default curve
  static const FieldTable<PowerSupplies>& fields();
};

struct NodePrice {
  std::optional<Dollars> purchase;
  std::optional<DollarsPerSecond> on_demand;       ///< on_demand_usd_per_h
  std::optional<DollarsPerSecond> monthly;         ///< rental_usd_per_month
  std::optional<DollarsPerSecond> capacity_block;  ///< reserved for days, whole
  std::optional<DollarsPerSecond> earlier_on_demand;
  std::string earlier_date;
  std::optional<DollarsPerSecond> spot_low;
  std::optional<DollarsPerSecond> spot_high;
  std::optional<DollarsPerSecond> reserved_one_year;
  std::optional<DollarsPerSecond> reserved_three_years;
  std::string reserved_date;
  std::string date;
  static const FieldTable<NodePrice>& fields();
};

/// A server. With accelerator_count 0 its processors do the training (one device per socket).
struct Node {
  std::string id;
  std::string accelerator;  ///< catalogue id; empty when there is none
  int accelerator_count = 0;
  std::string cpu;                   ///< catalogue id; empty when unknown (cloud instances)
  int cpu_count = 0;                 ///< sockets; 0 when unknown
  int cpu_cores = 0;                 ///< cores of each socket that the node gets; 0: all of them
  int vcpus = 0;                     ///< of a cloud instance
  std::string provider;              ///< cloud that rents it out, as records on its instances name it; empty: none
  std::string instance;              ///< what the provider calls it
  std::optional<HostLink> cpu_link;  ///< of each accelerator, where that has one to this processor only
  NodeInterconnect interconnect;
  Bytes memory;                     ///< host memory
  BytesPerSecond memory_bandwidth;  ///< host, of all sockets
  std::vector<Nic> nics;
  std::optional<LocalStorage> local_storage;
  std::optional<Watts> max_power;
  std::optional<Watts> typical_power;
  std::optional<PowerSupplies> psus;
  std::string cooling;  ///< id of a cooling entry; empty: air
  int rack_units = 0;
  std::optional<NodePrice> price;
  std::string price_like;  ///< id of the node whose price per accelerator stands for the missing own one; may be empty
  Figures figures;
  Labels labels;
  Provenance provenance;

  [[nodiscard]] bool has_accelerators() const { return accelerator_count > 0; }
  /// Devices that train: accelerators, or sockets.
  [[nodiscard]] int devices() const { return has_accelerators() ? accelerator_count : cpu_count; }
  /// NICs that carry training traffic, and their rate together per direction.
  [[nodiscard]] int training_nics() const;
  [[nodiscard]] BytesPerSecond training_bandwidth() const;
  static const FieldTable<Node>& fields();
};

/// A drive, a shared file system or an object store.
struct StoragePart {
  std::string id;
  std::string kind;
  std::optional<Bytes> capacity;
  std::optional<BytesPerSecond> read;  ///< sequential, of one drive or one client
  std::optional<BytesPerSecond> write;
  std::optional<BytesPerSecond> aggregate_read;  ///< of the whole system, shared by all clients
  std::optional<BytesPerSecond> aggregate_write;
  std::optional<PerSecond> random_read;  ///< random_read_kIOPS
  std::optional<PerSecond> random_write;
  std::optional<Seconds> read_latency;
  int pcie_gen = 0;
  int pcie_lanes = 0;
  std::optional<Watts> idle_power;
  std::optional<Watts> active_power;
  Figures figures;
  Labels labels;
  Provenance provenance;
  static const FieldTable<StoragePart>& fields();
};

/// A power supply's efficiency curve.
struct Psu {
  std::string id;
  std::string level;
  std::string line;  ///< supply that the curve was certified on, as `230V-internal-redundant`
  std::map<std::string, double> efficiency_percent_by_load_percent;
  Provenance provenance;
  static const FieldTable<Psu>& fields();
  /// Efficiency (0–1) at a load (0–1 of the rating), linear between the tabled points and held outside them.
  [[nodiscard]] double efficiency(double load) const;
};

struct Cooling {
  std::string id;
  std::optional<double> pue_low;
  std::optional<double> pue_high;
  std::optional<double> server_fan_share_of_IT_percent;
  std::optional<Watts> max_rack_power;
  Figures figures;
  Labels labels;
  Provenance provenance;
  static const FieldTable<Cooling>& fields();
};

/// Where the cluster stands: PUE, electricity price and grid carbon.
struct Site {
  std::string id;
  std::string kind;  ///< region, or what single figure it states: pue, electricity, grid
  std::string place;
  std::string country;
  std::optional<double> pue;
  std::optional<DollarsPerJoule> electricity;  ///< electricity_usd_per_kWh, industrial
  int electricity_year = 0;
  std::optional<double> grid_gCO2_per_kWh;  ///< grid average, not market based
  std::optional<double> country_grid_gCO2_per_kWh;
  int grid_year = 0;
  std::optional<double> carbon_free_share;
  int year = 0;
  Figures figures;
  Provenance provenance;
  static const FieldTable<Site>& fields();
};

/// How well the kernels of one family of accelerators use the hardware. One figure a mechanism, none for a single run;
/// what each means stands in models/compute/. Written by a calibration run, or taken from a stated source.
struct ComputeProfile {
  std::string id;
  std::map<std::string, double> gemm_sustained_share;  ///< of the dense peak in long compute-bound phases, by precision
  double gemm_k_overhead = 0;                          ///< k0: extra columns of k that a tile's start-up costs
  double gemm_tail_share = 0;                          ///< c: share of one wave of 128×128 tiles lost at the tail
  Seconds kernel_floor;                                ///< shortest kernel
  double memory_share = 0;                             ///< of the memory bandwidth that streaming kernels reach
  /// Of the dense peak at long sequences, causal FLOPs halved, by generation of fused kernels (AttentionKernel).
  std::map<std::string, double> attention_forward_share;
  double attention_backward_ratio = 0;      ///< backward rate over forward rate
  double attention_half_sequence = 0;       ///< s½: sequence length at half of that rate
  double attention_head64_factor = 1;       ///< rate at head size 64 over that at 128
  double unfused_attention_gemm_share = 0;  ///< GEMM rate of unfused attention over that of plain GEMMs
  double convolution_share = 0;             ///< of the dense peak, implicit GEMM in the profile's main training format
  double convolution_share_fp32 = 0;
  /// Of the dense peak, by precision and kind of convolution: 1×1; 3×3 with stride 1, which Winograd's algorithm speeds
  /// up; other windows; and grouped ones. Without a figure for a precision all of them run at convolution_share.
  std::map<std::string, double> convolution_pointwise_share, convolution_3x3_share, convolution_window_share,
      convolution_grouped_share;
  double convolution_depthwise_share = 0;       ///< channel by channel, of the fp32 peak; 0: as grouped
  double convolution_depthwise_share_fp32 = 0;  ///< in fp32 and tf32; 0: as the other
  double convolution_full_width = 0;            ///< channels of a result below which matrix units starve; 0: not known
  double host_link_share = 0;                   ///< of PCIe's rate that pinned copies reach
  bool any_row_length = false;  ///< products of rows of any length run alike; else kernels load 16 bytes at once
  bool trains_in_int8 = false;  ///< of the formats that it has a peak of, integers too
  Figures figures;
  Provenance provenance;
  static const FieldTable<ComputeProfile>& fields();
};

/// Evidence that models draw on, as published: figures, words and curves by name. Of failures, recovery and spot
/// capacity.
struct ReliabilityRecord {
  std::string id;
  std::string accelerator;        ///< catalogue id, where the evidence is of one
  std::string node;               ///< catalogue id
  std::string provider;           ///< cloud that it is of, as nodes name it
  std::string instance;           ///< the provider's name for what it is of
  std::optional<Seconds> notice;  ///< notice_s: between the notice and the end of a spot instance
  std::optional<double> interruptions_per_1000_node_days;  ///< what scenarios take from it
  Figures figures;
  Labels labels;
  std::map<std::string, Figures> curves;  ///< named `x_to_y`: y by x
  Provenance provenance;
  static const FieldTable<ReliabilityRecord>& fields();
};

/// The same of power: measured, idle, capped.
struct PowerRecord {
  std::string id;
  std::string accelerator;  ///< catalogue id, where the evidence is of one
  std::string node;         ///< catalogue id
  Figures figures;
  Labels labels;
  std::map<std::string, Figures> curves;  ///< named `x_to_y`: y by x
  Provenance provenance;
  static const FieldTable<PowerRecord>& fields();
};

}  // namespace stepcast
