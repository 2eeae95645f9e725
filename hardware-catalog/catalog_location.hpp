#pragma once

#include <filesystem>

namespace stepcast {

/// Where the shipped catalogue lies among the program's data. Throws InputError when it is not there, or of a format
/// that this program does not read.
std::filesystem::path shipped_catalogue();

}  // namespace stepcast
