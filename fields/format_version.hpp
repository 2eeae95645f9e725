#pragma once

#include <string_view>

#include "fields/diagnostics.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// Throws InputError where a document's `format_version` is above the newest that this program reads: a file of a later
/// format would only give misleading faults, so that is said alone. `what` names what is read: "scenarios".
void refuse_newer(const Json& document, long newest, std::string_view what, Diagnostics& diagnostics);

}  // namespace stepcast
