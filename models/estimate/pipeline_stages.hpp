#pragma once

#include <vector>

#include "models/estimate/replica_stages.hpp"
#include "models/estimate/step_account.hpp"
#include "models/parallelism/message.hpp"
#include "models/parallelism/pipeline_time.hpp"

namespace stepcast {

/// The stages of a pipeline with the messages between them, and how long the pipeline takes.
class PipelineStages {
 public:
  explicit PipelineStages(const ReplicaStages& stages);

  /// What each stage takes for a micro-batch, waits for its own sends included.
  [[nodiscard]] const std::vector<StageTime>& times() const { return times_; }
  /// Of handing a micro-batch from one chunk to the next, on average; 0 where a stage waits for its sends.
  [[nodiscard]] Seconds message() const { return message_; }
  /// Of handing a micro-batch once around all stages, what crosses nodes.
  [[nodiscard]] Seconds messages_around() const;
  /// From the first forward to the last backward pass.
  [[nodiscard]] Seconds time() const { return time_of(times_); }
  /// The same of stages that take other times.
  [[nodiscard]] Seconds time_of(const std::vector<StageTime>& times) const;
  /// Until a stage's first backward pass begins, beside its own forward pass: those of a micro-batch on the stages
  /// before, and there and back on those behind, one chunk of each.
  [[nodiscard]] Seconds before_gradients(const std::vector<StageTime>& times, std::size_t stage) const;
  /// Until a stage's first forward pass begins: those of the first chunk of the stages before it.
  [[nodiscard]] Seconds fill_before(std::size_t stage) const;
  /// From a stage's last backward pass to the end of the pipeline's: the gradients of the stages before it.
  [[nodiscard]] Seconds drain_before(std::size_t stage) const;
  /// Adds the messages' time; what stages do not wait for counts as hidden.
  void add_messages(StepAccount& account) const;
  /// Splits what stages wait until the pipeline's end, after so long, into exposed messages and bubble.
  void add_waiting(StepAccount& account, Seconds pipeline_end) const;

 private:
  /// What one stage hands to another, and how long it takes.
  struct Boundary {
    Message message;
    Seconds time;
  };
  /// Every stage sends an activation and a gradient for each of its boundaries.
  void hand_over();
  /// The boundary at which an earlier chunk hands over as this one does to the next; null where none does.
  [[nodiscard]] const Boundary* like_earlier(std::size_t chunk) const;
  /// As slow as the slower end makes it.
  [[nodiscard]] Boundary boundary_between(int from, int to, Bytes bytes) const;

  const ReplicaStages& stages_;
  std::vector<StageTime> times_;
  std::vector<Boundary> boundaries_;  ///< from each stage to the next
  LinkPeriod link_;
  Seconds message_;
  Seconds handed_over_;  ///< of one micro-batch over all chunks, one way
};

}  // namespace stepcast
