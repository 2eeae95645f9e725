#pragma once

#include <string_view>

#include "fields/json_text.hpp"

namespace stepcast {

/// Reads the YAML that configurations are written in, as JSON: block and flow mappings and lists, plain and quoted
/// scalars with the types that PyYAML gives them, block scalars, comments, tags (passed over), anchors, aliases and
/// merge keys. Of several documents the first counts. Faults, with the line: what is none of these, a key given twice,
/// aliases that come to more than a million values. Returns null then.
Json parse_yaml(std::string_view text, Diagnostics& diagnostics);

}  // namespace stepcast
