#pragma once

#include <stdexcept>

namespace stepcast {

/// What the program needs from its surroundings is missing: the worker, a shared library, an output that can be
/// written. Exit code 3.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace stepcast
