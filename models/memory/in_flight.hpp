#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Most micro-batches (times chunks) whose activations one pipeline rank holds at once, in closed form. Equal to
/// most_in_flight(pipeline_order(…)), which walks the schedule; a test holds the two together. `merged` as there.
int in_flight(PipelineSchedule schedule, int stage, int stages, int chunks, int micro_batches, bool merged = false);

/// How many of these belong to one chunk of the rank when the most are held for the first time.
int in_flight_of_chunk(PipelineSchedule schedule, int chunk, int stage, int stages, int chunks, int micro_batches,
                       bool merged = false);

}  // namespace stepcast
