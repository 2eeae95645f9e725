#include "cli/predictor.hpp"

#include <fmt/format.h>

#include "models/scenario/scenario.hpp"
#include "report/json.hpp"
#include "report/predict.hpp"
#include "sim/protocol/worker_client.hpp"

namespace stepcast {

namespace {

Request request_of(const Session& session, const ScenarioDocument& scenario) {
  Request request;
  request.scenario = scenario.json;
  request.file = scenario.file;
  for (const std::filesystem::path& directory : session.catalog_directories)
    request.catalog.push_back(std::filesystem::absolute(directory).string());
  return request;
}

PredictionOutcome outcome_of(const Reply& reply) {
  if (!reply.error.empty()) throw std::runtime_error(reply.error);
  if (reply.prediction) return {prediction_from_json(*reply.prediction), {}};
  return {std::nullopt, reply.faults};
}

PredictionOutcome analytic_outcome(Session& session, const ScenarioDocument& scenario) {
  try {
    const Scenario resolved = resolve(scenario.json, scenario.file, {}, session.catalog());
    return {predict_analytic(resolved, session.catalog()), {}};
  } catch (const InputError& error) {
    return {std::nullopt, error.faults()};
  }
}

}  // namespace

Prediction predict_scenario(Session& session, const ScenarioDocument& scenario,
                            const std::optional<std::filesystem::path>& trace) {
  PredictionOutcome outcome;
  if (is_analytic(scenario.json)) {
    if (trace)
      throw InputError(
          {{scenario.file, "/run/fidelity", "the closed form has no timeline to trace", "trace a simulated run"}});
    outcome = analytic_outcome(session, scenario);
  } else {
    Request request = request_of(session, scenario);
    if (trace) request.trace = std::filesystem::absolute(*trace).string();
    outcome = outcome_of(WorkerClient::run_once(request));
  }
  if (!outcome.prediction) throw InputError(std::move(outcome.faults));
  return std::move(*outcome.prediction);
}

std::vector<PredictionOutcome> predict_scenarios(Session& session, const std::vector<ScenarioDocument>& scenarios,
                                                 int jobs) {
  std::vector<PredictionOutcome> outcomes(scenarios.size());
  std::optional<WorkerClient> worker;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    if (is_analytic(scenarios[i].json)) {
      outcomes[i] = analytic_outcome(session, scenarios[i]);
      continue;
    }
    if (!worker) worker.emplace(jobs);
    Request request = request_of(session, scenarios[i]);
    request.id = i;
    worker->submit(request);
  }
  // Replies come as they are ready; their ids put them in order.
  while (worker)
    if (const std::optional<Reply> reply = worker->next()) {
      outcomes.at(reply->id.get<std::size_t>()) = outcome_of(*reply);
    } else {
      worker.reset();
    }
  return outcomes;
}

SharedOutcome predict_shared(Session& session, const ScenarioDocument& jobs) {
  if (!jobs.json.is_object() || !jobs.json.contains("jobs"))
    throw InputError({{jobs.file, "/jobs", "missing: the scenarios that share a fabric",
                       "name several scenario files, or one {\"jobs\": [...]}"}});
  Request request = request_of(session, jobs);
  request.command = Request::Command::share;
  Reply reply = WorkerClient::run_once(request);
  if (!reply.error.empty()) throw std::runtime_error(reply.error);
  if (!reply.prediction) throw InputError(std::move(reply.faults));
  return shared_outcome_from_json(*reply.prediction);
}

}  // namespace stepcast
