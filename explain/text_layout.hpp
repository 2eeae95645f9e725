#pragma once

#include <string>

#include "units/quantity.hpp"

namespace stepcast {

/// A change of a time with its sign: "+3.2 ms", "−41 µs"; "0" below a nanosecond.
std::string signed_time(Seconds time);

}  // namespace stepcast
