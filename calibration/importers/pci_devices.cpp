#include "calibration/importers/pci_devices.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace stepcast {

namespace {

using Row = std::pair<std::string_view, std::string_view>;

// Source: the PCI ID repository (pci.ids of 2023-04-10); devices after it: the list of supported products of NVIDIA's
// drivers, and the amdgpu kernel driver's device table.
constexpr std::array kAccelerators{Row{"10de:102d", "k80-half-12gb"},
                                   Row{"10de:13f2", "m60-half-8gb"},
                                   Row{"10de:15f7", "p100-pcie-12gb"},
                                   Row{"10de:15f8", "p100-pcie-16gb"},
                                   Row{"10de:15f9", "p100-sxm2-16gb"},
                                   Row{"10de:1db1", "v100-sxm2-16gb"},
                                   Row{"10de:1df5", "v100-sxm2-16gb"},
                                   Row{"10de:1db4", "v100-pcie-16gb"},
                                   Row{"10de:1db5", "v100-sxm2-32gb"},
                                   Row{"10de:1db6", "v100-pcie-32gb"},
                                   Row{"10de:1db8", "v100-sxm3-32gb"},
                                   Row{"10de:1df6", "v100s-pcie-32gb"},
                                   Row{"10de:1e04", "rtx-2080-ti"},
                                   Row{"10de:1e07", "rtx-2080-ti"},
                                   Row{"10de:1eb1", "quadro-rtx-4000"},
                                   Row{"10de:1eb8", "t4"},
                                   Row{"10de:20b0", "a100-sxm-40gb"},
                                   Row{"10de:20b1", "a100-pcie-40gb"},
                                   Row{"10de:20b2", "a100-sxm-80gb"},
                                   Row{"10de:20b5", "a100-pcie-80gb"},
                                   Row{"10de:20b7", "a30"},
                                   Row{"10de:20bd", "a800-sxm-40gb"},
                                   Row{"10de:20f1", "a100-pcie-40gb"},
                                   Row{"10de:20f3", "a800-sxm-80gb"},
                                   Row{"10de:20f5", "a800-pcie-80gb"},
                                   Row{"10de:20f6", "a800-pcie-40gb"},
                                   Row{"10de:2204", "rtx-3090"},
                                   Row{"10de:2230", "rtx-a6000"},
                                   Row{"10de:2231", "rtx-a5000"},
                                   Row{"10de:2235", "a40"},
                                   Row{"10de:2236", "a10"},
                                   Row{"10de:2237", "a10g"},
                                   Row{"10de:2321", "h100-nvl-94gb"},
                                   Row{"10de:2324", "h800-sxm-80gb"},
                                   Row{"10de:2329", "h20-sxm-96gb"},
                                   Row{"10de:2330", "h100-sxm-80gb"},
                                   Row{"10de:2331", "h100-pcie-80gb"},
                                   Row{"10de:2335", "h200-sxm-141gb"},
                                   Row{"10de:233b", "h200-nvl-141gb"},
                                   Row{"10de:2342", "gh200-96gb"},
                                   Row{"10de:2348", "gh200-144gb"},
                                   Row{"10de:2684", "rtx-4090"},
                                   Row{"10de:2685", "rtx-4090-d"},
                                   Row{"10de:26b1", "rtx-6000-ada"},
                                   Row{"10de:26b5", "l40"},
                                   Row{"10de:26b9", "l40s"},
                                   Row{"10de:26ba", "l20"},
                                   Row{"10de:27b0", "rtx-4000-sff-ada"},
                                   Row{"10de:27b8", "l4"},
                                   Row{"10de:2901", "b200-sxm-180gb"},
                                   Row{"10de:2941", "gb200"},
                                   Row{"10de:2b85", "rtx-5090"},
                                   Row{"10de:2bb1", "rtx-pro-6000-blackwell-ws"},
                                   Row{"10de:2bb5", "rtx-pro-6000-blackwell-server"},
                                   Row{"10de:3182", "b300-sxm-270gb"},
                                   Row{"10de:31c2", "gb300"},
                                   Row{"1002:6860", "mi25"},
                                   Row{"1002:738c", "mi100"},
                                   Row{"1002:7408", "mi250x-gcd"},
                                   Row{"1002:740c", "mi250x-gcd"},
                                   Row{"1002:740f", "mi210"},
                                   Row{"1002:74a0", "mi300a"},
                                   Row{"1002:74a1", "mi300x"},
                                   Row{"1002:74a5", "mi325x"},
                                   Row{"1002:74b5", "mi300x"},
                                   Row{"1002:75a0", "mi350x"},
                                   Row{"1002:75a3", "mi355x"},
                                   Row{"8086:e211", "arc-pro-b60"},
                                   Row{"1da3:1020", "gaudi2"},
                                   Row{"1da3:1060", "gaudi3"}};

constexpr auto kRoce = NetworkKind::ethernet_rdma;
constexpr auto kEfa = NetworkKind::efa;
constexpr auto kTcp = NetworkKind::ethernet_tcp;

// Source of the ids: as above. Rates: the vendors' product briefs; EFA: AWS's instance pages (p4d 400 Gb/s over 4, p5
// 3,200 over 32, p5en 3,200 over 16, p6-b200 3,200 over 8).
constexpr std::array kNics{PciNic{"15b3:1013", "ConnectX-4", 100, kRoce},
                           PciNic{"15b3:1014", "ConnectX-4", 100, kRoce},
                           PciNic{"15b3:1015", "ConnectX-4 Lx", 25, kRoce},
                           PciNic{"15b3:1016", "ConnectX-4 Lx", 25, kRoce},
                           PciNic{"15b3:1017", "ConnectX-5", 100, kRoce},
                           PciNic{"15b3:1018", "ConnectX-5", 100, kRoce},
                           PciNic{"15b3:1019", "ConnectX-5 Ex", 100, kRoce},
                           PciNic{"15b3:101a", "ConnectX-5 Ex", 100, kRoce},
                           PciNic{"15b3:101b", "ConnectX-6", 200, kRoce},
                           PciNic{"15b3:101c", "ConnectX-6", 200, kRoce},
                           PciNic{"15b3:101d", "ConnectX-6 Dx", 100, kRoce},
                           PciNic{"15b3:101e", "ConnectX, virtual function", 0, kRoce},
                           PciNic{"15b3:101f", "ConnectX-6 Lx", 25, kRoce},
                           PciNic{"15b3:1021", "ConnectX-7", 400, kRoce},
                           PciNic{"15b3:1023", "ConnectX-8", 800, kRoce},
                           PciNic{"15b3:a2d6", "BlueField-2", 100, kRoce},
                           PciNic{"15b3:a2dc", "BlueField-3", 400, kRoce},
                           PciNic{"1d0f:efa0", "EFA", 100, kEfa},
                           PciNic{"1d0f:efa1", "EFA", 100, kEfa},
                           PciNic{"1d0f:efa2", "EFA", 200, kEfa},
                           PciNic{"1d0f:efa3", "EFA", 400, kEfa},
                           PciNic{"1d0f:ec20", "ENA", 0, kTcp},
                           PciNic{"14e4:1750", "BCM57508", 200, kRoce},
                           PciNic{"14e4:1760", "BCM57608", 400, kRoce},
                           PciNic{"1dd8:1002", "Pensando DSC", 0, kRoce},
                           PciNic{"17db:0501", "Slingshot 11", 200, NetworkKind::slingshot},
                           PciNic{"8086:24f0", "Omni-Path HFI 100", 100, NetworkKind::omni_path},
                           PciNic{"8086:24f1", "Omni-Path HFI 100", 100, NetworkKind::omni_path}};

// How Linux drivers name their devices: rdma-core's persistent names, systemd.net-naming-scheme, cxi, hfi1.
constexpr std::array kNicNames{std::pair{std::string_view("cxi"), NetworkKind::slingshot},
                               std::pair{std::string_view("hfi1"), NetworkKind::omni_path},
                               std::pair{std::string_view("opa"), NetworkKind::omni_path},
                               std::pair{std::string_view("bnxt"), kRoce},
                               std::pair{std::string_view("roce"), kRoce},
                               std::pair{std::string_view("irdma"), kRoce},
                               std::pair{std::string_view("erdma"), kRoce},
                               std::pair{std::string_view("ionic"), kRoce},
                               std::pair{std::string_view("mana"), kRoce},
                               std::pair{std::string_view("xscale"), kRoce},
                               std::pair{std::string_view("hns"), kRoce},
                               std::pair{std::string_view("rdmap"), kEfa},
                               std::pair{std::string_view("efa"), kEfa},
                               std::pair{std::string_view("rdma"), kRoce},  // as sites rename RoCE adapters
                               std::pair{std::string_view("eth"), kTcp},
                               std::pair{std::string_view("en"), kTcp},
                               std::pair{std::string_view("em"), kTcp},
                               std::pair{std::string_view("bond"), kTcp},
                               std::pair{std::string_view("wl"), kTcp},
                               std::pair{std::string_view("ibp"), NetworkKind::infiniband},
                               std::pair{std::string_view("ibs"), NetworkKind::infiniband},
                               std::pair{std::string_view("mthca"), NetworkKind::infiniband},
                               std::pair{std::string_view("qib"), NetworkKind::infiniband}};

// How container networks, virtual machines and tunnels name the interfaces that they make.
constexpr std::array<std::string_view, 19> kVirtualInterfaces{
    "br-",     "cali",   "cilium",    "cni", "docker", "dummy", "flannel", "ipvl",  "kube", "lxc",
    "nerdctl", "podman", "tailscale", "tap", "tun",    "veth",  "virbr",   "vxlan", "wg"};

// What the driver prints (nvidia-smi -L, rocm-smi --showproductname). Longer names first: the first that is contained
// wins.
constexpr std::array kModels{Row{"V100-SXM3-32GB", "v100-sxm3-32gb"},
                             Row{"V100-SXM2-32GB", "v100-sxm2-32gb"},
                             Row{"V100-SXM2-16GB", "v100-sxm2-16gb"},
                             Row{"V100S-PCIE-32GB", "v100s-pcie-32gb"},
                             Row{"V100-PCIE-32GB", "v100-pcie-32gb"},
                             Row{"V100-PCIE-16GB", "v100-pcie-16gb"},
                             Row{"P100-SXM2-16GB", "p100-sxm2-16gb"},
                             Row{"P100-PCIE-16GB", "p100-pcie-16gb"},
                             Row{"P100-PCIE-12GB", "p100-pcie-12gb"},
                             Row{"A100-SXM4-40GB", "a100-sxm-40gb"},
                             Row{"A100-SXM4-80GB", "a100-sxm-80gb"},
                             Row{"A100-SXM-80GB", "a100-sxm-80gb"},  // drivers 450 to 470
                             Row{"A100 80GB PCIe", "a100-pcie-80gb"},
                             Row{"A100-PCIE-40GB", "a100-pcie-40gb"},
                             Row{"A100-PCIE-80GB", "a100-pcie-80gb"},
                             Row{"A800-SXM4-80GB", "a800-sxm-80gb"},
                             Row{"A800-SXM4-40GB", "a800-sxm-40gb"},
                             Row{"A800 80GB PCIe", "a800-pcie-80gb"},
                             Row{"A800 40GB Active", "a800-pcie-40gb"},
                             Row{"A800 40GB PCIe", "a800-pcie-40gb"},
                             Row{"H100 80GB HBM3", "h100-sxm-80gb"},
                             Row{"H100 PCIe", "h100-pcie-80gb"},
                             Row{"H100 NVL", "h100-nvl-94gb"},
                             Row{"H200 NVL", "h200-nvl-141gb"},
                             Row{"GH200 144G", "gh200-144gb"},
                             Row{"GH200", "gh200-96gb"},
                             Row{"GB200", "gb200"},
                             Row{"GB300", "gb300"},
                             Row{"H200", "h200-sxm-141gb"},
                             Row{"H800", "h800-sxm-80gb"},
                             Row{"H20-3e", "h20-3e"},
                             Row{"H20", "h20-sxm-96gb"},
                             Row{"B200", "b200-sxm-180gb"},
                             Row{"B300", "b300-sxm-270gb"},
                             Row{"RTX PRO 6000 Blackwell Server", "rtx-pro-6000-blackwell-server"},
                             Row{"RTX PRO 6000 Blackwell", "rtx-pro-6000-blackwell-ws"},
                             Row{"RTX 4000 SFF Ada", "rtx-4000-sff-ada"},
                             Row{"RTX 6000 Ada", "rtx-6000-ada"},
                             Row{"RTX A6000", "rtx-a6000"},
                             Row{"RTX A5000", "rtx-a5000"},
                             Row{"RTX 3090", "rtx-3090"},
                             Row{"RTX 4090 D", "rtx-4090-d"},
                             Row{"RTX 4090", "rtx-4090"},
                             Row{"RTX 5090", "rtx-5090"},
                             Row{"RTX 2080 Ti", "rtx-2080-ti"},
                             Row{"Quadro RTX 4000", "quadro-rtx-4000"},
                             Row{"Quadro RTX 8000", "quadro-rtx-8000"},
                             Row{"A10G", "a10g"},
                             Row{"NVIDIA A10", "a10"},
                             Row{"NVIDIA A30", "a30"},
                             Row{"NVIDIA A40", "a40"},
                             Row{"L40S", "l40s"},
                             Row{"NVIDIA L40", "l40"},
                             Row{"NVIDIA L20", "l20"},
                             Row{"NVIDIA L4", "l4"},
                             Row{"Tesla T4", "t4"},
                             Row{"Tesla K80", "k80-half-12gb"},
                             Row{"Tesla M60", "m60-half-8gb"},
                             Row{"Radeon Instinct MI25", "mi25"},
                             Row{"MI60", "mi60"},
                             Row{"MI50 32GB", "mi50-32gb"},
                             Row{"MI50", "mi50-16gb"},
                             Row{"MI100", "mi100"},
                             Row{"MI210", "mi210"},
                             Row{"MI250X", "mi250x-gcd"},
                             Row{"MI250", "mi250-gcd"},
                             Row{"MI300A", "mi300a"},
                             Row{"MI300X", "mi300x"},
                             Row{"MI325X", "mi325x"},
                             Row{"MI350X", "mi350x"},
                             Row{"MI355X", "mi355x"}};

constexpr std::array kFamilyBySm{std::pair{37, std::string_view("nvidia-kepler")},
                                 std::pair{52, std::string_view("nvidia-maxwell")},
                                 std::pair{60, std::string_view("nvidia-pascal")},
                                 std::pair{61, std::string_view("nvidia-pascal")},
                                 std::pair{70, std::string_view("nvidia-volta")},
                                 std::pair{75, std::string_view("nvidia-turing")},
                                 std::pair{80, std::string_view("nvidia-ampere")},
                                 std::pair{86, std::string_view("nvidia-ampere-workstation")},
                                 std::pair{89, std::string_view("nvidia-ada")},
                                 std::pair{90, std::string_view("nvidia-hopper")},
                                 std::pair{100, std::string_view("nvidia-blackwell")},
                                 std::pair{103, std::string_view("nvidia-blackwell")},
                                 std::pair{120, std::string_view("nvidia-blackwell-workstation")}};
constexpr std::array kFamilyByGcn{Row{"gfx900", "amd-vega"},  Row{"gfx906", "amd-vega"},  Row{"gfx908", "amd-cdna"},
                                  Row{"gfx90a", "amd-cdna"},  Row{"gfx940", "amd-cdna3"}, Row{"gfx941", "amd-cdna3"},
                                  Row{"gfx942", "amd-cdna3"}, Row{"gfx950", "amd-cdna4"}};

template <class Rows, class Key>
std::string_view second_of(const Rows& rows, const Key& key) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == key; });
  return found == rows.end() ? std::string_view{} : found->second;
}

}  // namespace

