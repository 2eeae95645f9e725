#include <array>

#include "models/collectives/link_shares.hpp"
#include "models/collectives/machine.hpp"

namespace stepcast {

namespace {

/// What stands for families and networks that have no profile of their own.
struct Sibling {
  std::string_view of;  ///< begins so
  std::string_view profile;
};

// By generation of the links: what NVIDIA's families of a generation share is NVLink. Links of other vendors are meshes
// or tori of point-to-point links as xGMI is; those of TPUs have a published rate.
constexpr std::array kLinkSiblings{
    Sibling{"nvidia-pascal", "nvlink-2"},
    Sibling{"nvidia-volta", "nvlink-2"},
    Sibling{"nvidia-turing", "nvlink-2"},
    Sibling{"nvidia-ampere", "nvlink-3"},
    Sibling{"nvidia-ada", "nvlink-3"},
    Sibling{"nvidia-hopper", "nvlink-4"},
    Sibling{"nvidia-blackwell", "nvlink-5"},
    Sibling{"nvidia-rubin", "nvlink-5"},
    Sibling{"nvidia-", "nvlink-5"},
    Sibling{"google-tpu", "ici"},
    Sibling{"", "xgmi"},
};

// RoCE and Omni-Path reach what InfiniBand does: RDMA with completion in the NIC. Processors on Slingshot and Omni-Path
// as on InfiniBand (links mpi-study-llnl-dane-opa).
constexpr std::array kNetworkSiblings{
    Sibling{"host-efa", "host-efa"},
    Sibling{"host-ethernet_tcp", "host-ethernet_tcp"},
    Sibling{"host-", "host-infiniband"},
    Sibling{"", "infiniband"},
};

std::string_view sibling_of(std::string_view name, const auto& siblings) {
  for (const Sibling& sibling : siblings)
    if (name.substr(0, sibling.of.size()) == sibling.of) return sibling.profile;
  return {};
}

template <class T>
const T* own_or_sibling(const std::string& own, std::string_view sibling, const Catalog& catalog) {
  if (!own.empty())
    if (const T* found = catalog.find<T>(own)) return found;
  const T* found = catalog.find<T>(sibling);
  if (found == nullptr)
    throw InputError(
        {{"", "", fmt::format("the catalogue has neither the profile \"{}\" nor \"{}\"", own, sibling), ""}});
  return found;
}

bool over_pcie(const Node& node) {
  return node.interconnect.kind == NodeTopology::pcie ||
         node.interconnect.bandwidth_per_accelerator(node.accelerator_count) <= BytesPerSecond(0);
}

bool links_reach_every_group(const Node& node) {
  for (int ranks = 2; ranks <= node.devices(); ++ranks)
    if (!links_reach_all(node, ranks)) return false;
  return true;
}

const LinkProfile* pcie_profile(const Accelerator& accelerator, const Catalog& catalog) {
  const std::string& library = accelerator.collective_library;
  return own_or_sibling<LinkProfile>(library.empty() ? "" : "pcie-" + library, "pcie", catalog);
}

}  // namespace

const LinkProfile* link_profile_of(const Node& node, const Accelerator* accelerator, const Catalog& catalog) {
  if (accelerator == nullptr) return own_or_sibling<LinkProfile>("", "shared-memory", catalog);
  if (over_pcie(node)) return pcie_profile(*accelerator, catalog);
  return own_or_sibling<LinkProfile>(accelerator->family, sibling_of(accelerator->family, kLinkSiblings), catalog);
}

const LinkProfile* host_link_profile_of(const Node& node, const Accelerator* accelerator, const Catalog& catalog) {
  if (accelerator == nullptr || over_pcie(node) || links_reach_every_group(node)) return nullptr;
  return pcie_profile(*accelerator, catalog);
}

const NetworkProfile* network_profile_of(NetworkKind kind, bool host_memory, const Catalog& catalog) {
  const std::string own = fmt::format("{}{}", host_memory ? "host-" : "", name_of(kind));
  return own_or_sibling<NetworkProfile>(own, sibling_of(own, kNetworkSiblings), catalog);
}

const NetworkProfile* network_profile_of(const Node& node, NetworkKind kind, const Catalog& catalog) {
  for (const Nic& nic : node.nics)
    if (nic.training && nic.kind == kind && !nic.network_profile.empty())
      return catalog.find<NetworkProfile>(nic.network_profile);
  return network_profile_of(kind, !node.has_accelerators(), catalog);
}

const LibraryProfile* library_profile_of(const Accelerator* accelerator, const Catalog& catalog) {
  return own_or_sibling<LibraryProfile>(accelerator != nullptr ? accelerator->collective_library : "", "nccl", catalog);
}

}  // namespace stepcast
