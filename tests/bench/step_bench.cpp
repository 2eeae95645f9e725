// Whole commands, process start included: processor time of all their processes, and time and memory over their targets
// (below 1 is within).
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "tests/bench/whole_command.hpp"

namespace stepcast {
namespace {

constexpr int kRuns = 7;  // of which the shortest counts, because these machines are shared

struct Command {
  std::string name;
  std::vector<std::string> arguments;
  double target_seconds;
  double target_megabytes;
};

std::vector<Command> commands() {
  const std::string scenarios = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/";
  const std::string gpt3 = scenarios + "gpt3-175b-a100-1024.json";
  const std::string llama3 = scenarios + "llama3-405b-h100-16384.json";
  // With more nodes the batch grows too: as many micro-batches on each replica.
  return {
      {"version", {"--version"}, 0.030, 150},
      {"gpt3_1024_simulated", {"run", gpt3}, 0.060, 150},
      {"gpt3_16384_simulated",
       {"run", gpt3, "--set", "cluster.nodes=2048", "--set", "workload.global_batch=24576"},
       0.060,
       150},
      {"llama3_405b_16384_simulated", {"run", llama3}, 0.060, 150},
      {"llama3_405b_131072_simulated",
       {"run", llama3, "--set", "cluster.nodes=16384", "--set", "workload.global_batch=16384"},
       0.300,
       150},
      {"gpt3_1024_by_operator", {"run", gpt3, "--granularity", "operator"}, 1.0, 400},
      {"gpt3_1024_closed_form", {"run", gpt3, "--fidelity", "analytic"}, 0.030, 150},
  };
}

void whole_command(benchmark::State& state, const Command& command) {
  const std::string program = built_stepcast("/proc/self/exe");
  Measured best;
  for ([[maybe_unused]] const auto _ : state) {
    best = best_of(kRuns, program, command.arguments);
    state.SetIterationTime(best.cpu_seconds);
  }
  if (!best.ok) state.SkipWithError("the command failed");
  state.counters["seconds"] = best.seconds;
  state.counters["to_target"] = best.seconds / command.target_seconds;
  state.counters["MB"] = best.megabytes;
  state.counters["MB_to_target"] = best.megabytes / command.target_megabytes;
}

const bool kRegistered = [] {
  for (const Command& command : commands())
    benchmark::RegisterBenchmark(("command/" + command.name).c_str(), whole_command, command)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace stepcast