const PciNic* find_pci_nic(std::string_view pci) {
  const auto found = std::find_if(kNics.begin(), kNics.end(), [&](const PciNic& nic) { return nic.pci == pci; });
  return found == kNics.end() ? nullptr : &*found;
}

std::optional<NetworkKind> network_of_nic_name(std::string_view name) {
  for (const auto& [start, kind] : kNicNames)
    if (name.substr(0, start.size()) == start) return kind;
  return std::nullopt;
}

bool is_virtual_interface(std::string_view name) {
  return std::any_of(kVirtualInterfaces.begin(), kVirtualInterfaces.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

bool nic_name_allows(std::string_view name, NetworkKind kind) {
  const bool lists_rdma_alone = name.starts_with("mlx") || name.starts_with("NIC");  // nvidia-smi's names
  return !lists_rdma_alone || kind == NetworkKind::infiniband || kind == NetworkKind::ethernet_rdma;
}

std::string_view accelerator_of_pci(std::string_view pci) { return second_of(kAccelerators, pci); }
std::string_view family_of_sm(int sm) { return second_of(kFamilyBySm, sm); }
std::string_view family_of_gcn(std::string_view gcn) { return second_of(kFamilyByGcn, gcn); }

std::string_view accelerator_of_model(std::string_view model) {
  const auto names = [&](std::string_view part) {
    const auto at = model.find(part);
    if (at == std::string_view::npos) return false;
    // `A10` is not `A100`.
    const auto after = at + part.size();
    return after == model.size() || std::isalnum(static_cast<unsigned char>(model[after])) == 0;
  };
  const auto found = std::find_if(kModels.begin(), kModels.end(), [&](const Row& row) { return names(row.first); });
  return found == kModels.end() ? std::string_view{} : found->second;
}

std::vector<std::string_view> accelerators_of_cut_model(std::string_view model) {
  if (!model.ends_with("...")) return {};
  model.remove_suffix(3);
  for (const std::string_view maker : {"NVIDIA ", "Tesla "})
    if (model.starts_with(maker)) model.remove_prefix(maker.size());
  std::vector<std::string_view> out;
  for (const auto& [name, id] : kModels)
    if (model.size() > 2 && name.starts_with(model)) out.push_back(id);
  return out;
}

}  // namespace stepcast
