#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <vector>

#include "sweeps/definition.hpp"
#include "sweeps/row.hpp"

namespace stepcast {

/// The points that have no row yet, handed out in order. May be shared between threads.
class PendingPoints {
 public:
  explicit PendingPoints(std::vector<bool> done) : done_(std::move(done)) {}
  /// The next points, at most `most`; none when all have been handed out.
  std::vector<std::int64_t> take(std::size_t most);

 private:
  std::mutex mutex_;
  std::vector<bool> done_;
  std::size_t next_ = 0;
};

/// Takes rows, and stores them when it is time to; an empty call is such an occasion. From any thread, one at a time.
using RowSink = std::function<void(std::vector<SweepRow>)>;

/// Evaluates pending points until there are none or a stop is requested; then what is half done is dropped.
/// `jobs` at a time. Closed form: threads of this process.
void evaluate_here(const SweepDefinition& sweep, PendingPoints& pending, int jobs, const RowSink& sink,
                   const std::stop_token& stop);
/// Simulations: processes of stepcast-worker. Throws EnvironmentError when it cannot run here.
void evaluate_in_workers(const SweepDefinition& sweep, PendingPoints& pending, int jobs, const RowSink& sink,
                         const std::stop_token& stop);
/// Whichever of the two the definition asks for.
void evaluate_locally(const SweepDefinition& sweep, PendingPoints& pending, int jobs, const RowSink& sink,
                      const std::stop_token& stop);

}  // namespace stepcast
