#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// A line of a log without the colours of a terminal (ECMA-48: ESC [ … letter).
std::string without_colours(std::string_view line);

}  // namespace stepcast
