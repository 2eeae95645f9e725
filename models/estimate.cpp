#include "models/estimate.hpp"

#include <algorithm>

#include "models/parallelism/message.hpp"
#include "models/parallelism/message_links.hpp"
#include "models/parallelism/offload.hpp"
#include "models/parallelism/pipeline_time.hpp"
#include "models/parallelism/schedule.hpp"
#include "models/parallelism/sharded_stage.hpp"
#include "models/parallelism/shared_nics.hpp"
#include "models/parallelism/unit_times.hpp"
#include "models/power/average_power.hpp"

namespace stepcast {

namespace {

using CommunicationTable = std::array<std::array<StepBreakdown::Communication, kDimensions>, kCollectiveKinds>;

StepBreakdown::Communication& entry(CommunicationTable& table, CollectiveKind kind, Dimension dimension) {
  return table[static_cast<std::size_t>(kind)][static_cast<std::size_t>(dimension)];
}

/// What one layer does for one micro-batch, summed by kind of time.
struct LayerSums {
  Seconds matrix, memory, host, peers;
  Flops flops;
  CommunicationTable communication{};
};

void add(LayerSums& sums, const Segment& segment) {
  for (const Piece& piece : segment.pieces) {
    if (piece.communication) {
      auto& share = entry(sums.communication, piece.collective, piece.dimension);
      share.total += piece.duration + piece.hidden;
      share.exposed += piece.duration;
    } else if (waits_for_host(piece)) {
      sums.host += piece.duration;
    } else if (piece.name == kPeerWait) {
      sums.peers += piece.duration;
    } else if (piece.kind == OperatorKind::memory) {
      sums.memory += piece.duration;
    } else {
      sums.matrix += piece.duration;
    }
    sums.flops += piece.flops;
  }
}

class Estimator {
 public:
  /// One pipeline of a class of replicas, which waits for the others where replicas meet.
  Estimator(const Job& job, const ReplicaClass& replicas)
      : job_(job),
        replicas_(replicas),
        scenario_(*job.scenario),
        plan_(synchronization_plan(*job.scenario)),
        stages_(static_cast<std::size_t>(scenario_.degrees.pp)),
        micro_batches_(static_cast<double>(scenario_.degrees.micro_batches)) {}

  StepBreakdown run() {
    sum_layers();
    collect_stages();
    const Seconds end = (plan_.sharded_parameters ? sharded_step() : replicated_step()) + tied_embedding();
    for (int stage = 0; stage < static_cast<int>(stages_); ++stage)
      out_.optimizer = std::max(out_.optimizer, at(stage).optimizer);
    out_.overhead = scenario_.framework->step_overhead + out_.host;
    out_.step_time = end + out_.optimizer + scenario_.framework->step_overhead;
    close_books();
    return out_;
  }

 private:
  /// The job as it is on a stage's nodes.
  const Job& at(int stage) const { return job_.in_state(replicas_.state[static_cast<std::size_t>(stage)]); }

  double slowdown_at(std::size_t stage) const { return at(static_cast<int>(stage)).communication_slowdown; }

  /// Whether two stages hold the same layers, chunk for chunk, on nodes in the same state.
  bool alike(std::size_t a, std::size_t b) const {
    if (replicas_.state[a] != replicas_.state[b]) return false;
    for (std::size_t c = 0; c < job_.chunks.size(); c += stages_)
      if (job_.chunks[c + a].layer_kinds != job_.chunks[c + b].layer_kinds) return false;
    return true;
  }

  /// A stage's units, each collective as slow as the slowest of the replicas' nodes makes it, and as the other stages
  /// of its nodes do where all communicate at the same time: gathers, and all that sharded parameters need.
  std::vector<UnitTimes> units_of(std::size_t stage) const {
    std::vector<UnitTimes> units = units_alone(stage);
    const auto slow_down = [&](double crowd, Seconds UnitTimes::*whole, Seconds UnitTimes::*flow) {
      if (crowd <= 1) return;
      for (UnitTimes& unit : units) {
        unit.*whole += (crowd - 1) * (unit.*flow);
        unit.*flow *= crowd;
      }
    };
    const double crowd = crowd_of(stage, job_.groups.shard);
    slow_down(crowd, &UnitTimes::gather_alone, &UnitTimes::gather_flow);
    if (plan_.sharded_parameters) slow_down(crowd, &UnitTimes::reduce_alone, &UnitTimes::reduce_flow);
    return units;
  }

