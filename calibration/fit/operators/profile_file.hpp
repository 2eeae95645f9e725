#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

/// FNV-1a (64 bit, hex) of the files that a fit read.
std::string data_hash(std::string_view text);

/// Writes `<folder>/<id>.json` with sources and evidence, figures of four significant digits. Throws InputError when it
/// cannot be written.
void write_profile(const OperatorProfile& profile, const std::filesystem::path& folder);

}  // namespace stepcast
