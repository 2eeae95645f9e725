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
    NodeOf{"h200-sxm-141gb", 8, "dgx-h200"},
    NodeOf{"b300-sxm-270gb", 8, "dgx-b300"},
    NodeOf{"v100-sxm2-32gb", 8, "dgx-1-v100-32gb"},
    NodeOf{"mi300x", 8, "mi300x-platform-8"},
};

// Racks whose GPUs all share one NVLink domain, whatever their hosts hold: the largest part that comes out even.
constexpr std::array kRacks{
    NodeOf{"gb200", 72, "gb200-nvl72"},          NodeOf{"gb200", 64, "gb200-nvl72-64-of-72"},
    NodeOf{"gb200", 32, "gb200-nvl72-32-of-72"}, NodeOf{"gb200", 8, "gb200-nvl72-8-of-72"},
    NodeOf{"gb300", 72, "gb300-nvl72"},          NodeOf{"gb300", 64, "gb300-nvl72-64-of-72"},
    NodeOf{"gb300", 32, "gb300-nvl72-32-of-72"}, NodeOf{"gb300", 8, "gb300-nvl72-8-of-72"},
};

const NodeOf* find_node(std::string_view accelerator, long gpus, long gpus_per_node) {
  for (const NodeOf& rack : kRacks)
    if (rack.accelerator == accelerator && gpus % rack.gpus == 0) return &rack;
  const long per_node = std::min(gpus, gpus_per_node);
  for (const NodeOf& node : kNodes)
    if (node.accelerator == accelerator && node.gpus == per_node && gpus % per_node == 0) return &node;
  return nullptr;
}

}  // namespace

Json cluster_of(std::string_view accelerator, long gpus, long gpus_per_node,
                const std::optional<StatedNetwork>& network) {
  const NodeOf* node = find_node(accelerator, gpus, gpus_per_node);
  if (node == nullptr) return nullptr;
  Json cluster{{"node", node->node}, {"nodes", gpus / node->gpus}};
  if (network)
    cluster["fabric"] = {{"nics_per_node", network->nics_per_node},
                         {"nic_bandwidth_Gbps", network->nic_bandwidth_Gbps},
                         {"network", network->kind}};
  return cluster;
}

}  // namespace stepcast
