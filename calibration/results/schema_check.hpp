#pragma once

#include "fields/json_text.hpp"

namespace stepcast {

/// Checks a document against a JSON Schema of the words that our schemas use: type, const, enum, properties, required,
/// additionalProperties, items, minItems, minimum, exclusiveMinimum, pattern, $ref into $defs, and oneOf of objects
/// that a constant `kind` tells apart. Every violation is a fault at its place.
void check_schema(const Json& document, const Json& schema, Diagnostics& diagnostics);

}  // namespace stepcast
