#pragma once

#include <string>

namespace stepcast {

/// The command line of this process, quoted so that a shell reads it as it was: what a report says it came from.
std::string typed_command();

}  // namespace stepcast
