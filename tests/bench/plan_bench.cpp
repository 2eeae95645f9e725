// The planner's search. Targets: 50,000 configurations a second on one core, and the search of Turing-530B on 5,128
// GPUs within 0.2 s on two cores (Calculon's takes 4.2 to 23 s on two such cores for 8,112 configurations).
#include <benchmark/benchmark.h>

#include <filesystem>
#include <variant>

#include "planner/plan.hpp"

namespace stepcast {
namespace {

constexpr double kTargetRate = 50'000;  // configurations a second and core
constexpr double kTargetSearch = 0.2;   // seconds on two cores

const Catalog& catalog() {
  static const Catalog instance = Catalog::standard({});
  return instance;
}

const PlanQuestion& turing() {
  static const PlanQuestion question = load_plan_question(
      std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios" / "plan-turing-530b-5128.json", {}, catalog());
  return question;
}

/// Whole searches; counters: options a second, and time over the target.
void search_turing(benchmark::State& state, bool prune) {
  SearchOptions options;
  options.threads = static_cast<int>(state.range(0));
  options.prune = prune;
  long evaluated = 0;
  for ([[maybe_unused]] const auto _ : state) evaluated = search(turing(), catalog(), options).tally.evaluated;
  state.counters["options"] = static_cast<double>(evaluated);
  state.counters["options_per_s"] =
      benchmark::Counter(static_cast<double>(evaluated), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["to_target"] =
      benchmark::Counter(kTargetSearch, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(search_turing, pruned, true)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_turing, exhaustive, false)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Options one by one on one core, each costed in full if it fits memory: configurations a second over the target.
void costing_options(benchmark::State& state) {
  Evaluator evaluator(turing(), families_of(turing().spec, catalog()).front(), catalog());
  Tally ignored;
  std::vector<Option> options;
  for (const Block& block : evaluator.space().blocks(0, ignored))
    for (const Option& option : evaluator.space().options(block, ignored)) options.push_back(option);
  for ([[maybe_unused]] const auto _ : state)
    for (const Option& option : options) benchmark::DoNotOptimize(evaluator.evaluate(option, {}));
  const auto count = static_cast<double>(options.size());
  state.counters["options_per_s"] = benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["to_target"] = benchmark::Counter(count / kTargetRate, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(costing_options)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepcast
