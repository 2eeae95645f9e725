#include "models/least_step.hpp"

#include <algorithm>

namespace stepcast {

Seconds least_step_time(const Job& job) {
  const Degrees& degrees = job.scenario->degrees;
  std::vector<Seconds> stage(static_cast<std::size_t>(degrees.pp));
  for (const Chunk& chunk : job.chunks)
    stage[static_cast<std::size_t>(chunk.stage)] += chunk.forward + chunk.backward_input + chunk.backward_weight;
  const Seconds busiest = *std::max_element(stage.begin(), stage.end());
  return static_cast<double>(degrees.micro_batches) * busiest + job.optimizer + job.scenario->framework->step_overhead;
}

}  // namespace stepcast
