#include "models/estimate/pipeline_stages.hpp"

#include <algorithm>

#include "models/parallelism/message_links.hpp"

namespace stepcast {

PipelineStages::PipelineStages(const ReplicaStages& stages) : stages_(stages), times_(stages.count()) {
  const std::vector<Chunk>& chunks = stages.job().chunks;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const Chunk& chunk = stages.at(static_cast<std::size_t>(chunks[c].stage)).chunks[c];
    StageTime& stage = times_[static_cast<std::size_t>(chunk.stage)];
    stage.forward += chunk.forward;
    stage.backward_input += chunk.backward_input;
    stage.backward_weight += chunk.backward_weight;
    if (chunk.saved > Seconds(0)) stage.saved += chunk.saved * stages.merged_of_chunk(chunk.stage);
  }
  hand_over();
}

void PipelineStages::hand_over() {
  const std::size_t count = stages_.count();
  if (count < 2) return;
  const std::vector<Chunk>& chunks = stages_.job().chunks;
  const bool overlap = stages_.scenario().framework->overlap_pipeline_messages;
  const std::size_t boundaries = chunks.size() - 1;
  MessageLinks links(stages_.job(), stages_.replicas());
  boundaries_.reserve(count);
  for (std::size_t c = 0; c < boundaries; ++c) {
    const int from = chunks[c].stage;
    const int to = chunks[c + 1].stage;
    if (c < count) {
      const Boundary* same = like_earlier(c);
      boundaries_.push_back(same ? Boundary(*same) : boundary_between(from, to, chunks[c].send));
      const Boundary& boundary = boundaries_.back();
      const std::size_t times = (boundaries - c - 1) / count + 1;
      links.add(boundary.message, boundary.time, from, to, static_cast<double>(times));
    }
    const Seconds time = boundaries_[c % count].time;
    handed_over_ += time;
    // A rank that waits for its own sends works that much longer.
    if (!overlap) {
      times_[static_cast<std::size_t>(from)].forward += time;
      times_[static_cast<std::size_t>(to)].backward_input += time;
    }
  }
  link_ = links.period();
  if (!overlap) return;
  message_ = handed_over_ / static_cast<double>(boundaries);
  for (std::size_t s = 0; s + 1 < count; ++s) times_[s].message = boundaries_[s].time;
}

const PipelineStages::Boundary* PipelineStages::like_earlier(std::size_t chunk) const {
  const std::vector<Chunk>& chunks = stages_.job().chunks;
  const auto job = [&](std::size_t at) { return &stages_.at(static_cast<std::size_t>(chunks[at].stage)); };
  const GroupShape pair = message_pair(*job(chunk), chunks[chunk].stage, chunks[chunk + 1].stage);
  for (std::size_t other = boundaries_.size(); other-- > 0;)
    if (chunks[other].send == chunks[chunk].send && job(other) == job(chunk) && job(other + 1) == job(chunk + 1) &&
        boundaries_[other].message.pair == pair)
      return &boundaries_[other];
  return nullptr;
}

PipelineStages::Boundary PipelineStages::boundary_between(int from, int to, Bytes bytes) const {
  const Job& sender = stages_.at(static_cast<std::size_t>(from));
  const Job& receiver = stages_.at(static_cast<std::size_t>(to));
  Boundary out{stage_message(sender, from, to, bytes), {}};
  out.time = out.message.alone(sender.interconnect);
  if (&sender != &receiver)
    out.time = std::max(out.time, stage_message(receiver, from, to, bytes).alone(receiver.interconnect));
  return out;
}

Seconds PipelineStages::messages_around() const {
  Seconds sum;
  if (message_ > Seconds(0))
    for (const Boundary& boundary : boundaries_)
      if (boundary.message.cost.network_bytes > Bytes(0)) sum += boundary.time;
  return sum;
}

Seconds PipelineStages::time_of(const std::vector<StageTime>& times) const {
  const Scenario& scenario = stages_.scenario();
  return pipeline_time(scenario.schedule, times, scenario.degrees.vpp, scenario.degrees.micro_batches, message_, link_);
}

Seconds PipelineStages::before_gradients(const std::vector<StageTime>& times, std::size_t stage) const {
  Seconds sum;
  for (std::size_t other = 0; other < times.size(); ++other)
    if (other != stage) sum += times[other].forward + (other > stage ? times[other].backward() : Seconds(0));
  return sum / static_cast<double>(stages_.scenario().degrees.vpp);
}

Seconds PipelineStages::fill_before(std::size_t stage) const {
  Seconds fill;
  for (std::size_t before = 0; before < stage; ++before)
    fill += times_[before].forward / static_cast<double>(stages_.scenario().degrees.vpp) + message_;
  return fill;
}

Seconds PipelineStages::drain_before(std::size_t stage) const {
  const Scenario& scenario = stages_.scenario();
  Seconds drain;
  const double share = scenario.schedule == PipelineSchedule::zero_bubble ? 0 : 1.0 / scenario.degrees.vpp;
  for (std::size_t before = 0; before < stage; ++before) drain += times_[before].backward() * share + message_;
  return drain;
}

void PipelineStages::add_messages(StepAccount& account) const {
  if (stages_.count() <= 1) return;
  auto& share = account.communication(CollectiveKind::send_recv, Dimension::pipeline);
  share.total += handed_over_ * (2 * stages_.micro_batches() / static_cast<double>(stages_.count()));
  if (!stages_.scenario().framework->overlap_pipeline_messages) share.exposed = share.total;
}

void PipelineStages::add_waiting(StepAccount& account, Seconds pipeline_end) const {
  const auto count = static_cast<double>(stages_.count());
  Seconds busy;
  for (const StageTime& stage : times_) busy += stage.busy(stages_.micro_batches()) / count;
  const Seconds waiting = std::max(Seconds(0), pipeline_end - busy);
  auto& share = account.communication(CollectiveKind::send_recv, Dimension::pipeline);
  // A device's own messages are exposed at most: what keeps it waiting while others' cross is the pipeline's bubble.
  const Seconds messages =
      std::min({waiting, 2.0 * (count - 1) * message_, std::max(Seconds(0), share.total - share.exposed)});
  share.exposed += messages;
  account.step().bubble += waiting - messages;
}

}  // namespace stepcast
