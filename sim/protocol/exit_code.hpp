#pragma once

#include <exception>

namespace stepcast {

/// What every program of Stepcast ends with: a public interface (README.md).
enum ExitCode { kDone = 0, kCheckFailed = 1, kBadInput = 2, kEnvironmentMissing = 3, kInternalError = 4 };

/// The code of a program that this error ends: bad input, what the surroundings lack (EnvironmentError, DiskError), or
/// a fault of its own.
ExitCode exit_code_of(const std::exception& error);

}  // namespace stepcast
