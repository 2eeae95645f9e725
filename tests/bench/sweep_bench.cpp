// Whole sweeps through the real program. Targets: 1,000 simulated configurations of 1,024 GPUs within 60 s on two cores
// with memory that does not grow with the sweep; 1,000,000 in closed form within 30 s and 1 GB.
#include <benchmark/benchmark.h>

#include "tests/bench/whole_command.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast {
namespace {

const std::string kScenario = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/gpt3-175b-a100-1024.json";

void sweep(benchmark::State& state, const std::vector<std::string>& values, double target_seconds,
           double target_megabytes) {
  const std::string program = built_stepcast("/proc/self/exe");
  const ScratchFolder folder;
  const std::string store = (folder / "rows.sqlite").string();
  std::vector<std::string> arguments{"sweep", kScenario, "--store", store, "--jobs", "2"};
  arguments.insert(arguments.end(), values.begin(), values.end());
  Measured measured;
  for ([[maybe_unused]] const auto _ : state) {
    std::filesystem::remove(store);
    measured = measure(program, arguments);
  }
  if (!measured.ok) state.SkipWithError("the sweep failed");
  state.counters["store_MB"] = static_cast<double>(std::filesystem::file_size(store)) / 1e6;
  // Below 1 is within the target.
  state.counters["time_to_target"] = measured.seconds / target_seconds;
  state.counters["cpu_s"] = measured.cpu_seconds;
  state.counters["MB"] = measured.megabytes;
  state.counters["memory_to_target"] = measured.megabytes / target_megabytes;
}

constexpr double kSimulatedTarget = 60, kAnalyticTarget = 30;  // s
constexpr double kMemoryTarget = 1000;                         // MB

void simulated(benchmark::State& state, const char* bandwidths) {
  sweep(state,
        {"--set", std::string("cluster.fabric.nic_bandwidth_Gbps=") + bandwidths, "--set", "strategy.micro_batch=1,2",
         "--set", "strategy.recompute=selective,full", "--set", "workload.global_batch=768,1536"},
        kSimulatedTarget, kMemoryTarget);
}
// A tenth of the points beside all of them: the memory of both is the same when it does not grow.
BENCHMARK_CAPTURE(simulated, points_104, "25..325+25")->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(simulated, points_1000, "20..2500+20")->Iterations(1)->Unit(benchmark::kSecond);

void analytic(benchmark::State& state, const char* bandwidths) {
  sweep(state,
        {"--fidelity", "analytic", "--set", "workload.global_batch=1536..153600+1536", "--set",
         "strategy.micro_batch=1,2", "--set", "strategy.recompute=none,selective,full", "--set",
         "cluster.fabric.oversubscription=1..10.9+0.3", "--set",
         std::string("cluster.fabric.nic_bandwidth_Gbps=") + bandwidths},
        kAnalyticTarget, kMemoryTarget);
}
BENCHMARK_CAPTURE(analytic, points_20400, "200")->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(analytic, points_1020000, "25..1250+25")->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace stepcast
