#pragma once

#include <functional>

namespace stepcast {

/// Runs a fit program's body and says on standard error what it throws. Returns 0, 2 for bad input, or 4.
int exit_code_of(const std::function<void()>& body);

}  // namespace stepcast
