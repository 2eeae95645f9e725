#include "sim/engine/run_program.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "sim/collective/executor.hpp"
#include "sim/engine/make_engine.hpp"
#include "sim/engine/path_hosts.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

namespace {

namespace sg4 = simgrid::s4u;

double now() { return sg4::Engine::get_clock(); }

/// The executor's queue as a model inside SimGrid's loop.
class ExecutorClock : public simgrid::kernel::resource::Model {
 public:
  explicit ExecutorClock(CollectiveExecutor& executor) : Model("stepcast-collectives"), executor_(executor) {}
  double next_occurring_event(double date) override {
    return executor_.idle() ? -1.0 : std::max(0.0, executor_.next_time() - date);
  }
  void update_actions_state(double date, double /*delta*/) override {
    if (!executor_.idle() && executor_.next_time() <= date + kSameInstant) executor_.run_due(date);
  }

 private:
  CollectiveExecutor& executor_;
};

class Run : public SharedFlows {
 public:
  Run(const FlowProgram& program, const ProgramOptions& options)
      : program_(program),
        options_(options),
        executor_(program, this, options.share_all),
        engine_(make_engine()),
        hosts_(engine_, paths(), true) {}

  void run() {
    clock_ = std::make_shared<ExecutorClock>(executor_);
    engine_.add_model(clock_);
    simgrid_compat::on_flow_end([this](const sg4::Activity& activity) { ended(activity); });
    if (options_.record_peaks) sg4::Engine::on_time_advance_cb([this](double) { record_peaks(); });
    engine_.run();
  }

  [[nodiscard]] ProgramResult result() const { return executor_.result(); }

  void start(int lane, int path, double bytes) override {
    if (static_cast<std::size_t>(lane) >= flows_.size()) flows_.resize(static_cast<std::size_t>(lane) + 1);
    flows_[lane] = hosts_.start(number_[path], bytes * kUnitsPerByte, lane);
    if (options_.record_peaks)
      for (const int link : program_.paths[path].links) watch(link);
  }

  double cancel(int lane) override {
    // SimGrid tells of the end of a cancelled flow, twice: by then the lane no longer holds it.
    cancelled_.push_back(std::move(flows_[lane]));
    const double left = cancelled_.back()->get_remaining() / kUnitsPerByte;
    cancelled_.back()->cancel();
    return left;
  }

 private:
  /// The links of the program, and those of its paths that flows may share.
  const StepGraph& paths() {
    for (const double bandwidth : program_.links) graph_.add_link({{}, BytesPerSecond(bandwidth)});
    number_.resize(program_.paths.size(), -1);
    for (std::size_t p = 0; p < program_.paths.size(); ++p) {
      const ProgramPath& path = program_.paths[p];
      if (!executor_.may_share(static_cast<int>(p)) || (path.links.empty() && path.rate_limit <= 0)) continue;
      number_[p] = graph_.add_path({path.links, path.weight, BytesPerSecond(path.rate_limit)});
    }
    return graph_;
  }

  void ended(const sg4::Activity& activity) {
    const int lane = PathHosts::flow_id(activity);
    if (flows_[lane].get() != &activity) return;
    if (activity.get_state() != sg4::Activity::State::FINISHED)
      throw std::runtime_error("collectives: a message failed in SimGrid");
    ended_ = std::move(flows_[lane]);
    executor_.shared_ended(lane, now());
  }

  void watch(int link) {
    if (watched_.empty()) watched_.resize(program_.links.size(), 0);
    if (std::exchange(watched_[link], 1) == 0) links_.push_back(link);
  }

  void record_peaks() {
    for (const int link : links_) executor_.note_rate(link, hosts_.usage(link));
  }

  const FlowProgram& program_;
  const ProgramOptions options_;
  CollectiveExecutor executor_;
  StepGraph graph_;
  std::vector<PathId> number_;
  sg4::Engine& engine_;
  PathHosts hosts_;
  std::shared_ptr<ExecutorClock> clock_;
  std::vector<sg4::CommPtr> flows_;      ///< by lane; a running Comm must not lose its last pointer
  std::vector<sg4::CommPtr> cancelled_;  ///< likewise
  sg4::CommPtr ended_;                   ///< the latest: SimGrid still reads a Comm when its end has been told
  std::vector<char> watched_;
  std::vector<int> links_;
};

}  // namespace

ProgramResult run_program(const FlowProgram& program, const ProgramOptions& options) {
  static Run* run = nullptr;
  if (run) throw std::logic_error("engine: a second simulation in one process; SimGrid's engine cannot be made twice");
  check_program(program);
  // Never destroyed: callbacks point to it, and destroying a running flow after an exception crashes.
  run = new Run(program, options);
  run->run();
  return run->result();
}

}  // namespace stepcast
