#pragma once

#include <string>

#include "units/quantity.hpp"

namespace stepcast {

/// A size as makers of drives count it, in three digits: "2.44 TB".
std::string decimal_text(Bytes size);

/// "3.89 TB/s"
std::string decimal_text(BytesPerSecond rate);

}  // namespace stepcast
