#include "calibration/validation/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>

#include "calibration/validation/accelerator_names.hpp"
#include "calibration/validation/node_of.hpp"
#include "fields/data_directory.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

// Tables of runs name GPUs, not servers. NVIDIA's own server stands for each, because the GPUs and the links between
// them are the same in every server of that board; what the network differs in is stated beside it. Fewer GPUs than a
// server has are part of one.
constexpr std::array kNodes{
    NodeOf{"a100-sxm-80gb", 8, "dgx-a100-80gb"},
    NodeOf{"a100-sxm-40gb", 8, "dgx-a100-40gb"},
    NodeOf{"h100-sxm-80gb", 8, "dgx-h100"},
    NodeOf{"h100-sxm-96gb-hbm2e-500w", 8, "hgx-h100-96gb-500w", 500},  // torchtitan's benchmark pages: held at 500 W
    NodeOf{"h800-sxm-80gb", 8, "hgx-h800-8"},
    NodeOf{"h200-sxm-141gb", 8, "dgx-h200"},
    NodeOf{"h200-nvl-141gb", 4, "server-4xh200-nvl"},
    NodeOf{"b200-sxm-180gb", 8, "dgx-b200"},
    NodeOf{"b300-sxm-270gb", 8, "dgx-b300"},
    NodeOf{"v100-sxm2-32gb", 8, "dgx-1-v100-32gb"},
    NodeOf{"v100-sxm2-16gb", 8, "dgx-1-v100-16gb"},
    NodeOf{"l40s", 4, "server-4xl40s"},
    NodeOf{"l40s", 8, "aws-g6e.48xlarge"},
    NodeOf{"mi250x-gcd", 8, "frontier"},
    NodeOf{"mi300x", 8, "azure-nd96isr-mi300x-v5"},
    NodeOf{"mi325x", 8, "mi325x-platform-8"},
    NodeOf{"mi350x", 8, "mi350x-platform-8"},
    NodeOf{"mi355x", 8, "mi355x-platform-8"},
    NodeOf{"gaudi2", 8, "hls-gaudi2"},
    NodeOf{"gaudi3", 8, "hls-gaudi3"},
    // Tables of AWS name the chip and count what its software counts, NeuronCores.
    NodeOf{"trainium1", 32, "aws-trn1.32xlarge"},
    NodeOf{"trainium2", 64, "aws-trn2.48xlarge"},
    NodeOf{"tpu-v2", 4, "tpu-v2-host"},
    NodeOf{"tpu-v3", 4, "tpu-v3-host"},
    NodeOf{"tpu-v4", 4, "tpu-v4-host"},
    NodeOf{"tpu-v5e", 4, "tpu-v5e-host"},
    NodeOf{"tpu-v5p", 4, "tpu-v5p-host"},
    NodeOf{"tpu-v6e", 8, "tpu-v6e-host"},
    NodeOf{"tpu-v7x", 4, "tpu-v7x-host"},
    NodeOf{"a100-sxm-80gb", 4, "dgx-a100-80gb-4-of-8"},
    NodeOf{"a100-sxm-80gb", 2, "dgx-a100-80gb-2-of-8"},
    NodeOf{"a100-sxm-80gb", 1, "dgx-a100-80gb-1-of-8"},
    NodeOf{"h100-sxm-80gb", 4, "dgx-h100-4-of-8"},
    NodeOf{"h100-sxm-80gb", 2, "dgx-h100-2-of-8"},
    NodeOf{"h100-sxm-80gb", 1, "dgx-h100-1-of-8"},
    NodeOf{"h200-sxm-141gb", 4, "dgx-h200-4-of-8"},
    NodeOf{"h200-sxm-141gb", 2, "dgx-h200-2-of-8"},
    NodeOf{"h200-sxm-141gb", 1, "dgx-h200-1-of-8"},
    NodeOf{"b200-sxm-180gb", 4, "dgx-b200-4-of-8"},
    NodeOf{"b200-sxm-180gb", 2, "dgx-b200-2-of-8"},
    NodeOf{"b200-sxm-180gb", 1, "dgx-b200-1-of-8"},
    NodeOf{"v100-sxm2-32gb", 4, "dgx-1-v100-32gb-4-of-8"},
    NodeOf{"v100-sxm2-32gb", 2, "dgx-1-v100-32gb-2-of-8"},
    NodeOf{"v100-sxm2-32gb", 1, "dgx-1-v100-32gb-1-of-8"},
    NodeOf{"mi300x", 1, "mi300x-platform-8-1-of-8"},
};

// Servers of four of the V100s that others put eight of into one; Jean Zay's are the only ones of these tables.
constexpr NodeOf kQuads{"v100-sxm2-32gb", 4, "jean-zay-v100-4"};

