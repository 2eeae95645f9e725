#pragma once

#include <stdexcept>
#include <string>

namespace stepcast::probes {

/// What a probe's exit code says.
enum class Exit { done = 0, check_failed = 1, bad_input = 2, environment_missing = 3, internal = 4 };

/// What ends a probe: one clear line for the user, and an exit code.
class Fault : public std::runtime_error {
 public:
  Fault(Exit code, const std::string& what) : std::runtime_error(what), code_(code) {}
  [[nodiscard]] Exit code() const { return code_; }

 private:
  Exit code_;
};

/// A command line or a file that is not as it must be.
inline Fault bad_input(const std::string& what) { return {Exit::bad_input, what}; }
/// Hardware, a library or a program that this host lacks.
inline Fault missing(const std::string& what) { return {Exit::environment_missing, what}; }
/// Data that came out wrong, or a library call that failed.
inline Fault check_failed(const std::string& what) { return {Exit::check_failed, what}; }

}  // namespace stepcast::probes
