#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast {

/// What a finished program left behind.
struct Finished {
  int code = -1;  ///< exit code, or 128 + signal
  std::string out, err;
  [[nodiscard]] Json json() const { return Json::parse(out); }
};

inline std::string read_text(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

/// A scenario's name as a test's, which may hold no dashes.
inline std::string test_name_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Runs the real `stepcast`, with its output in files so that no pipe can fill up. `out` replaces standard output.
inline Finished stepcast_run(const std::vector<std::string>& arguments, const std::string& out = {}) {
  const ScratchFolder folder;
  const std::string out_file = out.empty() ? (folder / "out").string() : out, err_file = (folder / "err").string();
  std::string program = STEPCAST_BUILD_DIR "/bin/stepcast";
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{program.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out_file.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_file.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + program);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.empty() ? read_text(out_file) : "",
          read_text(err_file)};
}

inline std::string scenario_file(const std::string& name) { return STEPCAST_SOURCE_DIR "/scenarios/" + name + ".json"; }

/// Whether a file beside the scenarios is none: a question to the planner, or a study, which holds a scenario and what
/// is compared with it.
inline bool is_no_scenario(const std::filesystem::path& file) {
  return file.stem().string().starts_with("plan-") || read_text(file).find("\"variants\"") != std::string::npos;
}

/// Names of the shipped scenarios, sorted.
inline std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(STEPCAST_SOURCE_DIR "/scenarios"))
    if (entry.path().extension() == ".json" && !is_no_scenario(entry.path()))
      out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

/// The JSON report of a shipped scenario.
inline Json predicted(const std::string& scenario, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"run", scenario_file(scenario), "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished run = stepcast_run(arguments);
  if (run.code != 0) throw std::runtime_error(scenario + ": " + run.err);
  return run.json();
}

}  // namespace stepcast
