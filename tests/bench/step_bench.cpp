// Whole commands, process start included: time and memory of each against its target. Each figure is the minimum of
// several runs, because these machines are shared; the ratio is that of the whole time, CPU is what it takes alone.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/whole_command.hpp"

namespace {

constexpr int kRuns = 7;

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
      {"stepcast --version", {"--version"}, 0.030, 150},
      {"GPT-3 175B, 1,024 GPUs, simulated", {"run", gpt3}, 0.060, 150},
      {"GPT-3 175B, 16,384 GPUs, simulated",
       {"run", gpt3, "--set", "cluster.nodes=2048", "--set", "workload.global_batch=24576"},
       0.060,
       150},
      {"Llama 3 405B, 16,384 GPUs, simulated", {"run", llama3}, 0.060, 150},
      {"Llama 3 405B, 131,072 GPUs, simulated",
       {"run", llama3, "--set", "cluster.nodes=16384", "--set", "workload.global_batch=16384"},
       0.300,
       150},
      {"GPT-3 175B, 1,024 GPUs, by operator", {"run", gpt3, "--granularity", "operator"}, 1.0, 400},
      {"GPT-3 175B, 1,024 GPUs, closed form", {"run", gpt3, "--fidelity", "analytic"}, 0.030, 150},
  };
}

}  // namespace

int main(int, char** argv) {
  const std::string stepcast = stepcast::built_stepcast(argv[0]);
  fmt::print("{:<40} {:>10} {:>10} {:>10} {:>8} {:>10} {:>8}\n", "command", "CPU", "time", "target", "ratio", "memory",
             "ratio");
  bool ok = true;
  for (const Command& command : commands()) {
    const stepcast::Measured best = stepcast::best_of(kRuns, stepcast, command.arguments);
    ok = ok && best.ok;
    fmt::print("{:<40} {:>7.1f} ms {:>7.1f} ms {:>7.0f} ms {:>8.2f} {:>7.0f} MB {:>8.2f}\n", command.name,
               best.cpu_seconds * 1e3, best.seconds * 1e3, command.target_seconds * 1e3,
               best.seconds / command.target_seconds, best.megabytes, best.megabytes / command.target_megabytes);
    std::fflush(stdout);
  }
  return ok ? 0 : 1;
}
