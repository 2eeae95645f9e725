#include "sim/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "sim/engine/check_graph.hpp"
#include "sim/engine/flow_runner.hpp"
#include "sim/engine/link_rates.hpp"
#include "sim/engine/make_engine.hpp"
#include "sim/engine/path_hosts.hpp"
#include "sim/engine/work_clock.hpp"

namespace stepcast {

namespace {

namespace sg4 = simgrid::s4u;

/// Operations that an error names.
constexpr int kMostNamed = 5;
/// Operations between two words of progress: together they take some 10 µs at least.
constexpr std::size_t kProgressEvery = 64;

bool slowed_by_communication(OperationKind kind) {
  return kind == OperationKind::compute || kind == OperationKind::optimizer;
}

/// One run of one graph.
class Simulation : public WorkClock::Listener {
 public:
  Simulation(const StepGraph& graph, const EngineOptions& options, StepProgress progress)
      : graph_(graph),
        progress_(std::move(progress)),
        engine_(make_engine()),
        hosts_(engine_, graph, options.all_flows_in_simgrid),
        clock_(std::make_shared<WorkClock>(graph.devices().size(), *this)),
        recorder_(options.record_link_rates ? std::make_unique<LinkRateRecorder>(graph.links().size()) : nullptr),
        flows_(graph, options, hosts_, *clock_, recorder_.get()),
        waiting_(graph.predecessor_counts()),
        open_flows_(graph.operations().size(), 0),
        slowed_(graph.devices().size()),
        slows_(graph.operations().size(), false),
        operation_of_flow_(graph.flows().size()) {
    timeline_.spans.resize(graph.operations().size());
    for (int id = 0; id < static_cast<int>(graph.operations().size()); ++id) {
      const Operation& operation = graph.operations()[id];
      std::fill_n(operation_of_flow_.begin() + operation.first_flow, operation.flow_count, id);
    }
  }

  void run() {
    engine_.add_model(clock_);
    simgrid_compat::on_flow_end([this](const sg4::Activity& activity) { comm_ended(activity); });
    if (recorder_)
      sg4::Engine::on_time_advance_cb([this](double) { recorder_->sample(sg4::Engine::get_clock(), hosts_); });
    for (int id = 0; id < static_cast<int>(waiting_.size()); ++id)
      if (waiting_[id] == 0) ready_.push_back(id);
    launch_ready();
    engine_.run();
    if (finished_ != waiting_.size()) throw std::runtime_error(unfinished());
    if (recorder_) timeline_.link_rates = recorder_->merged(timeline_.end);
  }

  Timeline& timeline() { return timeline_; }

  void clock_ended(WorkClock::Kind kind, int id) override {
    if (kind == WorkClock::Kind::work) {
      begin_flows(id);
    } else {
      end_flow(id);
    }
    launch_ready();
  }

 private:
  /// What an operation's flows take from a device's rate of computing, while any of them runs.
  struct Slowed {
    int operations = 0;
    double share = 0;
  };

  static Seconds now() { return Seconds(sg4::Engine::get_clock()); }

  void comm_ended(const sg4::Activity& activity) {
    const int flow = PathHosts::flow_id(activity);
    if (activity.get_state() != sg4::Activity::State::FINISHED)
      throw std::runtime_error("engine: a flow of " + named(operation_of_flow_[flow]) + " failed in SimGrid");
    end_flow(flow);
    launch_ready();
  }

  /// A queue and no recursion: a chain of operations that take no time may be long.
  void launch_ready() {
    std::size_t next = 0;
    while (next < ready_.size()) launch(ready_[next++]);
    ready_.clear();
  }

  void launch(int id) {
    const Operation& operation = graph_.operations()[id];
    timeline_.spans[id].start = now();
    if (operation.work <= Seconds(0)) return begin_flows(id);
    const int device = slowed_by_communication(operation.kind) ? operation.device : -1;
    clock_->start(WorkClock::Kind::work, id, operation.work.value(), 1, device);
  }

