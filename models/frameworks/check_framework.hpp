#pragma once

#include "models/frameworks/framework.hpp"

namespace stepcast {

/// What a profile must hold beyond the types of its keys: choices that there are, and one at least where the first is
/// the default. Pointers are from the profile's root.
void check_framework(const FrameworkProfile& profile, Diagnostics& diagnostics);

}  // namespace stepcast
