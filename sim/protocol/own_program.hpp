#pragma once

#include <filesystem>
#include <string_view>

#include "sim/protocol/environment_error.hpp"

namespace stepcast {

/// Exit code with which the dynamic loader leaves when a library is missing.
inline constexpr int kCannotLoad = 127;

/// Where another program of Stepcast lies: what the environment's `variable` says if that is set, else beside the
/// running executable, else in `../bin` of it. Throws EnvironmentError that names the place looked at; `what` it is.
std::filesystem::path own_program(std::string_view name, const char* variable, std::string_view what);

}  // namespace stepcast
