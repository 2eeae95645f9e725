#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/step_graph.hpp"
#include "sim/timeline.hpp"

namespace stepcast::test {

/// A second implementation of what the engine promises, for tests: no SimGrid, no clock, no shortcuts. At every event
/// all rates are found anew by progressive filling (Bertsekas & Gallager, Data Networks, §6.5.2) and everything that
/// runs is carried to the next event. Slow and simple.
class ReferenceMaxMin {
 public:
  explicit ReferenceMaxMin(const StepGraph& graph)
      : graph_(graph), waiting_(graph.predecessor_counts()), open_(graph.operations().size(), 0) {}

  Timeline run() {
    const auto count = static_cast<int>(graph_.operations().size());
    timeline_.spans.resize(static_cast<std::size_t>(count));
    for (int id = 0; id < count; ++id)
      if (graph_.predecessor_counts()[id] == 0) launch(id);
    while (!works_.empty() || !flows_.empty()) advance();
    timeline_.end = Seconds(now_);
    return timeline_;
  }

  [[nodiscard]] const std::vector<double>& most_on_link() const { return most_on_link_; }

 private:
  struct Work {
    int operation;
    double left;
  };
  struct RunningFlow {
    int operation;
    const GraphPath* path;
    double left, rate = 0;
  };

  void launch(int id) {
    timeline_.spans[id].start = Seconds(now_);
    const double work = graph_.operations()[id].work.value();
    if (work > 0) {
      works_.push_back({id, work});
    } else {
      begin_flows(id);
    }
  }

  void begin_flows(int id) {
    timeline_.spans[id].flow_start = Seconds(now_);
    for (const Flow& flow : graph_.flows(graph_.operations()[id])) {
      const GraphPath& path = graph_.paths()[flow.path];
      const bool takes_time = flow.bytes > Bytes(0) && (!path.links.empty() || path.cap > BytesPerSecond(0));
      if (!takes_time) continue;
      ++open_[id];
      flows_.push_back({id, &path, flow.bytes.value()});
    }
    if (open_[id] == 0) complete(id);
  }

  void complete(int id) {
    timeline_.spans[id].end = Seconds(now_);
    for (const auto next : graph_.successors(id))
      if (--waiting_[next] == 0) launch(static_cast<int>(next));
  }

  double rate_of(const Work& work) const {
    const Operation& operation = graph_.operations()[work.operation];
    if (operation.kind != OperationKind::compute && operation.kind != OperationKind::optimizer) return 1;
    double taken = 0;
    for (std::size_t id = 0; id < open_.size(); ++id)
      if (open_[id] > 0 && graph_.operations()[id].device == operation.device)
        taken += static_cast<double>(graph_.operations()[id].slowdown);
    return std::max(kSlowestComputeRate, 1 - taken);
  }

  /// Raises the level of all flows (rate / weight) together; a flow stops at its cap or where a link is full.
  void share() {
    std::vector<double> left(graph_.links().size());
    for (std::size_t l = 0; l < left.size(); ++l) left[l] = graph_.links()[l].bandwidth.value();
    std::vector<char> fixed(flows_.size(), 0);
    for (std::size_t done = 0; done < flows_.size();) {
      std::vector<double> weights(left.size(), 0);
      for (std::size_t f = 0; f < flows_.size(); ++f)
        if (!fixed[f])
          for (const LinkId link : flows_[f].path->links) weights[link] += flows_[f].path->weight;
      const auto level_of = [&](std::size_t f) {
        double level = std::numeric_limits<double>::infinity();
        if (flows_[f].path->cap > BytesPerSecond(0)) level = flows_[f].path->cap.value() / flows_[f].path->weight;
        for (const LinkId link : flows_[f].path->links) level = std::min(level, left[link] / weights[link]);
        return level;
      };
      double lowest = std::numeric_limits<double>::infinity();
      for (std::size_t f = 0; f < flows_.size(); ++f)
        if (!fixed[f]) lowest = std::min(lowest, level_of(f));
      std::vector<std::size_t> stopped;
      for (std::size_t f = 0; f < flows_.size(); ++f)
        if (!fixed[f] && level_of(f) <= lowest * (1 + 1e-12)) stopped.push_back(f);
      for (const std::size_t f : stopped) {
        fixed[f] = 1;
        flows_[f].rate = lowest * flows_[f].path->weight;
        for (const LinkId link : flows_[f].path->links) left[link] = std::max(0.0, left[link] - flows_[f].rate);
        ++done;
      }
    }
  }

  void note_link_loads() {
    most_on_link_.resize(graph_.links().size(), 0);
    std::vector<double> load(graph_.links().size(), 0);
    for (const RunningFlow& flow : flows_)
      for (const LinkId link : flow.path->links) load[link] += flow.rate;
    for (std::size_t l = 0; l < load.size(); ++l) most_on_link_[l] = std::max(most_on_link_[l], load[l]);
  }

  void advance() {
    share();
    note_link_loads();
    double step = std::numeric_limits<double>::infinity();
    std::vector<double> rates;
    for (const Work& work : works_) {
      rates.push_back(rate_of(work));
      step = std::min(step, work.left / rates.back());
    }
    for (const RunningFlow& flow : flows_) step = std::min(step, flow.left / flow.rate);
    now_ += step;
    // What is due within a picosecond is due now, as in the engine.
    const double soon = 1e-12;
    std::vector<int> worked, flowed;
    for (std::size_t w = 0; w < works_.size(); ++w) {
      works_[w].left -= step * rates[w];
      if (works_[w].left <= soon * rates[w]) worked.push_back(works_[w].operation);
    }
    for (RunningFlow& flow : flows_) {
      flow.left -= step * flow.rate;
      if (flow.left <= soon * flow.rate) {
        flow.left = -1;
        flowed.push_back(flow.operation);
      }
    }
    std::erase_if(works_,
                  [&](const Work& w) { return std::find(worked.begin(), worked.end(), w.operation) != worked.end(); });
    std::erase_if(flows_, [](const RunningFlow& flow) { return flow.left < 0; });
    for (const int id : worked) begin_flows(id);
    for (const int id : flowed)
      if (--open_[id] == 0) complete(id);
  }

  const StepGraph& graph_;
  double now_ = 0;
  std::vector<std::int32_t> waiting_;
  std::vector<int> open_;
  std::vector<Work> works_;
  std::vector<RunningFlow> flows_;
  std::vector<double> most_on_link_;
  Timeline timeline_;
};

}  // namespace stepcast::test
