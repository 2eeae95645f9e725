#include "models/memory/in_flight.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// The forward passes before the first backward pass, and one more.
int interleaved_in_flight(int stage, int stages, int chunks, int micro_batches, int more) {
  const long total = static_cast<long>(micro_batches) * chunks;
  // With one group of micro-batches only, every forward pass runs first (models/parallelism/schedule.cpp).
  const long all = micro_batches == stages ? total : 2L * (stages - stage - 1) + (chunks - 1L) * stages + 1 + more;
  return static_cast<int>(std::min(total, all));
}

}  // namespace

int in_flight(PipelineSchedule schedule, int stage, int stages, int chunks, int micro_batches, bool merged) {
  const int more = merged ? 1 : 0;
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return micro_batches;
    case PipelineSchedule::one_f_one_b:
      return std::min(stages - stage + more, micro_batches);
    case PipelineSchedule::interleaved:
      return interleaved_in_flight(stage, stages, chunks, micro_batches, more);
    case PipelineSchedule::zero_bubble:
      // Weight gradients lag by the rank's distance from the front, which evens out the stages.
      return std::min(stages, micro_batches);
  }
  return micro_batches;
}

int in_flight_of_chunk(PipelineSchedule schedule, int chunk, int stage, int stages, int chunks, int micro_batches,
                       bool merged) {
  const int all = in_flight(schedule, stage, stages, chunks, micro_batches, merged);
  if (schedule != PipelineSchedule::interleaved) return all;
  // Micro-batches go in groups of `stages` through one chunk after another.
  const int round = stages * chunks;
  return all / round * stages + std::clamp(all % round - chunk * stages, 0, stages);
}

}  // namespace stepcast
