#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "fields/diagnostics.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/frameworks/framework.hpp"

namespace stepcast {

/// Kind of entries by which a calibration says what a framework's profile does not know of its software: keys of the
/// profile with their values, under the profile's id (`stepcast calibrate step`).
inline constexpr std::string_view kFrameworkConstants = "framework-constants";

/// The keys that such an entry may have: the constants that a fit moves, for releases and hosts differ by them. What a
/// framework offers, and how it works, is its profile's to say.
inline constexpr std::array<std::string_view, 5> kFittedFrameworkKeys{"host_per_layer_forward_us", "memory_efficiency",
                                                                      "tensor_parallel_exposed",
                                                                      "data_parallel_overhead", "step_overhead_ms"};

/// A profile with constants in place of its own. Keys that no fit moves, values of the wrong type and values beyond the
/// profile's bounds are faults, with pointers from the entry's root.
FrameworkProfile with_constants(const FrameworkProfile& framework, const Json& constants, Diagnostics& diagnostics);

/// The profile with the constants that the catalogue has for it, faults as above; the same profile when it has none.
std::shared_ptr<const FrameworkProfile> with_framework_constants(std::shared_ptr<const FrameworkProfile> framework,
                                                                 const Catalog& catalog, Diagnostics& diagnostics);

}  // namespace stepcast
