#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>

#include "sweeps/executor.hpp"
#include "sweeps/result_store.hpp"

namespace stepcast {

/// How far a sweep is.
struct SweepProgress {
  StoreCounts counts;         ///< in the store, rows of earlier runs included
  std::int64_t computed = 0;  ///< by this run
  double seconds = 0;         ///< of this run
  [[nodiscard]] double per_second() const { return seconds > 0 ? static_cast<double>(computed) / seconds : 0; }
  /// Seconds until the end at this rate; below zero while it is not known.
  [[nodiscard]] double seconds_left() const {
    return computed > 0 ? static_cast<double>(counts.points - counts.done()) / per_second() : -1;
  }
};

struct SweepOptions {
  std::filesystem::path store;
  StoreMode mode = StoreMode::fresh;
  bool retry_failed = false;  ///< rows whose evaluation broke are computed again
  int jobs = 0;               ///< evaluations at a time; 0: one a processor
  /// Called several times a second while rows come, and once at the end; never twice at once, from any thread.
  std::function<void(const SweepProgress&)> progress;
  std::stop_token stop;  ///< what is half computed is dropped, what is computed is stored
};

struct SweepOutcome {
  SweepProgress progress;
  bool stopped = false;  ///< by the token, with points left
};

/// Evaluates the points of a sweep that its store lacks, and stores them. Rows are committed a few times a second: a
/// process killed at any moment loses that much work and nothing else.
///
/// A configuration that is not legal, or whose evaluation breaks, is a row with its error. Throws as StoreWriter does,
/// and EnvironmentError when simulations cannot run here.
SweepOutcome run_sweep(const SweepDefinition& sweep, const SweepOptions& options);

/// How points are evaluated; run_sweep's is evaluate_locally.
using Executor = std::function<void(const SweepDefinition& sweep, PendingPoints& pending, int jobs, const RowSink& sink,
                                    const std::stop_token& stop)>;
SweepOutcome run_sweep(const SweepDefinition& sweep, const SweepOptions& options, const Executor& executor);

}  // namespace stepcast