  std::vector<UnitTimes> units_alone(std::size_t stage) const {
    const auto s = static_cast<int>(stage);
    SyncTrafficCache own;
    std::vector<UnitTimes> units = unit_times(at(s), s, replicas_.state[stage] == 0 ? known_ : own);
    for (const ReplicaClass& others : job_.fold.classes) {
      if (others.state[stage] == replicas_.state[stage]) continue;
      SyncTrafficCache of_others;
      const std::vector<UnitTimes> theirs = unit_times(job_.in_state(others.state[stage]), s, of_others);
      for (std::size_t u = 0; u < units.size(); ++u)
        for (const auto part : {&UnitTimes::reduce_alone, &UnitTimes::gather_alone, &UnitTimes::reduce_flow,
                                &UnitTimes::gather_flow, &UnitTimes::contended})
          units[u].*part = std::max(units[u].*part, theirs[u].*part);
    }
    return units;
  }

  /// Stages whose ranks lie on one node.
  int stages_of_node() const { return job_.layout.in_node(Axis::pipeline); }

  /// Of the NICs and up-links that all stages of a node share, what one of them takes while its groups communicate.
  double shared_by_stage(std::size_t stage, const GroupShape& group) const {
    if (stages_of_node() <= 1 || group.nodes() <= 1) return 0;
    const Interconnect& net = at(static_cast<int>(stage)).interconnect;
    const BytesPerSecond taken = net.network_rate(group) * static_cast<double>(job_.placement.ranks_per_node);
    double share = taken / net.node_network;
    for (std::size_t level = 0; level < job_.nodes.levels(); ++level)
      if (job_.nodes.limits(level)) share = std::max(share, group.above[level].ring * (taken / net.uplinks[level].up));
    return std::min(1.0, share);
  }

  /// How much longer a stage's collectives take while all stages of its node run theirs, each in proportion to its
  /// parameters: until the stage is done, it shares with what they have left.
  double crowd_of(std::size_t stage, const GroupShape& group) const {
    const double share = shared_by_stage(stage, group);
    const double own = job_.stage_parameters[stage];
    if (share <= 0 || own <= 0) return 1;
    double all = 0;
    for (std::size_t other = 0; other < stages_; ++other)
      if (job_.placement.node[other] == job_.placement.node[stage])
        all += std::min(1.0, job_.stage_parameters[other] / own);
    return std::max(1.0, all * share);
  }

  /// The same for stage after stage: like stages in a row are asked for once.
  void next_units(std::size_t stage, std::vector<UnitTimes>& units) const {
    const bool single = job_.fold.classes.size() == 1;
    if (stage == 0 || !single || !alike(stage - 1, stage)) units = units_of(stage);
  }

  /// Sums over the model replica's layers, as means over its pipeline ranks for the whole step.
  void sum_layers() {
    for (std::size_t state = 0; state < job_.fold.states.size(); ++state) sum_layers(static_cast<int>(state));
    out_.compute = out_.matrix_time + out_.memory_time;
  }