// Racks whose GPUs all share one NVLink domain, whatever their hosts hold: the largest part that comes out even.
constexpr std::array kRacks{
    NodeOf{"gb200", 72, "gb200-nvl72"},          NodeOf{"gb200", 64, "gb200-nvl72-64-of-72"},
    NodeOf{"gb200", 36, "gb200-nvl72-36-of-72"}, NodeOf{"gb200", 32, "gb200-nvl72-32-of-72"},
    NodeOf{"gb200", 16, "gb200-nvl72-16-of-72"}, NodeOf{"gb200", 8, "gb200-nvl72-8-of-72"},
    NodeOf{"gb200", 4, "gb200-nvl72-4-of-72"},   NodeOf{"gb300", 72, "gb300-nvl72"},
    NodeOf{"gb300", 64, "gb300-nvl72-64-of-72"}, NodeOf{"gb300", 36, "gb300-nvl72-36-of-72"},
    NodeOf{"gb300", 32, "gb300-nvl72-32-of-72"}, NodeOf{"gb300", 16, "gb300-nvl72-16-of-72"},
    NodeOf{"gb300", 8, "gb300-nvl72-8-of-72"},   NodeOf{"gb300", 4, "gb300-nvl72-4-of-72"},
};

/// Slices that the catalogue of runs has: each a torus, so one node. The largest of a kind is its pod.
constexpr std::array kSlices{
    NodeOf{"tpu-v4", 4096, "tpu-v4-slice-4096"},   NodeOf{"tpu-v4", 2048, "tpu-v4-slice-2048"},
    NodeOf{"tpu-v4", 1024, "tpu-v4-slice-1024"},   NodeOf{"tpu-v4", 512, "tpu-v4-slice-512"},
    NodeOf{"tpu-v4", 256, "tpu-v4-slice-256"},     NodeOf{"tpu-v4", 128, "tpu-v4-slice-128"},
    NodeOf{"tpu-v4", 64, "tpu-v4-slice-64"},       NodeOf{"tpu-v5e", 256, "tpu-v5e-slice-256"},
    NodeOf{"tpu-v5e", 128, "tpu-v5e-slice-128"},   NodeOf{"tpu-v5e", 64, "tpu-v5e-slice-64"},
    NodeOf{"tpu-v5e", 32, "tpu-v5e-slice-32"},     NodeOf{"tpu-v5e", 16, "tpu-v5e-slice-16"},
    NodeOf{"tpu-v5p", 6144, "tpu-v5p-slice-6144"}, NodeOf{"tpu-v5p", 4096, "tpu-v5p-slice-4096"},
    NodeOf{"tpu-v5p", 2048, "tpu-v5p-slice-2048"}, NodeOf{"tpu-v5p", 1536, "tpu-v5p-slice-1536"},
    NodeOf{"tpu-v5p", 1024, "tpu-v5p-slice-1024"}, NodeOf{"tpu-v5p", 512, "tpu-v5p-slice-512"},
    NodeOf{"tpu-v5p", 256, "tpu-v5p-slice-256"},   NodeOf{"tpu-v5p", 128, "tpu-v5p-slice-128"},
    NodeOf{"tpu-v5p", 64, "tpu-v5p-slice-64"},     NodeOf{"tpu-v6e", 256, "tpu-v6e-slice-256"},
    NodeOf{"tpu-v6e", 128, "tpu-v6e-slice-128"},   NodeOf{"tpu-v6e", 64, "tpu-v6e-slice-64"},
    NodeOf{"tpu-v6e", 32, "tpu-v6e-slice-32"},     NodeOf{"tpu-v6e", 16, "tpu-v6e-slice-16"},
    NodeOf{"tpu-v6e", 8, "tpu-v6e-slice-8"},       NodeOf{"tpu-v7x", 512, "tpu-v7x-slice-512"},
    NodeOf{"tpu-v7x", 256, "tpu-v7x-slice-256"},   NodeOf{"tpu-v7x", 128, "tpu-v7x-slice-128"},
    NodeOf{"tpu-v7x", 64, "tpu-v7x-slice-64"},
};

/// Every server and part of one that the catalogue has; the first of each accelerator and count by id.
const std::map<std::pair<std::string, long>, std::string>& catalogue_servers() {
  static const auto kFound = [] {
    std::map<std::pair<std::string, long>, std::string> out;
    for (const char* folder : {"hardware-catalog/nodes", "calibration/data/catalog/nodes"}) {
      std::map<std::string, std::filesystem::path> files;
      for (const auto& entry : std::filesystem::directory_iterator(data_directory(folder)))
        files.emplace(entry.path().stem().string(), entry.path());
      for (const auto& [id, file] : files) {
        Diagnostics diagnostics(file.string());
        const Json node = read_json(file, diagnostics);
        diagnostics.throw_if_faulty();
        if (node.contains("accelerator"))
          out.emplace(std::pair(node.at("accelerator").get<std::string>(), node.value("accelerator_count", 0L)), id);
      }
    }
    return out;
  }();
  return kFound;
}

