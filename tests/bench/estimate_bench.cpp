// The closed form per configuration. Target: 20 µs for lowering, estimate and memory of a configuration of GPT-3 175B.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "report/predict.hpp"

namespace stepcast {
namespace {

constexpr double kTargetSeconds = 20e-6;

const Catalog& catalog() {
  static const Catalog instance = Catalog::standard({});
  return instance;
}

Scenario scenario(const char* name) {
  return load_scenario(std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios" / name, {}, catalog());
}

void report_ratio(benchmark::State& state) {
  // Time per configuration over the target: below 1 is within it.
  state.counters["to_target"] =
      benchmark::Counter(kTargetSeconds, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void closed_form(benchmark::State& state, const char* name) {
  const Scenario resolved = scenario(name);
  for ([[maybe_unused]] const auto _ : state) {
    const Job job = lower(resolved);
    benchmark::DoNotOptimize(estimate(job));
    benchmark::DoNotOptimize(memory_of(job));
  }
  report_ratio(state);
}
BENCHMARK_CAPTURE(closed_form, gpt3, "gpt3-175b-a100-1024.json");
BENCHMARK_CAPTURE(closed_form, llama3_70b, "llama3-70b-h100-512.json");
BENCHMARK_CAPTURE(closed_form, bert_large, "bert-large-16nodes.json");

void lowering(benchmark::State& state) {
  const Scenario resolved = scenario("gpt3-175b-a100-1024.json");
  for ([[maybe_unused]] const auto _ : state) benchmark::DoNotOptimize(lower(resolved));
}
BENCHMARK(lowering);

void estimating(benchmark::State& state) {
  const Scenario resolved = scenario("gpt3-175b-a100-1024.json");
  const Job job = lower(resolved);
  for ([[maybe_unused]] const auto _ : state) benchmark::DoNotOptimize(estimate(job));
}
BENCHMARK(estimating);

void prediction(benchmark::State& state) {
  const Scenario resolved = scenario("gpt3-175b-a100-1024.json");
  for ([[maybe_unused]] const auto _ : state) benchmark::DoNotOptimize(predict_analytic(resolved, catalog()));
}
BENCHMARK(prediction);

}  // namespace
}  // namespace stepcast