  /// Those of stages whose nodes are in a state.
  void sum_layers(int state) {
    std::vector<double> count(job_.layer_kinds.size(), 0);
    std::vector<double> merged(job_.layer_kinds.size(), 0);
    for (const Chunk& chunk : job_.chunks) {
      if (replicas_.state[static_cast<std::size_t>(chunk.stage)] != state) continue;
      const double pairs = merged_of_chunk(chunk.stage);
      for (const int kind : chunk.layer_kinds) {
        count[static_cast<std::size_t>(kind)] += micro_batches_;
        merged[static_cast<std::size_t>(kind)] += pairs;
      }
    }
    for (std::size_t kind = 0; kind < count.size(); ++kind) {
      if (count[kind] <= 0) continue;
      const LayerCost& layer = job_.in_state(state).layer_kinds[kind];
      LayerSums sums;
      add(sums, layer.forward);
      add(sums, layer.backward_input);
      add(sums, layer.backward_weight);
      count_layer(sums, count[kind]);
      if (merged[kind] > 0 && !layer.merged.pieces.empty()) count_merged(layer, sums, merged[kind]);
    }
  }

  /// Micro-batches of a chunk whose forward pass is merged with a backward pass.
  double merged_of_chunk(int stage) const {
    if (!scenario_.spec.strategy.overlap_expert_parallel) return 0;
    const Degrees& d = scenario_.degrees;
    const long slots = merged_slots(scenario_.schedule, stage, d.pp, d.vpp, d.micro_batches);
    return static_cast<double>(slots) / d.vpp;
  }

  /// What a layer does, `count` times in all stages, as a mean over these.
  void count_layer(const LayerSums& sums, double count) {
    const double times = count / static_cast<double>(stages_);
    out_.matrix_time += sums.matrix * times;
    out_.memory_time += sums.memory * times;
    out_.host += sums.host * times;
    out_.synchronization_wait += sums.peers * times;
    out_.executed_flops += sums.flops * times;
    for (std::size_t k = 0; k < kCollectiveKinds; ++k)
      for (std::size_t d = 0; d < kDimensions; ++d) {
        out_.communication[k][d].total += sums.communication[k][d].total * times;
        out_.communication[k][d].exposed += sums.communication[k][d].exposed * times;
      }
  }

  /// Merged passes do the same as separate ones and expose less of what they communicate.
  void count_merged(const LayerCost& layer, const LayerSums& separate, double count) {
    LayerSums merged;
    add(merged, layer.merged);
    const double times = count / static_cast<double>(stages_);
    for (std::size_t k = 0; k < kCollectiveKinds; ++k)
      for (std::size_t d = 0; d < kDimensions; ++d)
        out_.communication[k][d].exposed +=
            (merged.communication[k][d].exposed - separate.communication[k][d].exposed) * times;
  }

  void collect_stages() {
    stage_.assign(stages_, {});
    for (std::size_t c = 0; c < job_.chunks.size(); ++c) {
      const Chunk& chunk = at(job_.chunks[c].stage).chunks[c];
      StageTime& stage = stage_[static_cast<std::size_t>(chunk.stage)];
      stage.forward += chunk.forward;
      stage.backward_input += chunk.backward_input;
      stage.backward_weight += chunk.backward_weight;
      if (chunk.saved > Seconds(0)) stage.saved += chunk.saved * merged_of_chunk(chunk.stage);
    }
    if (stages_ > 1) add_messages();
  }

  /// Messages between chunks: every stage sends an activation and a gradient for each of its boundaries.
  void add_messages() {
    const FrameworkProfile& framework = *scenario_.framework;
    const std::size_t boundaries = job_.chunks.size() - 1;
    MessageLinks links(job_, replicas_);
    boundary_.reserve(stages_);
    Seconds sum;
    for (std::size_t c = 0; c < boundaries; ++c) {
      const int from = job_.chunks[c].stage;
      const int to = job_.chunks[c + 1].stage;
      if (c < stages_) {
        const Boundary& boundary = boundary_.emplace_back(message_between(from, to, job_.chunks[c].send));
        const std::size_t times = (boundaries - c - 1) / stages_ + 1;
        links.add(boundary.message, boundary.time, from, to, static_cast<double>(times));
      }
      const Seconds time = boundary_[c % stages_].time;
      sum += time;
      // A rank that waits for its own sends works that much longer.
      if (!framework.overlap_pipeline_messages) {
        stage_[static_cast<std::size_t>(from)].forward += time;
        stage_[static_cast<std::size_t>(to)].backward_input += time;
      }
    }
    auto& share = entry(out_.communication, CollectiveKind::send_recv, Dimension::pipeline);
    share.total += sum * (2 * micro_batches_ / static_cast<double>(stages_));
    link_ = links.period();
    if (framework.overlap_pipeline_messages) {
      message_ = sum / static_cast<double>(boundaries);
      for (std::size_t s = 0; s + 1 < stages_; ++s) stage_[s].message = boundary_[s].time;
    } else {
      share.exposed = share.total;
    }
  }

