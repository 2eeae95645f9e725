#include <algorithm>
#include <array>

#include "calibration/validation/dl_run.hpp"
#include "calibration/validation/machines.hpp"
#include "calibration/validation/node_of.hpp"

namespace stepcast {

namespace {

// NVIDIA's or the cloud's own server stands for each GPU; parts of it, for jobs that leave GPUs idle, and servers that
// only these tables name, lie in calibration/data/catalog. For what is not here the servers of large models stand.
constexpr std::array kServers{
    NodeOf{"v100-sxm2-16gb", 1, "dgx-1-v100-16gb-1-of-8"},
    NodeOf{"v100-sxm2-16gb", 2, "dgx-1-v100-16gb-2-of-8"},
    NodeOf{"v100-sxm2-16gb", 4, "dgx-1-v100-16gb-4-of-8"},
    NodeOf{"v100-sxm2-16gb", 8, "dgx-1-v100-16gb"},
    NodeOf{"v100-sxm2-32gb", 1, "dgx-1-v100-32gb-1-of-8"},
    NodeOf{"v100-sxm2-32gb", 2, "dgx-1-v100-32gb-2-of-8"},
    NodeOf{"v100-sxm2-32gb", 4, "dgx-1-v100-32gb-4-of-8"},
    NodeOf{"v100-sxm2-32gb", 8, "dgx-1-v100-32gb"},
    NodeOf{"v100-sxm3-32gb", 1, "dgx-2-1-of-16"},
    NodeOf{"v100-sxm3-32gb", 2, "dgx-2-2-of-16"},
    NodeOf{"v100-sxm3-32gb", 4, "dgx-2-4-of-16"},
    NodeOf{"v100-sxm3-32gb", 8, "dgx-2-8-of-16"},
    NodeOf{"v100-sxm3-32gb", 16, "dgx-2"},
    NodeOf{"v100-sxm3-32gb-dgx2h", 1, "dgx-2h-1-of-16"},
    NodeOf{"v100-sxm3-32gb-dgx2h", 2, "dgx-2h-2-of-16"},
    NodeOf{"v100-sxm3-32gb-dgx2h", 4, "dgx-2h-4-of-16"},
    NodeOf{"v100-sxm3-32gb-dgx2h", 8, "dgx-2h-8-of-16"},
    NodeOf{"v100-sxm3-32gb-dgx2h", 16, "dgx-2h"},
    NodeOf{"a100-sxm-40gb", 1, "dgx-a100-40gb-1-of-8"},
    NodeOf{"a100-sxm-40gb", 2, "dgx-a100-40gb-2-of-8"},
    NodeOf{"a100-sxm-40gb", 4, "dgx-a100-40gb-4-of-8"},
    NodeOf{"a100-sxm-40gb", 8, "dgx-a100-40gb"},
    NodeOf{"a100-sxm-80gb", 1, "dgx-a100-80gb-1-of-8"},
    NodeOf{"a100-sxm-80gb", 2, "dgx-a100-80gb-2-of-8"},
    NodeOf{"a100-sxm-80gb", 4, "dgx-a100-80gb-4-of-8"},
    NodeOf{"a100-sxm-80gb", 8, "dgx-a100-80gb"},
    NodeOf{"p100-sxm2-16gb", 1, "dgx-1-p100-1-of-8"},
    NodeOf{"p100-sxm2-16gb", 2, "dgx-1-p100-2-of-8"},
    NodeOf{"p100-sxm2-16gb", 4, "dgx-1-p100-4-of-8"},
    NodeOf{"p100-sxm2-16gb", 8, "dgx-1-p100"},
    NodeOf{"k80-half-12gb", 1, "aws-p2.8xlarge-1-of-8"},
    NodeOf{"k80-half-12gb", 2, "aws-p2.8xlarge-2-of-8"},
    NodeOf{"k80-half-12gb", 4, "aws-p2.8xlarge-4-of-8"},
    NodeOf{"k80-half-12gb", 8, "aws-p2.8xlarge"},
    NodeOf{"k80-half-12gb", 16, "aws-p2.16xlarge"},
    NodeOf{"t4", 1, "azure-nc64as-t4-v3-1-of-4"},
    NodeOf{"t4", 2, "azure-nc64as-t4-v3-2-of-4"},
    NodeOf{"t4", 4, "azure-nc64as-t4-v3"},
    NodeOf{"h100-sxm-80gb", 1, "dgx-h100-1-of-8"},
    NodeOf{"h100-sxm-80gb", 2, "dgx-h100-2-of-8"},
    NodeOf{"h100-sxm-80gb", 4, "dgx-h100-4-of-8"},
    NodeOf{"h100-sxm-80gb", 8, "dgx-h100"},
    NodeOf{"tpu-v3", 4, "tpu-v3-host"},
    NodeOf{"tpu-v4", 4, "tpu-v4-host"},
    NodeOf{"a100-pcie-40gb", 1, "pcie-server-a100-40gb-1"},
    NodeOf{"a100-pcie-40gb", 2, "pcie-server-a100-40gb-2"},
    NodeOf{"a100-pcie-40gb", 4, "pcie-server-a100-40gb-4"},
    NodeOf{"a100-pcie-40gb", 8, "pcie-server-a100-40gb-8"},
    NodeOf{"a100-pcie-40gb", 10, "pcie-server-a100-40gb-10"},
    NodeOf{"a100-pcie-80gb", 2, "pcie-server-a100-80gb-2"},
    NodeOf{"a100-pcie-80gb", 4, "pcie-server-a100-80gb-4"},
    NodeOf{"a100-pcie-80gb", 8, "pcie-server-a100-80gb-8"},
    NodeOf{"a100-pcie-80gb", 10, "pcie-server-a100-80gb-10"},
    NodeOf{"a100-pcie-80gb", 16, "pcie-server-a100-80gb-16"},
    NodeOf{"a30", 2, "pcie-server-a30-2"},
    NodeOf{"a30", 8, "pcie-server-a30-8"},
    NodeOf{"a30", 10, "pcie-server-a30-10"},
    NodeOf{"h100-pcie-80gb", 4, "pcie-server-h100-80gb-4"},
    NodeOf{"h100-pcie-80gb", 8, "pcie-server-h100-80gb-8"},
    NodeOf{"l40", 8, "pcie-server-l40-8"},
    NodeOf{"l40", 10, "pcie-server-l40-10"},
    NodeOf{"rtx-a5000", 2, "workstation-rtx-a5000-2"},
    NodeOf{"p100-pcie-16gb", 1, "pcie-server-p100-16gb-1"},
    NodeOf{"p100-pcie-16gb", 4, "pcie-server-p100-16gb-4"},
    NodeOf{"v100s-pcie-32gb", 1, "pcie-server-v100s-32gb-1"},
    NodeOf{"v100s-pcie-32gb", 4, "pcie-server-v100s-32gb-4"},
    NodeOf{"v100s-pcie-32gb", 8, "pcie-server-v100s-32gb-8"},
    NodeOf{"v100-pcie-16gb", 1, "pcie-server-v100-16gb-1"},
    NodeOf{"v100-pcie-16gb", 4, "pcie-server-v100-16gb-4"},
    NodeOf{"v100-pcie-16gb", 8, "pcie-server-v100-16gb-8"},
    NodeOf{"rtx-3090", 1, "workstation-rtx-3090"},
    NodeOf{"m60-half-8gb", 1, "m60-server-1"},
};

const NodeOf* find_server(std::string_view accelerator, long gpus, long gpus_per_node) {
  const long per_node = std::min(gpus, gpus_per_node);
  const NodeOf* best = nullptr;
  for (const NodeOf& node : kServers)
    if (node.accelerator == accelerator && node.gpus <= per_node && gpus % node.gpus == 0 &&
        (best == nullptr || node.gpus > best->gpus))
      best = &node;
  // Fewer GPUs in a server than the run had there would move traffic from its links to the network.
  const bool torus = accelerator.starts_with("tpu");
  return best != nullptr && (best->gpus == per_node || torus) ? best : nullptr;
}

/// Of a server whose network a row does not state.
constexpr double kUnstatedGbps = 100;

std::string_view kind_of(std::string_view words) {
  const auto says = [&](std::string_view word) { return words.find(word) != std::string_view::npos; };
  if (says("TCP") || says("Ethernet") || says("GbE") || says("EFA")) return "ethernet_tcp";
  return says("RoCE") ? "ethernet_rdma" : "infiniband";
}

}  // namespace

Json dl_cluster(std::string_view accelerator, long gpus, long gpus_per_node, std::string_view network) {
  const NodeOf* node = find_server(accelerator, gpus, gpus_per_node);
  if (node == nullptr) return cluster_of(accelerator, gpus, gpus_per_node);
  Json cluster{{"node", node->node}, {"nodes", gpus / node->gpus}};
  const StatedNetwork nics =
      network_of(std::string(network), gpus_per_node).value_or(StatedNetwork{1, kUnstatedGbps, {}});
  if (gpus > node->gpus && !accelerator.starts_with("tpu"))
    cluster["fabric"] = {{"nics_per_node", nics.nics_per_node},
                         {"nic_bandwidth_Gbps", nics.nic_bandwidth_Gbps},
                         {"network", kind_of(network)}};
  return cluster;
}

}  // namespace stepcast
