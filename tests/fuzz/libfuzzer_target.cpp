// What libFuzzer calls; the variable STEPCAST_FUZZ names the target. `command_fuzz --seeds` lists targets, each with
// its seeds, and ends.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "tests/fuzz/command_target.hpp"

extern "C" int LLVMFuzzerInitialize(const int* count, char*** arguments) {
  if (*count < 2 || std::string_view((*arguments)[1]) != "--seeds") return 0;
  for (const stepcast::CommandTarget& target : stepcast::command_targets())
    fmt::print("{} {}\n", target.name, fmt::join(target.seeds, " "));
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const char* name = std::getenv("STEPCAST_FUZZ");
  static const stepcast::CommandTarget& target = stepcast::command_target(name ? name : "");
  // What it throws, libFuzzer reports together with the input.
  stepcast::run_command_target(target, data, size);
  return 0;
}
