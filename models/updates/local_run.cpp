#include "models/updates/local_run.hpp"

#include <algorithm>

#include "models/updates/random_draw.hpp"

namespace stepcast {

namespace {
constexpr int kLocalRounds = 20;
/// Steps of a round that are drawn one by one; longer rounds repeat them, which overstates their spread a little.
constexpr int kMostDrawnSteps = 64;
}  // namespace

LocalRun run_local(const LocalJob& job) {
  const RandomDraw draw(job.seed);
  const int drawn = std::min(job.steps, kMostDrawnSteps);
  Seconds slowest_sum, mean_sum;
  for (int round = 0; round < kLocalRounds; ++round) {
    Seconds slowest, mean;
    for (int w = 0; w < job.workers; ++w) {
      const auto worker = static_cast<std::uint64_t>(w);
      double factor = 0;
      for (int step = 0; step < drawn; ++step)
        factor += draw.factor(job.noise.step, worker, static_cast<std::uint64_t>(round * drawn + step) + 2);
      const Seconds time = job.busy * (draw.factor(job.noise.worker, worker, 0) * factor * job.steps / drawn);
      slowest = std::max(slowest, time);
      mean += time / static_cast<double>(job.workers);
    }
    slowest_sum += slowest;
    mean_sum += mean;
  }
  const double steps = static_cast<double>(kLocalRounds) * job.steps;
  return {slowest_sum / steps + job.exchange / static_cast<double>(job.steps), (slowest_sum - mean_sum) / steps};
}

}  // namespace stepcast
