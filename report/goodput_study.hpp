#pragma once

#include <string>
#include <vector>

#include "models/reliability/goodput.hpp"

namespace stepcast {

/// Goodput of one run under one change.
struct GoodputPoint {
  Seconds interval;
  double rate_factor = 1;
  double mean = 0, p05 = 0, p95 = 0;
  double formula = 0;  ///< Daly's
  double interruptions = 0;
};

/// How goodput follows from the interval between checkpoints and from the rate of failures.
struct GoodputStudy {
  Seconds work;
  std::optional<Seconds> between_interruptions, young, daly, best_by_formula;
  std::optional<Seconds> best_simulated;  ///< of the intervals tried
  CheckpointCost checkpoint;
  std::vector<GoodputPoint> intervals;
  std::vector<GoodputPoint> rates;  ///< each at its own best interval, or at the stated one
  int trials = 0;
  std::string basis;
};

/// Simulates every interval and rate with the same seed, so that they differ in nothing else. `workers` threads; the
/// result does not depend on how many.
GoodputStudy study_goodput(const RunRisk& risk, const RunSpec& run, int workers);

std::string text_report(const GoodputStudy& study);
Json to_json(const GoodputStudy& study);

}  // namespace stepcast