  /// What one stage hands to another, and how long it takes.
  struct Boundary {
    Message message;
    Seconds time;
  };

  /// As slow as the slower end makes it.
  Boundary message_between(int from, int to, Bytes bytes) const {
    const Job& sender = at(from);
    const Job& receiver = at(to);
    Boundary out{stage_message(sender, from, to, bytes), {}};
    out.time = out.message.alone(sender.interconnect);
    if (&sender != &receiver)
      out.time = std::max(out.time, stage_message(receiver, from, to, bytes).alone(receiver.interconnect));
    return out;
  }

  Seconds pipeline() const { return pipeline_of(stage_); }
  Seconds pipeline_of(const std::vector<StageTime>& stages) const {
    return pipeline_time(scenario_.schedule, stages, scenario_.degrees.vpp, scenario_.degrees.micro_batches, message_,
                         link_);
  }

  /// Until a stage's first backward pass begins, beside its own forward pass: those of a micro-batch on the stages
  /// before, and there and back on those behind, one chunk of each.
  Seconds before_gradients(const std::vector<StageTime>& stages, std::size_t s) const {
    Seconds sum;
    for (std::size_t other = 0; other < stages_; ++other)
      if (other != s) sum += stages[other].forward + (other > s ? stages[other].backward() : Seconds(0));
    return sum / static_cast<double>(scenario_.degrees.vpp);
  }

  void communicate(CollectiveKind kind, Seconds total, Seconds exposed) {
    auto& share = entry(out_.communication, kind, Dimension::data);
    share.total += total / static_cast<double>(stages_);
    share.exposed += exposed;
  }

  /// Replicas hold all parameters: buckets are reduced under (or after) the last backward pass.
  Seconds replicated_step() {
    const Seconds pipeline_end = pipeline();
    Seconds end = pipeline_end;
    Seconds gathers_after, gathers_before, reduced;
    SlowedStages slowed;
    std::vector<UnitTimes> units;
    SharedNics nics;
    for (std::size_t s = 0; s < stages_; ++s) {
      next_units(s, units);
      const Seconds stage_end = pipeline_end - drain_before(s);
      add_reductions(nics, units, stage_end, s);
      Seconds busy_until;
      Seconds compute_end = stage_end;
      Seconds gather_all;
      for (const UnitTimes& unit : units) {
        reduced += unit.reduce_alone * reductions();
        gather_all += unit.gather_alone;
      }
      if (!units.empty()) {
        if (plan_.overlap) {
          const double slowdown = slowdown_at(s);
          const Seconds earlier = plan_.accumulated > 0 ? slowed_by_earlier_reductions(units, slowdown) : Seconds(0);
          busy_until = overlapped_reduction(units, stage_end + earlier, slowdown, compute_end);
          if (plan_.accumulated > 0) busy_until = std::max(busy_until, end_of_every_reduction(units));
        } else {
          busy_until = stage_end;
          for (const UnitTimes& unit : units) busy_until += unit.reduce_alone * reductions();
        }
      }
      slowed.all += compute_end - stage_end;
      if (std::max(compute_end, busy_until) >= end) slowed.last = compute_end - stage_end;
      end = std::max({end, compute_end, busy_until});
      if (plan_.gather_under_forward) {
        gathers_before = std::max(gathers_before, exposed_gathers(units));
      } else {
        gathers_after = std::max(gathers_after, gather_all);
      }
      gathered_ += gather_all;
    }
    end = std::max(end, nics.end());
    communicate(plan_.reduction, reduced, Seconds(0));
    book_end(end - pipeline_end, slowed);
    if (plan_.gather_after_update) communicate(plan_.gather, gathered_, gathers_after + gathers_before);
    pipeline_end_ = pipeline_end;
    return end + gathers_after + gathers_before;
  }

