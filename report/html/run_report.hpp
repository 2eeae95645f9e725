#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/cluster_cost.hpp"
#include "report/prediction.hpp"
#include "report/step_detail.hpp"

namespace stepcast {

/// Throughput at one size of the cluster, by the closed form; nothing where the size is not legal.
struct SizedThroughput {
  int nodes = 0;
  std::optional<double> strong, weak;  ///< samples/s with the batch as it is, and with the batch of a node as it is
};

/// What the page of one prediction shows.
struct RunPage {
  Prediction prediction;
  StepDetail detail;
  std::vector<SizedThroughput> sizes;  ///< ascending
  std::optional<ClusterCost> cost;     ///< null where a node has no price
  std::string cluster;                 ///< in words
  std::string scenario;                ///< its JSON, every default spelt out
  std::string command;                 ///< as typed
};

/// The report as one self-contained page.
std::string html_report(const RunPage& page);

/// Throughput on fewer and more nodes than the scenario's, by powers of two.
std::vector<SizedThroughput> throughput_by_size(const Scenario& scenario, const Catalog& catalog);

}  // namespace stepcast
