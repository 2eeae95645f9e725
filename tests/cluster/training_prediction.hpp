#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "tests/cluster/training_graph.hpp"
#include "tests/e2e/process.hpp"

namespace stepcast {

/// Hosts of one process and one shaped port each, for commands that take `--node`.
inline std::vector<std::string> shaped_hosts(const std::string& gbps) {
  return {"--node", "rental-epyc-7502p-128gb",
          "--set",  "cluster.fabric.nics_per_node=1",
          "--set",  "cluster.fabric.nic_bandwidth_Gbps=" + gbps,
          "--set",  "cluster.fabric.network=ethernet_tcp"};
}

/// Mean error in per cent of `run --graph --calibration` on the steps of a result file of the training loop; prints
/// each.
inline double training_error(const Json& measured, const std::string& calibration, const std::string& gbps) {
  const ScratchFolder folder;
  double sum = 0;
  for (const Json& row : measured["results"]) {
    const std::string graph = (folder / "step.json").string();
    std::ofstream(graph) << training_graph(row).dump();
    std::vector<std::string> words{"run", "--graph", graph, "--json", "--calibration", calibration};
    for (const std::string& word : shaped_hosts(gbps)) words.push_back(word);
    words.emplace_back("--nodes");
    words.push_back(row["nodes"].dump());
    const Finished run = stepcast_run(words);
    EXPECT_EQ(run.code, 0) << run.err;
    if (run.code != 0) return 1e9;
    const double step = median_of(row["samples_us"]) * 1e-6, forecast = run.json()["step_time_s"].get<double>();
    sum += std::abs(forecast / step - 1);
    std::cout << setting_of(row) << ": " << 1e3 * step << " ms measured, " << 1e3 * forecast << " ms predicted ("
              << 100 * (forecast / step - 1) << " %)\n";
  }
  return 100 * sum / static_cast<double>(measured["results"].size());
}

}  // namespace stepcast
