#include "sim/worker/run_job.hpp"

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"
#include "report/json.hpp"
#include "report/predict.hpp"
#include "report/trace.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"

namespace stepcast {

namespace {

Prediction simulated(const Scenario& scenario, const Catalog& catalog, const std::optional<std::string>& trace) {
  const Job job = lower(scenario);
  const StepGraph graph = build_step_graph(job, {.granularity = scenario.spec.run.granularity});
  const Timeline timeline = simulate(graph, {.record_link_rates = trace.has_value()});
  if (trace) write_trace(*trace, job, graph, timeline);
  return predict(job, breakdown_of(job, graph, timeline), Fidelity::simulated, catalog);
}

Json predicted(const Request& request) {
  const Catalog catalog = Catalog::standard({request.catalog.begin(), request.catalog.end()});
  const Scenario scenario = resolve(request.scenario, request.file, {}, catalog);
  if (scenario.spec.run.fidelity == Fidelity::simulated) return to_json(simulated(scenario, catalog, request.trace));
  if (request.trace)
    throw InputError({{request.file, "/run/fidelity", "the closed form has no timeline to trace",
                       "set run.fidelity to \"simulated\""}});
  return to_json(predict_analytic(scenario, catalog));
}

}  // namespace

Reply run_job(const Request& request) {
  Reply reply;
  reply.id = request.id;
  try {
    reply.prediction = predicted(request);
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
