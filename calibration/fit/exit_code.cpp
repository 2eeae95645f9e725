#include "calibration/fit/exit_code.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "fields/diagnostics.hpp"

namespace stepcast {

int exit_code_of(const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const InputError& error) {
    for (const Fault& fault : error.faults()) fmt::print(stderr, "{}\n", fault.text());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
}

}  // namespace stepcast
