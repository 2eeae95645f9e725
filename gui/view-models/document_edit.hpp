#pragma once

#include <string>

#include "fields/json_text.hpp"

namespace stepcast {

/// Writes a value into a document that is an object. What stands on the way and is none, as a name where an object
/// belongs, gives way to one.
void write_at(Json& document, const std::string& pointer, Json value);

}  // namespace stepcast
