// What libFuzzer calls; the variable STEPCAST_FUZZ names the target.
#include <cstdlib>

#include "tests/fuzz/command_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const char* name = std::getenv("STEPCAST_FUZZ");
  static const stepcast::CommandTarget& target = stepcast::command_target(name ? name : "");
  // What it throws, libFuzzer reports together with the input.
  stepcast::run_command_target(target, data, size);
  return 0;
}
