#pragma once

#include <string_view>

#include "models/compute/product_time.hpp"

namespace stepcast {

/// How a source measured, as far as it changes what is measured.
struct Conditions {
  ProductCall call;
  bool eager = false;   ///< a framework's call between two events: the host's launch is in the time
  bool sampled = true;  ///< false: the best of a search over shapes or kernels, an upper bound
};

/// Conditions of a source (docs/sources.md, operator timings), by the beginning of its name; a burst
/// on warm operands when it is not known.
Conditions conditions_of(std::string_view source);

}  // namespace stepcast
