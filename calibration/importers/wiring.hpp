#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// An accelerator as a description of a machine's wiring shows it. What the description does not say stays empty.
struct WiredAccelerator {
  std::string name;      ///< as the description calls it: `GPU0`, `0000:07:00.0`
  std::string pci;       ///< vendor and device, `10de:20b0`
  std::string model;     ///< as the driver calls it: `NVIDIA A100-SXM4-80GB`
  int sm = 0;            ///< compute capability ×10 (NVIDIA)
  std::string gcn;       ///< `gfx942` (AMD)
  int numa = -1;         ///< NUMA node
  int bridge = -1;       ///< outermost PCIe switch above it: equal numbers share one; −1: none
  int pcie_gen = 0;      ///< of its own link
  int path_gen = 0;      ///< 16 lanes of which are as fast as the slowest PCIe link up to the processor; 0: not told
  int switch_links = 0;  ///< native links into switches
};

struct WiredNic {
  std::string name;
  std::string part;  ///< `ConnectX-6`
  std::optional<BytesPerSecond> bandwidth;
  std::optional<NetworkKind> kind;
  int numa = -1;
  int bridge = -1;  ///< as of an accelerator
};

/// What one machine's wiring is, whoever described it: the step between a file of another program and a node of the
/// catalogue.
struct Wiring {
  std::string source;  ///< what was read, for the entry's sources: `NCCL topology p4d.xml`
  std::vector<WiredAccelerator> accelerators;
  std::vector<WiredNic> nics;
  std::vector<std::array<int, 3>> links;  ///< native links of each pair once: [lower, higher, links]
  bool links_told = false;                ///< the description would show native links if there were any
  int native_switches = 0;                ///< distinct ones seen; 0 when they cannot be seen
  bool behind_switch = false;             ///< `links` are those of each accelerator into a switch, seen pair by pair
  int hosts = 1;                          ///< machines whose accelerators share native links (a rack)
  int untold_functions = 0;               ///< PCI functions that may be accelerators or NICs: no class is given
  std::optional<bool> coherent;           ///< accelerators share an address space with their processor (NVLink-C2C)
  std::string cpu_vendor;                 ///< GenuineIntel, AuthenticAMD, ARM; empty: not told
  std::vector<std::string> models;        ///< of accelerators, where it names several; which is which it does not say
  std::string platform;                   ///< product that the description names (`p4d.24xlarge`); may be empty
  std::vector<std::string> notes;         ///< what was odd or left out
};

/// The topology that the wiring amounts to. `links_of_one` is how many native links the accelerator has in all (0:
/// unknown); it tells a switch from a mesh where the description shows pairs only: eight A100 that see 12 links to each
/// other have 12 links into a switch, as 7 × 12 would be more than they have. The rate of a link is not told by any
/// description and is left zero.
NodeInterconnect interconnect_of_wiring(const Wiring& wiring, int links_of_one);

/// The PCIe tree in one line: `NUMA 0: [gpu 0 1, nic 0] [gpu 2 3, nic 1]; NUMA 1: …`, each pair of brackets one switch.
/// Empty when the description tells neither switches nor NUMA nodes.
std::string pcie_tree_text(const Wiring& wiring);

/// Hosts whose accelerators share a node's native links: the compute trays of a rack; 1 elsewhere.
int hosts_of(const Node& node);

/// Whether a NIC is for training: it shares a PCIe switch with an accelerator, or no NIC does and its kind is the best
/// there is (RDMA before TCP), and its rate the highest where half as many NICs as accelerators have that.
std::vector<bool> training_nics_of(const Wiring& wiring);

}  // namespace stepcast
