#include "sim/protocol/exit_code.hpp"

#include "fields/diagnostics.hpp"
#include "fields/streamed_file.hpp"
#include "sim/protocol/environment_error.hpp"

namespace stepcast {

ExitCode exit_code_of(const std::exception& error) {
  // A full disk is an InputError by its faults, which name the file.
  if (dynamic_cast<const DiskError*>(&error) != nullptr) return kEnvironmentMissing;
  if (dynamic_cast<const EnvironmentError*>(&error) != nullptr) return kEnvironmentMissing;
  if (dynamic_cast<const InputError*>(&error) != nullptr) return kBadInput;
  return kInternalError;
}

}  // namespace stepcast
