#include "sim/worker/run_job.hpp"

#include <stdexcept>

#include "hardware-catalog/catalog.hpp"
#include "models/closed_form.hpp"
#include "models/scenario/scenario.hpp"
#include "models/updates/lone_node.hpp"
#include "report/json.hpp"
#include "report/predict.hpp"
#include "report/predict_updates.hpp"
#include "report/rank_run.hpp"
#include "report/run_outlook.hpp"
#include "report/shared_jobs.hpp"
#include "report/step_detail.hpp"
#include "report/trace.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/run_program.hpp"
#include "sim/engine/run_shared.hpp"
#include "sim/engine/run_writing.hpp"
#include "sim/worker/progress_file.hpp"

namespace stepcast {

namespace {

/// Says how much longer a step takes while a checkpoint drains beside it: `writing` over `usual`, as simulated.
void add_writing_step(Prediction& prediction, Seconds writing, Seconds usual) {
  if (!prediction.outlook || usual <= Seconds(0)) return;
  auto outlook = std::make_shared<RunOutlook>(*prediction.outlook);
  outlook->checkpoint.step_while_writing = prediction.step_time * (writing / usual);
  prediction.outlook = std::move(outlook);
}

Prediction simulated(const Scenario& scenario, const Catalog& catalog, const Request& request, Reply& reply) {
  Seconds usual;
  const auto simulated_step = [&](const Job& job) {
    const StepGraph graph = build_step_graph(job, build_options(scenario));
    StepProgress progress;
    if (request.progress) progress = ProgressFile(*request.progress);
    const Timeline timeline = simulate(graph, {.record_link_rates = request.trace.has_value()}, progress);
    usual = timeline.end;
    if (request.trace) write_trace(*request.trace, job, graph, timeline);
    if (request.detail) reply.detail = to_json(detail_of(job, graph, timeline));
    return breakdown_of(job, graph, timeline);
  };
  // A trace or detail of workers that meet otherwise is that of one node by itself.
  if (exchanges_apart(scenario)) return predict_updates(scenario, catalog, Fidelity::simulated, simulated_step);
  const Job job = lower(scenario);
  WritingRun beside_checkpoint(job);
  Prediction out = predict(job, simulated_step(job), Fidelity::simulated, catalog);
  if (const std::optional<Seconds> writing = beside_checkpoint.step()) add_writing_step(out, *writing, usual);
  return out;
}

Json predicted(const Request& request, Reply& reply) {
  const Catalog catalog = Catalog::standard({request.catalog.begin(), request.catalog.end()});
  if (request.command == Request::Command::share) return to_json(run_shared(request.scenario, request.file, catalog));
  const Scenario scenario = resolve(request.scenario, request.file, {}, catalog);
  if (scenario.spec.run.fidelity == Fidelity::simulated) return to_json(simulated(scenario, catalog, request, reply));
  if (request.trace)
    throw InputError({{request.file, "/run/fidelity", "the closed form has no timeline to trace",
                       "set run.fidelity to \"simulated\""}});
  if (request.detail) reply.detail = to_json(detail_of(closed_form(lower(scenario))));
  return to_json(predict_analytic(scenario, catalog));
}

/// What the engine refuses follows from sizes and times that the graph states.
Timeline simulate_step(const RankRunQuestion& question, const StepGraph& graph, bool link_rates) {
  try {
    return simulate(graph, {.record_link_rates = link_rates});
  } catch (const std::invalid_argument& error) {
    throw InputError({{question.graph, "", error.what(), "smaller sizes"}});
  }
}

/// A step graph on a cluster.
Json stepped(const Request& request) {
  const Catalog catalog = Catalog::standard({request.catalog.begin(), request.catalog.end()});
  const RankRunQuestion question = rank_run_question(request.step);
  const auto laid = lay_step(question, catalog);
  const Timeline timeline = simulate_step(question, laid->step.graph, request.trace.has_value());
  if (request.trace) write_rank_trace(*request.trace, *laid, timeline);
  return to_json(rank_run_of(*laid, timeline, catalog));
}

}  // namespace

Reply run_job(const Request& request) {
  Reply reply;
  reply.id = request.id;
  try {
    if (request.command == Request::Command::flows)
      reply.flows = to_json(run_program(program_from_json(request.program)));
    else if (request.command == Request::Command::step)
      reply.step = stepped(request);
    else
      reply.prediction = predicted(request, reply);
  } catch (const InputError& error) {
    reply.faults = error.faults();
    // What lies deeper than the reader does not know the file.
    for (Fault& fault : reply.faults)
      if (fault.file.empty()) fault.file = request.file;
  } catch (const std::exception& error) {
    reply.error = error.what();
    if (reply.error.empty()) reply.error = "an error without a text";
  }
  return reply;
}

}  // namespace stepcast
