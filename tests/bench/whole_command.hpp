#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace stepcast {

/// Time and memory of a whole command, its start included.
struct Measured {
  double seconds = std::numeric_limits<double>::infinity();
  double cpu_seconds = seconds;  ///< of all cores, user and system: other programs disturb it less
  double megabytes = 0;          ///< peak of the process and of the children it waited for
  bool ok = true;                ///< it ended with 0
};

/// Runs a program once with its output thrown away.
inline Measured measure(std::string program, std::vector<std::string> arguments) {
  std::vector<char*> argv{program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
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
  const auto in_seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  out.cpu_seconds = in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
  out.megabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  out.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return out;
}

/// The shortest times of two measurements, because these machines are shared; the most memory of them.
inline Measured better_of(const Measured& a, const Measured& b) {
  return {std::min(a.seconds, b.seconds), std::min(a.cpu_seconds, b.cpu_seconds), std::max(a.megabytes, b.megabytes),
          a.ok && b.ok};
}

inline Measured best_of(int runs, const std::string& program, const std::vector<std::string>& arguments) {
  Measured best;
  for (int i = 0; i < runs; ++i) best = better_of(best, measure(program, arguments));
  return best;
}

/// The `stepcast` that was built with a benchmark, of which `self` is argv[0].
inline std::string built_stepcast(const char* self) {
  return (std::filesystem::canonical(self).parent_path().parent_path() / "bin" / "stepcast").string();
}

}  // namespace stepcast