  void begin_flows(int id) {
    const Operation& operation = graph_.operations()[id];
    Span& span = timeline_.spans[id];
    span.flow_start = operation.flow_count > 0 ? now() : span.start;
    for (int flow = operation.first_flow; flow < operation.first_flow + operation.flow_count; ++flow)
      if (flows_.start(flow)) ++open_flows_[id];
    if (open_flows_[id] == 0) return complete(id);
    if (operation.slowdown > 0) slow_down(id, +1);
  }

  void end_flow(int flow) {
    flows_.ended(flow);
    const int id = operation_of_flow_[flow];
    if (--open_flows_[id] > 0) return;
    if (!graph_.is_joined(id)) give_back(id);
    complete(id);
  }

  void give_back(int id) {
    if (slows_[static_cast<std::size_t>(id)]) slow_down(id, -1);
  }

  void slow_down(int id, int sign) {
    const Operation& operation = graph_.operations()[id];
    slows_[static_cast<std::size_t>(id)] = sign > 0;
    Slowed& slowed = slowed_[operation.device];
    slowed.operations += sign;
    // Sums and differences of shares leave a residue; an undisturbed device has none.
    slowed.share = slowed.operations == 0 ? 0 : slowed.share + sign * static_cast<double>(operation.slowdown);
    clock_->set_device_rate(operation.device, std::max(kSlowestComputeRate, 1 - slowed.share));
  }

  void complete(int id) {
    // Kernels of a collective hold their compute units until the last of its ranks is done.
    for (const int joined : graph_.ended_by(id)) give_back(joined);
    timeline_.spans[id].end = now();
    timeline_.end = std::max(timeline_.end, now());
    ++finished_;
    if (progress_ && (finished_ % kProgressEvery == 0 || finished_ == waiting_.size()))
      progress_(finished_, waiting_.size());
    for (const auto next : graph_.successors(id))
      if (--waiting_[next] == 0) ready_.push_back(static_cast<int>(next));
  }

  std::string named(int id) const { return describe(graph_.operations()[id], id); }

  std::string unfinished() const {
    std::string text =
        fmt::format("engine: {} of {} operations never ended:", waiting_.size() - finished_, waiting_.size());
    int listed = 0;
    for (int id = 0; id < static_cast<int>(waiting_.size()) && listed < kMostNamed; ++id) {
      const bool ended = waiting_[id] == 0 && open_flows_[id] == 0;
      if (ended) continue;
      ++listed;
      text += fmt::format("\n  {}", named(id));
      if (open_flows_[id] > 0) text += fmt::format(" has {} flows left", open_flows_[id]);
      if (waiting_[id] > 0) text += fmt::format(" waits for {} operations", waiting_[id]);
    }
    return text;
  }

  const StepGraph& graph_;
  const StepProgress progress_;
  sg4::Engine& engine_;
  PathHosts hosts_;
  std::shared_ptr<WorkClock> clock_;
  std::unique_ptr<LinkRateRecorder> recorder_;
  FlowRunner flows_;
  std::vector<std::int32_t> waiting_;     ///< predecessors that have not ended
  std::vector<std::int32_t> open_flows_;  ///< flows that have started and not ended
  std::vector<Slowed> slowed_;            ///< by device
  std::vector<bool> slows_;               ///< by operation: whether it takes its share of its device now
  std::vector<std::int32_t> operation_of_flow_;
  std::vector<int> ready_;
  std::size_t finished_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const StepGraph& graph, const EngineOptions& options, const StepProgress& progress) {
  static Simulation* simulation = nullptr;
  if (simulation)
    throw std::logic_error("engine: a second simulation in one process; SimGrid's engine cannot be made twice");
  check_graph(graph);
  // Never destroyed: callbacks point to it, and destroying a running flow after an exception crashes.
  simulation = new Simulation(graph, options, progress);
  simulation->run();
  return std::move(simulation->timeline());
}

}  // namespace stepcast
