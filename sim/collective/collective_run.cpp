#include "sim/collective/collective_run.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "models/collectives/lateness.hpp"
#include "sim/collective/executor.hpp"
#include "sim/collective/lower_run.hpp"
#include "sim/collective/static_time.hpp"
#include "sim/protocol/worker_client.hpp"

namespace stepcast {

namespace {

/// Steps that a folded collective is cut into where it contends: each stands for as many equal ones. Contention changes
/// when a job begins or ends, so a job of so many steps sees it to within one part of them.
constexpr int kFoldedSteps = 128;

/// Other seeds whose results make the range of a run that depends on chance: the second and the second to last of them
/// bound the middle 9 of 10.
constexpr int kOtherSeeds = 20;
/// Messages of a phase that folding executes all the same where each is sent once: an exchange of all pairs of 128
/// ranks, or a tree or chain. Which rounds of an exchange meet on an up-link is not in the sum of their loads, and
/// neither is how much of a stream's busiest link stands idle while its messages are held up elsewhere.
constexpr std::size_t kExecutedMessages = 128 * 128;
/// Messages of a run that folding executes one by one where their order decides (drawn paths and late ranks, several
/// jobs): two all_reduce of 256 ranks with two lanes each.
constexpr double kMostExecuted = 2 * 2 * 256 * 510;
constexpr double kLowQuantile = 0.05, kHighQuantile = 0.95;

bool only_late(const CollectiveConditions& c) {
  return c.slow_links.empty() && c.slow_ranks.empty() && c.background.empty() && c.failures.empty();
}

CollectiveJobResult named(const CollectiveJob& job, const CollectivePlan& plan) {
  CollectiveJobResult out;
  out.algorithm = plan.cost.algorithm;
  out.protocol = plan.cost.protocol;
  out.start = job.start;
  return out;
}

CollectiveRunResult executed(const CollectiveRun& run, const FlowProgram& program, const ProgramRunner& contended) {
  ProgramResult result;
  try {
    result = execute_alone(program);
  } catch (const MessagesMeet&) {
    result = contended(program);
  }
  CollectiveRunResult out;
  out.end = Seconds(result.end);
  out.flows = result.flows;
  out.shared_flows = result.shared_flows;
  out.links = std::move(result.links);
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    CollectiveJobResult job = named(run.jobs[j], plan_of(run.jobs[j], run.setting));
    for (const double end : result.rank_ends[j]) {
      job.rank_ends.emplace_back(end);
      job.end = std::max(job.end, Seconds(end));
    }
    out.jobs.push_back(std::move(job));
  }
  return out;
}

/// A job that nothing disturbs on a network that treats all ranks alike: its closed form.
CollectiveJobResult by_closed_form(const CollectiveRun& run) {
  const CollectiveJob& job = run.jobs.front();
  const CollectivePlan plan = plan_of(job, run.setting);
  CollectiveJobResult out = named(job, plan);
  Seconds time = plan.start;
  const GroupShape shape = shape_of(job, run.setting);
  for (const CollectivePhase& phase : plan.phases) time += phase_time(phase, run.setting.interconnect, shape);
  out.end = job.start + time;
  if (run.conditions.jitter > Seconds(0)) {
    const auto late = late_arrivals(run.conditions, run.seed, 0, shape.size);
    out.low = out.end + latest_quantile(run.conditions.jitter, shape.size, kLowQuantile);
    out.high = out.end + latest_quantile(run.conditions.jitter, shape.size, kHighQuantile);
    out.end += Seconds(*std::max_element(late.begin(), late.end()));
  }
  return out;
}

/// A job alone, from the loads that its messages put on the links.
Seconds end_by_loads(const CollectiveRun& run, std::uint64_t seed) {
  const FlowProgram program = lower_run(run, seed);
  return Seconds(static_end(program.jobs.front(), program));
}

bool sends_few_once(const FlowProgram& program) {
  const auto& phases = program.jobs.front().phases;
  return std::any_of(phases.begin(), phases.end(), [](const ProgramPhase& phase) {
    return phase.kind != ProgramKind::stepwise && phase.lanes.size() <= kExecutedMessages;
  });
}

double messages_of(const ProgramPhase& phase) {
  return static_cast<double>(phase.lanes.size()) / phase.columns * phase.steps;
}

bool few_messages(const FlowProgram& program) {
  double sum = 0;
  for (const ProgramJob& job : program.jobs)
    for (const ProgramPhase& phase : job.phases) sum += messages_of(phase);
  return sum <= kMostExecuted;
}

/// Late ranks whose paths are drawn, or cross where a fabric has them cross: whether two of their messages meet on a
/// link depends on when both are sent.
bool meets_by_chance(const CollectiveRun& run) {
  return (run.setting.hashed || run.setting.laid) && run.conditions.jitter > Seconds(0);
}

CollectiveJobResult by_loads(const CollectiveRun& run, const ProgramRunner& contended) {
  CollectiveJobResult out = named(run.jobs.front(), plan_of(run.jobs.front(), run.setting));
  const Seconds by_seed = end_by_loads(run, run.seed);
  out.end = by_seed;
  if (const FlowProgram program = lower_run(run, run.seed);
      sends_few_once(program) || (meets_by_chance(run) && few_messages(program)))
    out.end = executed(run, program, contended).end;
  if (!run.setting.hashed && run.conditions.jitter <= Seconds(0)) return out;
  std::vector<Seconds> ends;
  // What the order of messages adds to the loads of one seed it adds to those of the others.
  const double order = by_seed > Seconds(0) ? out.end / by_seed : 1;
  for (int other = 1; other <= kOtherSeeds; ++other) ends.push_back(end_by_loads(run, run.seed + other) * order);
  std::sort(ends.begin(), ends.end());
  out.low = ends[1];
  out.high = ends[kOtherSeeds - 2];
  return out;
}

/// Ranks that come late throw the rounds of an exchange out of step, so that two messages come to one rank at once.
bool exchanges_out_of_step(const CollectiveRun& run) {
  if (run.conditions.jitter <= Seconds(0)) return false;
  const CollectivePlan plan = plan_of(run.jobs.front(), run.setting);
  const auto ranks = static_cast<std::size_t>(shape_of(run.jobs.front(), run.setting).size);
  return ranks * ranks <= kExecutedMessages &&
         std::any_of(plan.phases.begin(), plan.phases.end(),
                     [](const auto& phase) { return phase.pattern == MessagePattern::direct; });
}

CollectiveRunResult folded(const CollectiveRun& run, const ProgramRunner& contended) {
  const CollectiveConditions& conditions = run.conditions;
  const bool alone = run.jobs.size() == 1 && conditions.background.empty() && conditions.failures.empty();
  if (!alone) {
    FlowProgram program = lower_run(run, run.seed);
    if (!few_messages(program)) merge_steps(program, kFoldedSteps);
    CollectiveRunResult out = executed(run, program, contended);
    out.links.clear();
    for (CollectiveJobResult& job : out.jobs) job.rank_ends.clear();
    return out;
  }
  const bool levels_known = run.setting.interconnect.uplinks.empty() || run.jobs.front().shape;
  const bool symmetric =
      only_late(conditions) && !run.setting.hashed && !run.setting.laid && levels_known && !exchanges_out_of_step(run);
  CollectiveRunResult out;
  out.jobs.push_back(symmetric ? by_closed_form(run) : by_loads(run, contended));
  out.end = out.jobs.front().end;
  return out;
}

}  // namespace

