#include "sim/engine/flow_runner.hpp"

#include <algorithm>
#include <cmath>

#include "sim/engine/make_engine.hpp"

namespace stepcast {

namespace {

std::vector<double> rates_alone(const StepGraph& graph) {
  std::vector<double> rates;
  rates.reserve(graph.paths().size());
  for (const GraphPath& path : graph.paths()) {
    double rate = path.cap > BytesPerSecond(0) ? path.cap.value() : INFINITY;
    for (const LinkId link : path.links) rate = std::min(rate, graph.links()[link].bandwidth.value());
    rates.push_back(rate);
  }
  return rates;
}

}  // namespace

FlowRunner::FlowRunner(const StepGraph& graph, const EngineOptions& options, const PathHosts& hosts, WorkClock& clock,
                       LinkRateRecorder* recorder)
    : graph_(graph),
      options_(options),
      hosts_(hosts),
      clock_(clock),
      recorder_(recorder),
      rate_alone_(rates_alone(graph)),
      uses_(graph.links().size()),
      slots_(graph.flows().size()),
      comms_(graph.flows().size()) {}

bool FlowRunner::start(int flow) {
  const Flow& wanted = graph_.flows()[flow];
  if (wanted.bytes <= Bytes(0) || std::isinf(rate_alone_[wanted.path])) return false;
  const bool shares = must_share(flow);
  for (const LinkId link : links_of(flow)) {
    if (shares && uses_[link].lone >= 0) {
      const int other = uses_[link].lone;
      start_in_simgrid(other, take_off_clock(other));
    }
    ++uses_[link].flows;
  }
  if (shares) {
    start_in_simgrid(flow, wanted.bytes.value());
  } else {
    start_on_clock(flow, wanted.bytes.value());
  }
  return true;
}

void FlowRunner::ended(int flow) {
  if (comms_[flow]) {
    ended_ = std::move(comms_[flow]);
    if (recorder_)
      for (const LinkId link : links_of(flow)) recorder_->flow_left(link);
  } else {
    leave_clock(flow);
  }
  for (const LinkId link : links_of(flow)) --uses_[link].flows;
}

bool FlowRunner::must_share(int flow) const {
  const auto& links = links_of(flow);
  return options_.all_flows_in_simgrid ||
         std::any_of(links.begin(), links.end(), [&](LinkId link) { return uses_[link].flows > 0; });
}

void FlowRunner::start_on_clock(int flow, double bytes) {
  const double rate = rate_alone_[graph_.flows()[flow].path];
  slots_[flow] = clock_.start(WorkClock::Kind::flow, flow, bytes, rate);
  for (const LinkId link : links_of(flow)) {
    uses_[link].lone = flow;
    if (recorder_) recorder_->set_lone_rate(link, now(), rate);
  }
}

void FlowRunner::start_in_simgrid(int flow, double bytes) {
  comms_[flow] = hosts_.start(graph_.flows()[flow].path, bytes * kUnitsPerByte, flow);
  if (recorder_)
    for (const LinkId link : links_of(flow)) recorder_->flow_joined(link);
}

double FlowRunner::take_off_clock(int flow) {
  leave_clock(flow);
  return clock_.cancel(slots_[flow]);
}

void FlowRunner::leave_clock(int flow) {
  for (const LinkId link : links_of(flow)) {
    uses_[link].lone = -1;
    if (recorder_) recorder_->set_lone_rate(link, now(), 0);
  }
}

}  // namespace stepcast
