#include "calibration/validation/machines.hpp"

#include <algorithm>
#include <array>

namespace stepcast {

namespace {

struct NodeOf {
  std::string_view accelerator;
  long gpus;
  std::string_view node;
};

// Tables of runs name GPUs, not servers. NVIDIA's own server stands for each, because the GPUs and the links between
// them are the same in every server of that board; what the network differs in is stated beside it.
constexpr std::array kNodes{
    NodeOf{"a100-sxm-80gb", 8, "dgx-a100-80gb"},
    NodeOf{"a100-sxm-40gb", 8, "dgx-a100-40gb"},
    NodeOf{"h100-sxm-80gb", 8, "dgx-h100"},
    NodeOf{"b200-sxm-180gb", 8, "dgx-b200"},
    NodeOf{"a100-sxm-80gb", 4, "dgx-a100-80gb-4-of-8"},
    NodeOf{"a100-sxm-80gb", 2, "dgx-a100-80gb-2-of-8"},
};

}  // namespace

Json cluster_of(std::string_view accelerator, long gpus, long gpus_per_node,
                const std::optional<StatedNetwork>& network) {
  const long per_node = std::min(gpus, gpus_per_node);
  const auto* const node = std::find_if(kNodes.begin(), kNodes.end(), [&](const NodeOf& entry) {
    return entry.accelerator == accelerator && entry.gpus == per_node;
  });
  if (node == kNodes.end() || gpus % per_node != 0) return nullptr;
  Json cluster{{"node", node->node}, {"nodes", gpus / per_node}};
  if (network)
    cluster["fabric"] = {{"nics_per_node", network->nics_per_node},
                         {"nic_bandwidth_Gbps", network->nic_bandwidth_Gbps},
                         {"network", network->kind}};
  return cluster;
}

}  // namespace stepcast
