#pragma once

#include "fields/diagnostics.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// A fault for every string of a document that holds a control character other than tab and line feed: names and
/// descriptions reach the terminal, where such characters can move the cursor or forge output.
void refuse_control_characters(const Json& document, Diagnostics& diagnostics);

}  // namespace stepcast
