#pragma once

#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// One change of settings that a user would try next.
struct SettingChange {
  std::string name;                ///< "micro_batch 2 → 4"
  std::vector<std::string> words;  ///< as `--set` takes them: "strategy.micro_batch=4"
  bool one_more_nic = false;
  bool evens_nodes = false;  ///< it makes nodes alike that are not
};

/// The neighbours of a scenario: each parallel degree, batch, schedule, sharding, recomputation and overlap one step
/// further, more or fewer nodes and NICs, and nodes that are all alike. Some may be illegal; whoever resolves them
/// finds out.
std::vector<SettingChange> setting_changes(const Scenario& scenario);

/// The document with a change made. What follows from the device count and would contradict it (`data_parallel`, and
/// `stage_layers` when the pipeline changes) is left to follow again.
Json changed_document(Json document, const SettingChange& change);

}  // namespace stepcast
