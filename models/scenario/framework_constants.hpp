#pragma once

#include <memory>
#include <string_view>

#include "fields/diagnostics.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/frameworks/framework.hpp"

namespace stepcast {

/// Kind of entries by which a calibration says what a framework's profile does not know of its software: keys of the
/// profile with their values, under the profile's id (`stepcast calibrate step`).
inline constexpr std::string_view kFrameworkConstants = "framework-constants";

/// The profile with the constants that the catalogue has for it; the same profile when it has none. Unknown keys and
/// values of the wrong type are faults.
std::shared_ptr<const FrameworkProfile> with_framework_constants(std::shared_ptr<const FrameworkProfile> framework,
                                                                 const Catalog& catalog, Diagnostics& diagnostics);

}  // namespace stepcast
