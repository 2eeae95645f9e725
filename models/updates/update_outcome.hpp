#pragma once

#include <optional>
#include <string>
#include <vector>

#include "units/quantity.hpp"

namespace stepcast {

/// How many updates of others a gradient has missed when it is applied.
struct Staleness {
  double mean = 0, p95 = 0, most = 0;  ///< updates
  std::vector<double> shares;  ///< share of the gradients that missed 0, 1, 2 … updates; the last: so many or more
};

/// Actors that generate what learners train on.
struct ActorOutcome {
  int copies = 0;            ///< of the model that generate
  double samples_per_s = 0;  ///< that all of them could generate, with as many under way as they may have
  double under_way = 0;      ///< samples on a copy, mean: the staleness bound may allow fewer than it could have
  double idle = 0;           ///< share of their time in which they have none
  Seconds sample;            ///< to generate one sample, mean
  Seconds broadcast;         ///< of a step's weights to all actors
};

/// What an update mode other than an all-reduce in every step does, by simulation of its workers (models/updates).
struct UpdateOutcome {
  std::string mode;  ///< as `strategy.update`, or that actors generate, in words
  int workers = 0, servers = 0;
  Bytes sent_per_worker;          ///< in a step, through the network
  Bytes received_per_worker;      ///< the same
  double server_busy = 0;         ///< share of time in which the busiest server's link is in use
  double most_ahead = 0;          ///< steps that the fastest worker began before the slowest had, at most
  double dropped_share = 0;       ///< gradients that came too late (backup workers)
  double steps_per_exchange = 1;  ///< local steps between two exchanges
  Seconds exchange;               ///< from a worker's first byte to its last, mean
  std::optional<Staleness> staleness;
  std::optional<ActorOutcome> actors;
};

}  // namespace stepcast
