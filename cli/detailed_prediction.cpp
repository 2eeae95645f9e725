#include "cli/detailed_prediction.hpp"

#include <algorithm>

#include "cli/predictor.hpp"
#include "models/estimate.hpp"
#include "models/scenario/scenario.hpp"
#include "models/storage/storage.hpp"
#include "models/updates/lone_node.hpp"
#include "report/json.hpp"
#include "sim/protocol/worker_client.hpp"

namespace stepcast {

namespace {

/// What a step takes beyond its path: where workers exchange apart from their step, the path is one worker's; and the
/// closed form of a step has no input.
DetailedPrediction completed(DetailedPrediction out, const Scenario& scenario) {
  constexpr double kRounding = 1e-6;
  if (exchanges_apart(scenario))
    out.detail.critical_path = worker_path(std::move(out.detail.critical_path), out.prediction);
  Seconds named;
  for (const PathPart& part : out.detail.critical_path) named += part.time;
  const Seconds rest = out.prediction.step_time - named;
  if (rest / out.prediction.step_time > kRounding) {
    const bool loads = input_time(scenario) > out.prediction.step_time * (1 - kRounding);
    auto& path = out.detail.critical_path;
    PathPart& beyond = path.emplace_back();
    beyond.what = loads ? kLoadingOfInput : "exchange of updates and waits for it";
    beyond.time = rest;
    std::stable_sort(path.begin(), path.end(), [](const PathPart& a, const PathPart& b) { return a.time > b.time; });
  }
  return out;
}

}  // namespace

DetailedPrediction predict_in_detail(Session& session, const ScenarioDocument& scenario,
                                     const std::optional<std::filesystem::path>& trace) {
  if (is_analytic(scenario.json)) {
    Prediction prediction = predict_scenario(session, scenario, trace);
    const Scenario resolved = resolve(scenario.json, scenario.file, {}, session.catalog());
    return completed({std::move(prediction), detail_of(estimate(lower(resolved)))}, resolved);
  }
  Request request;
  request.scenario = scenario.json;
  request.file = scenario.file;
  for (const std::filesystem::path& directory : session.catalog_directories)
    request.catalog.push_back(std::filesystem::absolute(directory).string());
  request.detail = true;
  if (trace) request.trace = std::filesystem::absolute(*trace).string();
  const Reply reply = WorkerClient::run_once(request);
  if (!reply.error.empty()) throw std::runtime_error(reply.error);
  if (!reply.prediction) throw InputError(reply.faults);
  return completed({prediction_from_json(*reply.prediction), step_detail_from_json(reply.detail.value())},
                   resolve(scenario.json, scenario.file, {}, session.catalog()));
}

}  // namespace stepcast
