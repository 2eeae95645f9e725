#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// A network adapter by its PCI ids.
struct PciNic {
  std::string_view pci;   ///< `15b3:101b`
  std::string_view part;  ///< `ConnectX-6`
  double Gbps;            ///< highest rate of one port; 0: of no fixed rate (virtual adapters)
  NetworkKind ethernet;   ///< what it is with Ethernet's PCI class; with InfiniBand's it is InfiniBand
};

/// Null for devices that are no known network adapter.
const PciNic* find_pci_nic(std::string_view pci);

/// What kind of network a NIC is on by the name that its driver gives it: `mlx5_0` alone does not tell (either of
/// InfiniBand and Ethernet), `eth0`, `ens1f0`, `cxi0`, `hfi1_0`, `bnxt_re0`, `rdmap16s27` (EFA) do.
std::optional<NetworkKind> network_of_nic_name(std::string_view name);

/// Whether an interface of this name is one that the operating system has made (`br-…`, `cali…`, `docker0`), with no
/// adapter of its own.
bool is_virtual_interface(std::string_view name);

/// Whether an adapter of this name may be of a kind: Mellanox's (`mlx5_0`), and those that nvidia-smi numbers (`NIC0`,
/// of the kernel's RDMA devices), speak InfiniBand or RoCE, which the name does not tell, and nothing else.
bool nic_name_allows(std::string_view name, NetworkKind kind);

/// Id of the catalogue's accelerator with these PCI ids (`10de:20b0`); empty when it has none.
std::string_view accelerator_of_pci(std::string_view pci);

/// Families of kernels (ids of compute profiles, or their beginnings) that devices of a compute capability use; empty
/// when it is not known. Source: CUDA C++ programming guide, compute capabilities; LLVM AMDGPU processors for `gfx…`.
std::string_view family_of_sm(int sm);
std::string_view family_of_gcn(std::string_view gcn);

/// Id of the catalogue's accelerator that the driver calls by this name (`NVIDIA A100-SXM4-80GB`, `Tesla
/// V100-SXM2-16GB`, `AMD Instinct MI300X`); empty when none is known.
std::string_view accelerator_of_model(std::string_view model);

/// Ids of those whose name may be one that a narrow column has cut off (`NVIDIA A100-SXM...`); empty for whole names.
std::vector<std::string_view> accelerators_of_cut_model(std::string_view model);

}  // namespace stepcast
