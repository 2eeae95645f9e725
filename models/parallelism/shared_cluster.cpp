#include "models/parallelism/shared_cluster.hpp"

#include <algorithm>

namespace stepcast {

namespace {

int nodes_of_leaf(const Scenario& scenario, int nodes) {
  const FabricLevels fabric = fabric_levels(scenario.spec.cluster.fabric, nodes, scenario.nics_per_node,
                                            scenario.nic_bandwidth, scenario.network_switch);
  return fabric.together();
}

std::vector<JobNodes> apart(std::span<const Scenario> jobs, int leaf) {
  std::vector<JobNodes> out;
  int next = 0;
  for (const Scenario& job : jobs) {
    out.push_back({next, 1, 0});
    next += (job.spec.cluster.nodes + leaf - 1) / leaf * leaf;
  }
  for (JobNodes& job : out) job.of = next;
  return out;
}

}  // namespace

std::vector<JobNodes> place_jobs(std::span<const Scenario> jobs, JobMixing mixing) {
  const auto count = static_cast<int>(jobs.size());
  if (mixing == JobMixing::interleaved) {
    int most = 0;
    for (const Scenario& job : jobs) most = std::max(most, job.spec.cluster.nodes);
    std::vector<JobNodes> out;
    out.reserve(count);
    for (int j = 0; j < count; ++j) out.push_back({j, count, most * count});
    return out;
  }
  int sum = 0;
  for (const Scenario& job : jobs) sum += job.spec.cluster.nodes;
  // Rounding up to whole leaves may make the fabric larger, and its leaves with it.
  const std::vector<JobNodes> first = apart(jobs, nodes_of_leaf(jobs.front(), sum));
  return apart(jobs, nodes_of_leaf(jobs.front(), first.front().of));
}

void check_same_fabric(std::span<const Scenario> jobs, JobMixing mixing, Diagnostics& diagnostics) {
  // How a job's ranks lie on its own nodes is its own affair.
  const auto fabric_of = [](const Scenario& job) {
    FabricSpec spec = job.spec.cluster.fabric;
    spec.placement = FabricPlacement::packed;
    spec.node_order.clear();
    return FabricSpec::fields().write(spec);
  };
  const Scenario& first = jobs.front();
  const FabricPreset preset = first.spec.cluster.fabric.preset;
  if (mixing == JobMixing::interleaved && (preset == FabricPreset::torus_2d || preset == FabricPreset::torus_3d))
    diagnostics.error("/mixing", "found interleaved on a torus, where each job has a slice of its own", "apart");
  for (std::size_t j = 1; j < jobs.size(); ++j) {
    const std::string pointer = fmt::format("/jobs/{}/cluster/fabric", j);
    if (fabric_of(jobs[j]) != fabric_of(first)) {
      diagnostics.error(pointer, "is not the fabric of the first job, and jobs share one", "state the same fabric");
    } else if (jobs[j].nics_per_node != first.nics_per_node || jobs[j].nic_bandwidth != first.nic_bandwidth ||
               jobs[j].network != first.network) {
      diagnostics.error(pointer, "this job's nodes have other NICs than the first job's, whose fabric they share",
                        "state nics_per_node, nic_bandwidth_Gbps and network alike for both");
    }
  }
}

}  // namespace stepcast
