#pragma once

#include <string>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// How often a job on the scenario's nodes is disturbed, for one node: the mean where they are of
/// several kinds.
struct FailureRates {
  PerSecond interruptions;    ///< unexpected: hardware, network, software, maintenance
  double replaced_share = 0;  ///< of them, after which the node is taken out
  PerSecond spot;             ///< instances that the provider takes back
  PerSecond slow;             ///< onsets of slowness
  PerSecond flaps;            ///< of links
  std::string basis;          ///< which published figures, for people
};

/// Of a federation they are the server's, which alone holds the state: its clients come and go.
/// Rates by `run.reliability`, else by published figures: failures of accelerators and of the rest of a node apart
/// (docs/models/reliability.md).
FailureRates failure_rates(const Scenario& scenario, const Catalog& catalog);

}  // namespace stepcast
