#include "checks/check_metric.hpp"

#include <algorithm>

namespace stepcast {

namespace {

using P = const Prediction&;
using Figure = std::optional<double>;

Figure peak_memory(P p) { return p.memory.stages.at(static_cast<std::size_t>(p.memory.worst_stage)).total().in(1_GiB); }

Figure if_tokens(P p, double value) { return p.tokens_per_s > 0 ? Figure(value) : std::nullopt; }

}  // namespace

const std::vector<CheckMetric>& check_metrics() {
  // Throughput gates and the step time does not: a larger batch takes longer steps and may train faster. Samples gate
  // where there are no tokens. What a framework calls TFLOP/s and MFU depends on what it counts: shown only.
  static const std::vector<CheckMetric> metrics{
      {"step_time_s", WorseWhen::higher, false, true, [](P p) { return Figure(p.step_time.value()); }},
      {"tokens_per_s", WorseWhen::lower, true, true, [](P p) { return if_tokens(p, p.tokens_per_s); }},
      {"tokens_per_s_per_gpu", WorseWhen::lower, false, true, [](P p) { return if_tokens(p, p.tokens_per_s_per_gpu); }},
      {"samples_per_s", WorseWhen::lower, true, true, [](P p) { return Figure(p.samples_per_s); }},
      {"model_tflops_per_gpu", WorseWhen::lower, false, false, [](P p) { return Figure(p.model_tflops_per_gpu); }},
      {"mfu", WorseWhen::lower, false, false, [](P p) { return Figure(p.mfu); }},
      {"communication.exposed_s", WorseWhen::higher, false, false,
       [](P p) { return Figure(p.communication.exposed.value()); }},
      {"memory.peak_GiB", WorseWhen::higher, true, false, peak_memory},
      {"energy.per_sample_J", WorseWhen::higher, true, false, [](P p) { return Figure(p.energy_per_sample.value()); }},
      {"cost.run_usd", WorseWhen::higher, true, false,
       [](P p) { return p.run_cost ? Figure(p.run_cost->value()) : std::nullopt; }},
      {"time_to_train_s", WorseWhen::higher, true, false,
       [](P p) { return p.time_to_train ? Figure(p.time_to_train->value()) : std::nullopt; }}};
  return metrics;
}

const CheckMetric* find_check_metric(std::string_view name) {
  const auto& metrics = check_metrics();
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.name == name; });
  return found == metrics.end() ? nullptr : &*found;
}

std::vector<std::string> check_metric_names() {
  std::vector<std::string> out;
  for (const CheckMetric& metric : check_metrics()) out.emplace_back(metric.name);
  return out;
}

}  // namespace stepcast