ProgramResult run_in_worker(const FlowProgram& program) {
  Request request;
  request.command = Request::Command::flows;
  request.program = to_json(program);
  const Reply reply = WorkerClient::run_once(request);
  if (!reply.error.empty()) throw std::runtime_error(reply.error);
  if (!reply.flows) throw std::runtime_error("the worker's reply to a flow program has no result");
  return program_result_from_json(*reply.flows);
}

CollectiveRunResult run_collectives(const CollectiveRun& run, const ProgramRunner& contended) {
  check_run(run);
  if (run.jobs.empty()) return {};
  if (run.flows == CollectiveFlows::folded) return folded(run, contended);
  return executed(run, lower_run(run, run.seed), contended);
}

CollectiveSetting single_gpu_star(int nodes) {
  constexpr BytesPerSecond kRate = 25_GBps;
  constexpr Seconds kWay = 2_us;  // up to the switch and down again
  CollectiveSetting out;
  out.nodes = nodes;
  out.nic_bandwidth = kRate;
  Interconnect& net = out.interconnect;
  net.nic = net.node_network = net.rank_network = kRate;
  net.nics = 1;
  net.network_hop = net.remote_peer_start = kWay;
  net.small_messages = net.bulk = {Seconds(0), kWay, kWay, 1, 1};
  out.network = [nodes, rate = kRate](std::uint64_t) {
    NetworkLinks star;
    star.bandwidths.assign(2 * static_cast<std::size_t>(nodes), rate.value());
    star.route = [](int from, int to, std::uint64_t, std::vector<int>& out_links) {
      out_links.assign({2 * from, 2 * to + 1});
    };
    return star;
  };
  return out;
}

}  // namespace stepcast