  /// By how much collectives slow down the computation beside them.
  struct SlowedStages {
    Seconds all;   ///< sum over the stages
    Seconds last;  ///< of the stage that ends last
  };

  /// What comes after the pipeline: stages compute for longer, the one that ends last waits for its own traffic, and
  /// the others for that one.
  void book_end(Seconds after, const SlowedStages& slowed) {
    const auto stages = static_cast<double>(stages_);
    const Seconds exposed = std::max(Seconds(0), after - slowed.last) / stages;
    communicate(plan_.reduction, Seconds(0), exposed);
    stretch_computation(slowed.all / stages);
    out_.bubble += after - slowed.all / stages - exposed;
  }

  /// Operators that take longer beside a collective still compute.
  void stretch_computation(Seconds by) {
    const Seconds sorted = out_.matrix_time + out_.memory_time;
    const double matrix = sorted > Seconds(0) ? out_.matrix_time / sorted : 1;
    out_.matrix_time += by * matrix;
    out_.memory_time += by * (1 - matrix);
    out_.compute += by;
  }

  /// When a stage's reductions are ready, and how long each takes.
  void add_reductions(SharedNics& nics, const std::vector<UnitTimes>& units, Seconds stage_end,
                      std::size_t stage) const {
    const double share = shared_by_stage(stage, job_.groups.data);
    if (share <= 0) return;
    Seconds ready = stage_end;
    if (plan_.overlap)
      for (const UnitTimes& unit : units) ready -= unit.backward;
    for (const UnitTimes& unit : units) {
      if (plan_.overlap) ready += unit.backward;
      // Where every micro-batch's gradients are reduced, some always are ready.
      nics.add(job_.placement.node[stage], plan_.accumulated > 0 ? Seconds(0) : ready,
               unit.reduce_flow * reductions() * share);
    }
  }

  /// The two ends of a pipeline add up the gradients of tied embeddings.
  Seconds tied_embedding() {
    const Job& first = at(0);
    const Job& last = at(static_cast<int>(stages_) - 1);
    const std::optional<TiedEmbedding> tied = tied_embedding_sum(first);
    if (!tied) return Seconds(0);
    Seconds time = tied->cost.alone(first.interconnect, tied->pair);
    if (&first != &last) time = std::max(time, tied_embedding_sum(last)->cost.alone(last.interconnect, tied->pair));
    communicate(CollectiveKind::all_reduce, 2 * time, time * (2 / static_cast<double>(stages_)));
    // The stages between wait for the norm of all gradients.
    out_.bubble += time * (1 - 2 / static_cast<double>(stages_));
    return time;
  }

  double reductions() const { return static_cast<double>(reductions_of(plan_, scenario_.degrees.micro_batches)); }

  /// Time from stage s's last backward pass to the end of the pipeline's: the gradients of the stages before it.
  Seconds drain_before(std::size_t s) const {
    Seconds drain;
    const double share = scenario_.schedule == PipelineSchedule::zero_bubble ? 0 : 1.0 / scenario_.degrees.vpp;
    for (std::size_t before = 0; before < s; ++before) drain += stage_[before].backward() * share + message_;
    return drain;
  }

