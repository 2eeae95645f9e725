#pragma once

#include <string>

namespace stepcast {

/// Text as it may stand in HTML and SVG, between tags or in a quoted attribute.
std::string escaped_markup(const std::string& text);

}  // namespace stepcast
