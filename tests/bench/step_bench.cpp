// Whole commands, process start included: time and memory of each against its target. Each figure is the minimum of
// several runs, because these machines are shared.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr int kRuns = 7;

struct Measured {
  double seconds = std::numeric_limits<double>::infinity();
  double megabytes = 0;
  bool ok = true;
};

struct Command {
  std::string name;
  std::vector<std::string> arguments;
  double target_seconds;
  double target_megabytes;
};

/// Runs a program with its output thrown away. Memory is the peak of the process and of the children it waited for.
Measured run(std::string program, std::vector<std::string> arguments) {
  std::vector<char*> argv{program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  Measured out;
  out.ok = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!out.ok) return out;
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.megabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  out.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return out;
}

}  // namespace

int main(int, char** argv) {
  const auto binaries = std::filesystem::canonical(argv[0]).parent_path().parent_path() / "bin";
  const std::string stepcast = (binaries / "stepcast").string();
  const std::string gpt3 = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/gpt3-175b-a100-1024.json";
  const std::vector<Command> commands{
      {"stepcast --version", {"--version"}, 0.030, 150},
      {"GPT-3 175B, 1,024 GPUs, simulated", {"run", gpt3}, 0.060, 150},
      // Sixteen times the replicas and the batch: as many micro-batches on each.
      {"GPT-3 175B, 16,384 GPUs, simulated",
       {"run", gpt3, "--set", "cluster.nodes=2048", "--set", "workload.global_batch=24576"},
       0.060,
       150},
      {"GPT-3 175B, 1,024 GPUs, by operator", {"run", gpt3, "--granularity", "operator"}, 1.0, 400},
      {"GPT-3 175B, 1,024 GPUs, closed form", {"run", gpt3, "--fidelity", "analytic"}, 0.030, 150},
  };
  fmt::print("{:<40} {:>10} {:>10} {:>8} {:>10} {:>8}\n", "command", "time", "target", "ratio", "memory", "ratio");
  bool ok = true;
  for (const Command& command : commands) {
    Measured best;
    for (int i = 0; i < kRuns; ++i) {
      const Measured once = run(stepcast, command.arguments);
      ok = ok && once.ok;
      best.seconds = std::min(best.seconds, once.seconds);
      best.megabytes = std::max(best.megabytes, once.megabytes);
    }
    fmt::print("{:<40} {:>7.1f} ms {:>7.0f} ms {:>8.2f} {:>7.0f} MB {:>8.2f}\n", command.name, best.seconds * 1e3,
               command.target_seconds * 1e3, best.seconds / command.target_seconds, best.megabytes,
               best.megabytes / command.target_megabytes);
  }
  return ok ? 0 : 1;
}
