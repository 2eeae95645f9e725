#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

/// Writes `<folder>/<id>.json` with sources and evidence, figures of four significant digits. Throws InputError when it
/// cannot be written.
void write_profile(const OperatorProfile& profile, const std::filesystem::path& folder);

/// The source of constants that another family's measurements gave.
std::string taken_from(std::string_view family);

}  // namespace stepcast
