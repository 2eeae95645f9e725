#pragma once

#include <filesystem>

namespace stepcast {

/// Where the shipped catalogue lies: in $STEPCAST_SHARE, or ../share/stepcast beside the running program, or the source
/// tree that it was built from. Throws InputError when it is in none of them.
std::filesystem::path shipped_catalogue();

}  // namespace stepcast