  /// Buckets start in order as their layers' gradients are ready; the backward pass slows down beside them. Returns the
  /// end of the last one; `compute_end` moves by the slow-down.
  Seconds overlapped_reduction(const std::vector<UnitTimes>& units, Seconds stage_end, double slowdown,
                               Seconds& compute_end) const {
    Seconds backward;
    for (const UnitTimes& unit : units) backward += unit.backward;
    Seconds now = stage_end - backward;
    Seconds busy = now;
    Seconds pending;  // flow time of the reductions that have been started
    for (const UnitTimes& unit : units) {
      // Beside this unit's computation run the reductions of the units before it.
      now += unit.backward + slowed_by(std::min(pending, busy - now), unit.backward, slowdown);
      pending = std::max(Seconds(0), pending - unit.backward);
      pending += unit.reduce_flow;
      busy = std::max(busy, now) + unit.reduce_alone;
    }
    compute_end = now;
    return busy;
  }

  /// All reductions but the last slow down the passes that they run beside.
  Seconds slowed_by_earlier_reductions(const std::vector<UnitTimes>& units, double slowdown) const {
    Seconds flow;
    Seconds work;
    for (const UnitTimes& unit : units) {
      flow += unit.reduce_flow;
      work += unit.forward + unit.backward;
    }
    const double beside = micro_batches_ / reductions();
    return (reductions() - 1) * slowed_by(flow, work * beside, slowdown);
  }

  /// One after another from the first gradients that are complete on.
  Seconds end_of_every_reduction(const std::vector<UnitTimes>& units) const {
    const double before = micro_batches_ / reductions();
    Seconds end = units.front().backward * before;
    for (const UnitTimes& unit : units) end += unit.forward * before + unit.reduce_alone * reductions();
    return end;
  }

  /// ZeRO-1/2 parameters arrive unit by unit under the first forward pass.
  Seconds exposed_gathers(const std::vector<UnitTimes>& units) const {
    Seconds arrived;
    Seconds now;
    Seconds work;
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
      arrived += unit->gather_alone;
      now = std::max(now, arrived) + unit->forward;
      work += unit->forward;
    }
    return now - work;
  }

  /// Stages of which each works as it does alone, played with what they wait for their gathers.
  Seconds sharded_step() {
    const Seconds ideal = pipeline();
    std::vector<ShardedStage> sharded(stages_);
    std::vector<StageTime> gathering = stage_;
    Seconds slowed;
    std::vector<UnitTimes> units;
    for (std::size_t s = 0; s < stages_; ++s) {
      next_units(s, units);
      const ShardedStage& stage = sharded[s] = sharded_stage(units, plan_.prefetch_backward, slowdown_at(s));
      Seconds forward, backward;
      for (const UnitTimes& unit : units) {
        forward += unit.forward;
        backward += unit.backward;
      }
      gathering[s].forward += stage.forward - forward;
      gathering[s].backward_input += stage.backward - backward;
      slowed += stage.slowed_first + stage.slowed * (micro_batches_ - 1);
      gathered_ += stage.gathers_alone * micro_batches_;
      communicate(CollectiveKind::reduce_scatter, stage.reductions * micro_batches_, Seconds(0));
    }
    const Seconds played = pipeline_of(gathering);
    Seconds end = ideal;
    for (std::size_t s = 0; s < stages_; ++s) {
      const ShardedStage& stage = sharded[s];
      // Whatever the order, a stage takes what its own traffic takes.
      const Seconds compute_end = std::max(played + stage.lead, stage.gathers * micro_batches_);
      const Seconds reduced =
          before_gradients(gathering, s) + stage.first_gradients + stage.reductions * micro_batches_;
      end = std::max({end, compute_end + stage.last_reduction, reduced});
    }
    const Seconds after = end - ideal, stretched = slowed / static_cast<double>(stages_);
    // What slows down a stage that waits for others anyway is taken off the pipeline's bubble.
    const Seconds exposed = std::max(Seconds(0), after - stretched);
    stretch_computation(stretched);
    out_.bubble += after - stretched - exposed;
    const Seconds traffic = entry(out_.communication, CollectiveKind::reduce_scatter, Dimension::data).total +
                            gathered_ / static_cast<double>(stages_);
    // What is exposed is split as the traffic is.
    const double gather_share = traffic > Seconds(0) ? gathered_ / static_cast<double>(stages_) / traffic : 0;
    communicate(CollectiveKind::all_gather, gathered_, exposed * gather_share);
    communicate(CollectiveKind::reduce_scatter, Seconds(0), exposed * (1 - gather_share));
    pipeline_end_ = ideal;
    return end;
  }

