#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

inline double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The step of a `training_step` row of the MPI probe as a step graph (docs/formats/step-graph.md): layers forward and
/// backward, and a sum of each bucket when its last gradient is there, or all of them at the end. Computation takes as
/// long as its own clock says, for a sleep on a busy machine ends late; nothing else that was measured of the step goes
/// into it.
inline Json training_graph(const Json& row) {
  const int layers = row["layers"];
  const double asked_forward = row["forward_us_per_layer"], asked_backward = row["backward_us_per_layer"];
  const double late = median_of(row["compute_samples_us"]) / (layers * (asked_forward + asked_backward));
  const auto layer_bytes = row["gradient_bytes_per_layer"].get<long>(), bucket_bytes = row["bucket_bytes"].get<long>();
  Json operations = Json::array();
  int id = 0;
  const auto compute = [&](const char* name, double us) {
    Json operation{{"id", ++id}, {"kind", "compute"}, {"name", name}, {"duration_us", us * late}};
    if (id > 1) operation["after"] = {id - 1};
    operations.push_back(std::move(operation));
  };
  for (int layer = 0; layer < layers; ++layer) compute("forward", asked_forward);
  std::vector<std::pair<long, int>> buckets;  // bytes, and the computation that they wait for
  long filled = 0;
  for (int layer = layers - 1; layer >= 0; --layer) {
    compute("backward", asked_backward);
    filled += layer_bytes;
    if (filled < bucket_bytes && layer > 0) continue;
    buckets.emplace_back(filled, id);
    filled = 0;
  }
  const int computed = id;
  const bool overlapped = row["overlap"] != "none";
  for (const auto& [bytes, last] : buckets) {
    Json sum{{"id", ++id}, {"kind", "collective"}, {"collective", "all_reduce"}, {"size_bytes", bytes}};
    sum["after"] = {overlapped ? last : computed};
    operations.push_back(std::move(sum));
  }
  Json ranks = Json::array();
  for (int rank = 0; rank < row["ranks"].get<int>(); ++rank) ranks.push_back(rank);
  Json program{{"ranks", std::move(ranks)}, {"operations", std::move(operations)}};
  Json out{{"format_version", 1}, {"name", "training loop"}, {"ranks", row["ranks"]}};
  out["programs"] = Json::array({std::move(program)});
  return out;
}

/// "6 layers of 131072 B in buckets of 262144 B, thread, 3 hosts"
inline std::string setting_of(const Json& row) {
  return row["layers"].dump() + " layers of " + row["gradient_bytes_per_layer"].dump() + " B in buckets of " +
         row["bucket_bytes"].dump() + " B, overlap " + row["overlap"].get<std::string>() + ", " + row["nodes"].dump() +
         " hosts";
}

}  // namespace stepcast
