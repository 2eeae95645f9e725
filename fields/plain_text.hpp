#pragma once

#include <string>
#include <string_view>

#include "fields/diagnostics.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// A fault for every string of a document that holds a control character other than tab and line feed: names and
/// descriptions reach the terminal, where such characters can move the cursor or forge output.
void refuse_control_characters(const Json& document, Diagnostics& diagnostics);

/// With the 26 capital letters made small, whatever the locale; everything else as it is.
std::string lower_case(std::string_view text);

/// With dashes for underscores: the names of choices are the same with either.
std::string with_dashes(std::string name);

/// Whether a text has this part.
inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace stepcast
