#pragma once

#include <string>

namespace stepcast {

/// What Python's json writes and JSON has not, bare `Infinity` and `NaN`: null in their place, in as many characters
/// where they fit.
std::string without_infinities(std::string text);

}  // namespace stepcast
