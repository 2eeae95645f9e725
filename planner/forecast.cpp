#include "planner/forecast.hpp"

#include <chrono>

#include "report/json.hpp"
#include "report/predict.hpp"
#include "sim/protocol/worker_client.hpp"

namespace stepcast {

namespace {

/// How long a wish to stop may wait for a simulation's end.
constexpr std::chrono::milliseconds kPatience{50};

std::vector<Prediction> simulated(const std::vector<Json>& scenarios, const std::string& file,
                                  const PlanOptions& options, long evaluated) {
  std::vector<std::optional<Prediction>> out(scenarios.size());
  WorkerClient worker(std::max(1, options.jobs));
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    Request request;
    request.id = i;
    request.scenario = scenarios[i];
    request.file = file;
    for (const std::filesystem::path& directory : options.catalog_directories)
      request.catalog.push_back(std::filesystem::absolute(directory).string());
    worker.submit(request);
  }
  std::size_t done = 0;
  while (worker.outstanding() > 0 && !options.stop.stop_requested()) {
    const std::optional<Reply> reply = worker.next(kPatience);
    if (!reply) continue;
    if (!reply->error.empty()) throw std::runtime_error(reply->error);
    if (!reply->prediction) throw InputError(reply->faults);
    out.at(reply->id.get<std::size_t>()) = prediction_from_json(*reply->prediction);
    ++done;
    if (options.progress) options.progress({PlanProgress::Stage::simulating, evaluated, done, scenarios.size()});
  }
  std::vector<Prediction> ready;
  for (std::optional<Prediction>& one : out) {
    if (!one) break;
    ready.push_back(std::move(*one));
  }
  return ready;
}

}  // namespace

std::vector<Prediction> forecasts_of(const std::vector<Json>& scenarios, const std::string& file,
                                     const Catalog& catalog, const PlanOptions& options, long evaluated) {
  if (scenarios.empty()) return {};
  if (options.fidelity == Fidelity::simulated) return simulated(scenarios, file, options, evaluated);
  std::vector<Prediction> out;
  out.reserve(scenarios.size());
  for (const Json& scenario : scenarios) out.push_back(predict_analytic(resolve(scenario, file, {}, catalog), catalog));
  return out;
}

}  // namespace stepcast
