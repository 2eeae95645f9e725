#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/e2e/process.hpp"

namespace stepcast {

/// Runs any program, with variables of its own (`NAME=value`), and waits.
inline Finished run_program(const std::string& program, const std::vector<std::string>& words,
                            const std::vector<std::string>& variables) {
  const ScratchFolder folder;
  std::vector<std::string> all{"env"};
  all.insert(all.end(), variables.begin(), variables.end());
  all.push_back(program);
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string out = (folder / "out").string(), err = (folder / "err").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  if (posix_spawnp(&child, "env", &actions, nullptr, argv.data(), environ) != 0)
    throw std::runtime_error("cannot start env");
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(out), read_text(err)};
}

}  // namespace stepcast
