#pragma once

#include <string>

namespace stepcast {

/// Whether a text is UTF-8 throughout, as JSON and reports have to be.
bool is_utf8(const std::string& text);

}  // namespace stepcast
