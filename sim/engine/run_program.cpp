#include "sim/engine/run_program.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/collective/executor.hpp"
#include "sim/engine/equal_flows.hpp"
#include "sim/engine/make_engine.hpp"
#include "sim/engine/path_hosts.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

namespace {

namespace sg4 = simgrid::s4u;

/// The executor's queue as a model inside SimGrid's loop.
class ExecutorClock : public simgrid::kernel::resource::Model {
 public:
  ExecutorClock(CollectiveExecutor& executor, std::function<void()> after)
      : Model("stepcast-collectives"), executor_(executor), after_(std::move(after)) {}
  double next_occurring_event(double date) override {
    return executor_.idle() ? -1.0 : std::max(0.0, executor_.next_time() - date);
  }
  void update_actions_state(double date, double /*delta*/) override {
    if (executor_.idle() || executor_.next_time() > date + kSameInstant) return;
    executor_.run_due(date);
    after_();
  }

 private:
  CollectiveExecutor& executor_;
  std::function<void()> after_;
};

class Run : public SharedFlows {
 public:
  Run(const FlowProgram& program, const ProgramOptions& options)
      : program_(program),
        options_(options),
        executor_(program, this, options.share_all),
        equal_(program, sharing_paths(), !options.share_all && !options.record_peaks, graph_),
        engine_(make_engine()),
        hosts_(engine_, graph_, true) {}

  void run() {
    clock_ = std::make_shared<ExecutorClock>(executor_, [this] { begin_flows(); });
    engine_.add_model(clock_);
    simgrid_compat::on_flow_end([this](const sg4::Activity& activity) { ended(activity); });
    if (options_.record_peaks) sg4::Engine::on_time_advance_cb([this](double) { record_peaks(); });
    engine_.run();
  }

  [[nodiscard]] ProgramResult result() const { return executor_.result(); }

  void start(int lane, int path, double bytes) override {
    if (static_cast<std::size_t>(lane) >= place_.size()) place_.resize(static_cast<std::size_t>(lane) + 1, -1);
    starting_.push_back({lane, path, bytes});
    if (options_.record_peaks)
      for (const int link : program_.paths[path].links) watch(link);
  }

  double cancel(int lane) override {
    const int place = std::exchange(place_[lane], -1);
    if (place < 0) {
      const auto begins = std::find_if(starting_.begin(), starting_.end(),
                                       [lane](const EqualFlows::Start& start) { return start.lane == lane; });
      const double bytes = begins->bytes;
      starting_.erase(begins);
      return bytes;
    }
    // SimGrid tells of the end of a cancelled flow, twice: by then its place no longer holds it.
    Together& flow = flows_[place];
    cancelled_.push_back(std::move(flow.comm));
    const double left = cancelled_.back()->get_remaining() / kUnitsPerByte / static_cast<double>(flow.messages.size());
    cancelled_.back()->cancel();
    // The others go on, without it.
    for (const auto& [other, path] : flow.messages)
      if (other != lane) {
        place_[other] = -1;
        starting_.push_back({other, path, left});
      }
    flow.messages.clear();
    free_.push_back(place);
    return left;
  }

 private:
  /// Messages that SimGrid has as one flow.
  struct Together {
    sg4::CommPtr comm;                          ///< a running Comm must not lose its last pointer
    std::vector<std::pair<int, int>> messages;  ///< lane and path
  };

  [[nodiscard]] std::vector<char> sharing_paths() const {
    std::vector<char> out(program_.paths.size(), 0);
    for (std::size_t p = 0; p < out.size(); ++p) out[p] = executor_.may_share(static_cast<int>(p)) ? 1 : 0;
    return out;
  }

  /// Whatever began to share at this instant.
  void begin_flows() {
    if (starting_.empty()) return;
    equal_.gather(starting_, beginning_);
    for (const EqualFlows::Flow& flow : beginning_) {
      int place = static_cast<int>(flows_.size());
      if (free_.empty()) {
        flows_.emplace_back();
      } else {
        place = free_.back();
        free_.pop_back();
      }
      for (std::size_t i = flow.first; i < flow.first + flow.count; ++i) {
        flows_[place].messages.emplace_back(starting_[i].lane, starting_[i].path);
        place_[starting_[i].lane] = place;
      }
      flows_[place].comm = hosts_.start(flow.path, flow.bytes * kUnitsPerByte, place);
    }
    starting_.clear();
  }

  void ended(const sg4::Activity& activity) {
    const int place = PathHosts::flow_id(activity);
    Together& flow = flows_[place];
    if (flow.comm.get() != &activity) return;
    if (activity.get_state() != sg4::Activity::State::FINISHED)
      throw std::runtime_error("collectives: a message failed in SimGrid");
    ended_ = std::move(flow.comm);
    arrived_.swap(flow.messages);
    free_.push_back(place);
    for (const auto& [lane, path] : arrived_) place_[lane] = -1;
    for (const auto& [lane, path] : arrived_) executor_.shared_ended(lane, now());
    arrived_.clear();
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
  EqualFlows equal_;
  sg4::Engine& engine_;
  PathHosts hosts_;
  std::shared_ptr<ExecutorClock> clock_;
  std::vector<EqualFlows::Start> starting_;
  std::vector<EqualFlows::Flow> beginning_;
  std::vector<Together> flows_;
  std::vector<int> free_;   ///< places in `flows_`
  std::vector<int> place_;  ///< by lane; −1: in no flow
  std::vector<std::pair<int, int>> arrived_;
  std::vector<sg4::CommPtr> cancelled_;  ///< kept, for their ends are told later
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