/// A server for which no table above has a choice to make.
std::optional<NodeOf> any_server(std::string_view accelerator, long per_node) {
  const auto found = catalogue_servers().find({std::string(accelerator), per_node});
  if (found == catalogue_servers().end()) return std::nullopt;
  return NodeOf{found->first.first, per_node, found->second};
}

std::optional<NodeOf> find_node(std::string_view accelerator, long gpus, long gpus_per_node) {
  for (const NodeOf& rack : kRacks)
    if (rack.accelerator == accelerator && gpus % rack.gpus == 0) return rack;
  if (accelerator == kQuads.accelerator && gpus_per_node == kQuads.gpus && gpus > kQuads.gpus)
    return gpus % kQuads.gpus == 0 ? std::optional(kQuads) : std::nullopt;
  const long per_node = std::min(gpus, gpus_per_node);
  for (const NodeOf& node : kNodes)
    if (node.accelerator == accelerator && node.gpus == per_node && gpus % per_node == 0) return node;
  // Rows that name hosts of another size than the catalogue's (TPU) still fill whole ones.
  const bool host = accelerator.find("tpu") == 0;
  for (const NodeOf& node : kNodes)
    if (host && node.accelerator == accelerator && gpus % node.gpus == 0) return node;
  return gpus % per_node == 0 ? any_server(accelerator, per_node) : std::nullopt;
}

}  // namespace

Json cluster_of(std::string_view accelerator, long gpus, long gpus_per_node,
                const std::optional<StatedNetwork>& network) {
  const std::optional<NodeOf> node = find_node(accelerator, gpus, gpus_per_node);
  if (!node) return nullptr;
  Json cluster{{"node", node->node}, {"nodes", gpus / node->gpus}};
  if (node->power_cap_W > 0) cluster["power_cap_W"] = node->power_cap_W;
  if (network)
    cluster["fabric"] = {{"nics_per_node", network->nics_per_node},
                         {"nic_bandwidth_Gbps", network->nic_bandwidth_Gbps},
                         {"network", network->kind}};
  return cluster;
}

std::string no_cluster(std::string_view accelerator, long gpus, long gpus_per_node) {
  std::vector<long> sizes;
  for (const auto& [server, id] : catalogue_servers())
    if (server.first == accelerator) sizes.push_back(server.second);
  for (const NodeOf& rack : kRacks)
    if (rack.accelerator == accelerator) sizes.push_back(rack.gpus);
  if (sizes.empty()) {
    const std::string hint = accelerator_hint(accelerator);
    return fmt::format("no server of the catalogue stands for \"{}\"{}", accelerator, hint.empty() ? "" : ": " + hint);
  }
  const long per_node = std::min(gpus, gpus_per_node);
  std::sort(sizes.begin(), sizes.end());
  if (gpus % per_node != 0) return fmt::format("{} GPUs do not fill servers of {}", gpus, per_node);
  return fmt::format("no server of the catalogue has {} of {}, there are ones of {}", per_node, accelerator,
                     fmt::join(sizes, ", "));
}

Json cluster_of_machine(const std::string& text, std::string_view accelerator, long gpus) {
  struct Machine {
    std::string_view words;
    NodeOf node;
  };
  constexpr std::array kMachines{Machine{"A3 Mega", {"h100-sxm-80gb", 8, "gcp-a3-megagpu-8g"}},
                                 Machine{"A3 Ultra", {"h200-sxm-141gb", 8, "gcp-a3-ultragpu-8g"}},
                                 Machine{"GCP A3", {"h100-sxm-80gb", 8, "gcp-a3-highgpu-8g"}},
                                 Machine{"GCP A4", {"b200-sxm-180gb", 8, "gcp-a4-highgpu-8g"}}};
  for (const Machine& machine : kMachines)
    if (text.find(machine.words) != std::string::npos && machine.node.accelerator == accelerator &&
        gpus % machine.node.gpus == 0)
      return {{"node", machine.node.node}, {"nodes", gpus / machine.node.gpus}};
  return nullptr;
}

Json cluster_of_slices(std::string_view accelerator, long chips, long slices) {
  for (const NodeOf& slice : kSlices) {
    if (slice.accelerator != accelerator || chips % (slice.gpus * slices) != 0) continue;
    return {{"node", slice.node}, {"nodes", chips / slice.gpus}};
  }
  return nullptr;
}

double dense_peak_tflops(const std::string& accelerator) {
  for (const char* folder : {"hardware-catalog/accelerators", "calibration/data/catalog/accelerators"}) {
    const std::filesystem::path file = data_directory(folder) / (accelerator + ".json");
    if (!std::filesystem::exists(file)) continue;
    Diagnostics diagnostics(file.string());
    const Json part = read_json(file, diagnostics);
    diagnostics.throw_if_faulty();
    return part.at("peak_TFLOPS").value("bf16", part.at("peak_TFLOPS").value("fp16", 0.0));
  }
  return 0;
}

}  // namespace stepcast
