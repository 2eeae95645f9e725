#pragma once

#include <fmt/format.h>

#include <string>

#include "models/parallelism/job.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/protocol/child_process.hpp"

namespace stepcast::test {

/// Seconds of a scenario's simulated step, in a process of its own: the engine runs once in each.
inline double simulated_step(const Scenario& scenario, FlowDetail flows = FlowDetail::folded) {
  return std::stod(run_in_child([&] {
    const Job job = lower(scenario);
    BuildOptions options = build_options(scenario);
    options.flows = flows;
    return fmt::format("{:.17g}", simulate(build_step_graph(job, options)).end.value());
  }));
}

}  // namespace stepcast::test
