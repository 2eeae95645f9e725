#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// FNV-1a of 64 bit of what a fit has read, in hexadecimal: profiles name it, so that anyone can tell whether they hold
/// the same data.
std::string data_hash(std::string_view text);
/// The same of the files' bytes, one after another.
std::string data_hash(const std::vector<std::filesystem::path>& files);

}  // namespace stepcast
