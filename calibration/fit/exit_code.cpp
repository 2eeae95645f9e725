#include "calibration/fit/exit_code.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sim/protocol/exit_code.hpp"

namespace stepcast {

int exit_code_of(const std::function<void()>& body) {
  try {
    body();
    return kDone;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_code_of(error);
  }
}

}  // namespace stepcast
