#pragma once

#include <string>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// How often a job on the scenario's nodes is disturbed, for one node: the mean where they are of
/// several kinds.
struct FailureRates {
  int nodes = 1;              ///< that disturb it: those that train, and those of parameter servers
  PerSecond interruptions;    ///< unexpected: hardware, network, software, maintenance
  double replaced_share = 0;  ///< of them, after which the node is taken out
  PerSecond spot;             ///< instances that the provider takes back
  PerSecond slow;             ///< onsets of slowness
  PerSecond flaps;            ///< of links
  std::string basis;          ///< which published figures, for people
};

/// Of a federation they are the server's, which alone holds the state: its clients come and go.
/// Rates by `run.reliability`, else by published figures: failures of accelerators and of the rest of a node apart
/// (docs/models/reliability.md). Nodes of parameter servers count as those that train do, as they hold its state;
/// actors hold none, so that what becomes of them disturbs no training.
FailureRates failure_rates(const Scenario& scenario, const Catalog& catalog);

}  // namespace stepcast
