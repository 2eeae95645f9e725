#pragma once

#include <vector>

#include "models/scenario/scenario.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// One pipeline rank's work for one micro-batch over all its chunks, nothing to wait for.
struct StageTime {
  Seconds forward, backward_input, backward_weight;  ///< passes; the backward one with respect to inputs and weights
  Seconds saved;                                     ///< over all micro-batches, where passes are merged
  Seconds message;  ///< of handing a micro-batch to the next stage, or its gradient back
  [[nodiscard]] Seconds backward() const { return backward_input + backward_weight; }
  [[nodiscard]] Seconds total() const { return forward + backward(); }
  /// In a step of so many micro-batches.
  [[nodiscard]] Seconds busy(double micro_batches) const { return micro_batches * total() - saved; }
};

/// How long the busiest link of a pipeline's messages is occupied for a micro-batch: by those forward, by those
/// backward, and by both.
struct LinkPeriod {
  Seconds forward, backward, both;
};

/// Time from the first forward to the last backward pass of a pipeline, in closed form.
///
/// `message` is the time of handing one micro-batch from one chunk to the next, on average. 1f1b and zero-bubble are
/// played (`played_pipeline`). With the others fill and drain cross every stage once; in between, the period of a
/// micro-batch is set by the slowest stage. No period is shorter than the busiest link's (docs/models/estimate.md).
/// Merged passes shorten it by what the stage with the most work saves, and lengthen it by a
/// message in every slot.
Seconds pipeline_time(PipelineSchedule schedule, const std::vector<StageTime>& stages, int chunks, long micro_batches,
                      Seconds message, const LinkPeriod& link = {});

}  // namespace stepcast
