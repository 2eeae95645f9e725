#pragma once

#include <functional>

namespace stepcast {

/// Runs a fit program's body and says on standard error what it throws. Returns what
/// sim/protocol/exit_code.hpp says of it, or 0.
int exit_code_of(const std::function<void()>& body);

}  // namespace stepcast
