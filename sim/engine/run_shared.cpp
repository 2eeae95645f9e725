#include "sim/engine/run_shared.hpp"

#include <algorithm>
#include <cmath>

#include "models/scenario/scenario.hpp"
#include "models/updates/timeline_fault.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/protocol/child_process.hpp"

namespace stepcast {

namespace {

/// Steps that a short job repeats at most beside a long one; beyond it, its traffic has long become an even load.
constexpr double kMostSteps = 64;

std::vector<Scenario> scenarios_of(const Json& document, Diagnostics& diagnostics, const Catalog& catalog) {
  std::vector<Scenario> out;
  const auto jobs = document.find("jobs");
  if (jobs == document.end() || !jobs->is_array() || jobs->size() < 2) {
    if (!diagnostics.meant("/jobs")) diagnostics.error("/jobs", "expected a list of two scenarios or more");
    return out;
  }
  for (std::size_t j = 0; j < jobs->size(); ++j) try {
      out.push_back(resolve((*jobs)[j], diagnostics.file(), {}, catalog));
    } catch (const InputError& error) {
      for (const Fault& fault : error.faults())
        diagnostics.error(fmt::format("/jobs/{}{}", j, fault.pointer), fault.message, fault.suggestion);
    }
  return out;
}

JobMixing mixing_of(const Json& document, Diagnostics& diagnostics) {
  JobMixing mixing = JobMixing::apart;
  if (const auto found = document.find("mixing"); found != document.end())
    Codec<JobMixing>::read(mixing, *found, "/mixing", "mixing", {}, diagnostics);
  return mixing;
}

void refuse_unknown_keys(const Json& document, Diagnostics& diagnostics) {
  for (const auto& [key, value] : document.items())
    if (key != "jobs" && key != "mixing") diagnostics.unknown_key("", "a list of jobs", key, {"jobs", "mixing"});
}

/// What is simulated beside others is a step's operations.
void refuse_without_timeline(const std::vector<Scenario>& scenarios, Diagnostics& diagnostics) {
  for (std::size_t j = 0; j < scenarios.size(); ++j)
    if (const std::optional<Fault> fault = timeline_fault(scenarios[j]))
      diagnostics.error(fmt::format("/jobs/{}{}", j, fault->pointer), fault->message, fault->suggestion);
}

Seconds alone(const Job& job, const BuildOptions& options) {
  return Seconds(std::stod(
      run_in_child([&] { return fmt::format("{:.17g}", simulate(build_step_graph(job, options)).end.value()); })));
}

Seconds end_of(const Timeline& timeline, const std::vector<int>& operations) {
  Seconds end;
  for (const int operation : operations) end = std::max(end, timeline.spans[static_cast<std::size_t>(operation)].end);
  return end;
}

/// Mean time of the steps that are over by `until`; of the first one when it lasts longer.
void take_mean(SharedJobOutcome& out, const std::vector<Seconds>& ends, Seconds until) {
  out.steps = std::max<int>(1, static_cast<int>(std::upper_bound(ends.begin(), ends.end(), until) - ends.begin()));
  out.together = ends[static_cast<std::size_t>(out.steps) - 1] / out.steps;
}

}  // namespace

SharedOutcome run_shared(const Json& document, const std::string& file, const Catalog& catalog) {
  Diagnostics diagnostics(file);
  if (!document.is_object()) diagnostics.error("", "expected an object with \"jobs\"");
  diagnostics.throw_if_faulty();
  refuse_unknown_keys(document, diagnostics);
  SharedOutcome out;
  out.mixing = mixing_of(document, diagnostics);
  const std::vector<Scenario> scenarios = scenarios_of(document, diagnostics, catalog);
  diagnostics.throw_if_faulty();
  refuse_without_timeline(scenarios, diagnostics);
  diagnostics.throw_if_faulty();
  check_same_fabric(scenarios, out.mixing, diagnostics);
  diagnostics.throw_if_faulty();

  const std::vector<JobNodes> nodes = place_jobs(scenarios, out.mixing);
  std::vector<Job> jobs;
  jobs.reserve(scenarios.size());
  Seconds longest;
  for (std::size_t j = 0; j < scenarios.size(); ++j) {
    const Scenario& scenario = scenarios[j];
    jobs.push_back(lower(scenario, nodes[j]));
    SharedJobOutcome job;
    job.name = scenario.spec.name.empty() ? fmt::format("job {}", j + 1) : scenario.spec.name;
    job.nodes = scenario.spec.cluster.nodes;
    job.devices = scenario.devices();
    job.alone = alone(jobs.back(), build_options(scenario));
    longest = std::max(longest, job.alone);
    out.jobs.push_back(std::move(job));
  }
  std::vector<SharedJob> shared;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    // Twice the longest step: so much slower may it become before nobody disturbs its end.
    const double steps = std::clamp(std::ceil(2 * (longest / out.jobs[j].alone)), 2.0, kMostSteps);
    shared.push_back({&jobs[j], build_options(scenarios[j]), static_cast<int>(steps)});
  }
  const SharedStepGraph graph = build_shared_graph(shared);
  const Timeline timeline = simulate(graph.graph);
  std::vector<std::vector<Seconds>> ends;
  Seconds all_run = timeline.end;
  for (const auto& of_job : graph.ends) {
    ends.emplace_back();
    for (const std::vector<int>& step : of_job) ends.back().push_back(end_of(timeline, step));
    all_run = std::min(all_run, ends.back().back());
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) take_mean(out.jobs[j], ends[j], all_run);
  return out;
}

}  // namespace stepcast
