#pragma once

#include <string>
#include <vector>

#include "models/reliability/goodput.hpp"

namespace stepcast {

/// Goodput of one run under one change.
struct GoodputPoint {
  Seconds interval;                   ///< between two checkpoints
  double rate_factor = 1;             ///< rates of failures over the scenario's
  double mean = 0, p05 = 0, p95 = 0;  ///< goodput over the trials; p05: exceeded by 95 of 100, p95: by 5
  double formula = 0;                 ///< Daly's
  double interruptions = 0;           ///< of the run, mean
};

/// How goodput follows from the interval between checkpoints and from the rate of failures.
struct GoodputStudy {
  Seconds work;  ///< of the run when nothing goes wrong
  std::optional<Seconds> between_interruptions, young, daly, best_by_formula;
  std::optional<Seconds> best_simulated;  ///< of the intervals tried
  CheckpointCost checkpoint;
  std::vector<GoodputPoint> intervals;
  std::vector<GoodputPoint> rates;  ///< each at its own best interval, or at the stated one
  int trials = 0;                   ///< of each point
  std::string basis;                ///< where the rates come from, in words
};

/// Simulates every interval and rate with the same seed, so that they differ in nothing else. `workers` threads; the
/// result does not depend on how many.
GoodputStudy study_goodput(const RunRisk& risk, const RunSpec& run, int workers);

std::string text_report(const GoodputStudy& study);
Json to_json(const GoodputStudy& study);

}  // namespace stepcast