  /// What is neither work nor exposed communication of the stages is the pipeline's bubble; messages are exposed in it.
  void close_books() {
    Seconds busy;
    for (const StageTime& stage : stage_) busy += stage.busy(micro_batches_) / static_cast<double>(stages_);
    const Seconds waiting = std::max(Seconds(0), pipeline_end_ - busy);
    auto& share = entry(out_.communication, CollectiveKind::send_recv, Dimension::pipeline);
    // A device's own messages are exposed at most: what keeps it waiting while others' cross is the pipeline's bubble.
    const Seconds messages = std::min({waiting, 2.0 * (static_cast<double>(stages_) - 1) * message_,
                                       std::max(Seconds(0), share.total - share.exposed)});
    share.exposed += messages;
    out_.bubble += waiting - messages;
    power();
  }

  /// Of the nodes that the replica's stages lie on.
  PowerModel power_of_stages() const {
    if (scenario_.other_kinds.empty()) return power_model(scenario_);
    std::vector<PowerModel> kinds;
    for (std::size_t s = 0; s < stages_; ++s) {
      kinds.push_back(power_of_own_kind(*at(static_cast<int>(s)).scenario));
      kinds.back().nodes = 1;
    }
    return power_of_kinds(std::move(kinds));
  }

  void power() {
    const PowerModel model = power_of_stages();
    out_.average_device_power = average_device_power(out_, model);
    out_.peak_device_power = std::max(model.device_compute, out_.average_device_power);
  }

  const Job& job_;
  const ReplicaClass& replicas_;
  const Scenario& scenario_;
  const SynchronizationPlan plan_;
  std::size_t stages_;
  double micro_batches_;
  std::vector<StageTime> stage_;
  std::vector<Boundary> boundary_;  ///< from each stage to the next
  LinkPeriod link_;
  Seconds message_, gathered_, pipeline_end_;
  mutable SyncTrafficCache known_;  ///< of the job on healthy nodes
  StepBreakdown out_;
};

}  // namespace

StepBreakdown estimate(const Job& job) {
  const std::vector<ReplicaClass>& classes = job.fold.classes;
  if (classes.size() == 1) return Estimator(job, classes.front()).run();
  std::vector<StepBreakdown> of_class;
  of_class.reserve(classes.size());
  for (const ReplicaClass& replicas : classes) of_class.push_back(Estimator(job, replicas).run());
  Seconds step;
  for (const StepBreakdown& one : of_class) step = std::max(step, one.step_time);
  StepBreakdown mean;
  const PowerModel power = power_model(*job.scenario);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double share = static_cast<double>(classes[c].replicas) / job.scenario->degrees.dp;
    // Whoever is done earlier waits for the slowest.
    of_class[c].synchronization_wait += step - of_class[c].step_time;
    of_class[c].step_time = step;
    of_class[c].average_device_power = average_device_power(of_class[c], power);
    add(mean, of_class[c], share);
  }
  mean.step_time = step;
  return mean;
}

double closed_form_deviation(const Scenario& scenario) {
  const Degrees& degrees = scenario.degrees;
  // With few micro-batches the order of chunks counts, and of what meets on links, and neither is played.
  const bool reordered =
      scenario.schedule == PipelineSchedule::interleaved || scenario.schedule == PipelineSchedule::zero_bubble;
  const double by_schedule = reordered && degrees.micro_batches <= 4L * degrees.pp ? 0.10 : 0.05;
  // What every micro-batch gathers or reduces meets the stages' own traffic, which is not played either.
  if (synchronization_plan(scenario).accumulated == 0) return by_schedule;
  return std::max(by_schedule, degrees.pp > 1 ? 0.25 : 0.10);
}

}  // namespace stepcast
