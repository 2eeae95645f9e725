#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// JSON that keeps the order of its keys, so that what we write reads as it was declared.
using Json = nlohmann::ordered_json;

/// Limits on one input document; past them the document is refused, whatever it says.
inline constexpr std::size_t kMostJsonBytes = 64u << 20;
inline constexpr std::size_t kDeepestJson = 64;

/// Parses JSON with `//` and `/* */` comments. A syntax error (with line and column), a key given twice, a number that
/// is not finite, and a document beyond the limits are faults; returns null then.
Json parse_json(std::string_view text, Diagnostics& diagnostics);

/// Reads and parses a file; a missing or unreadable file is a fault.
Json read_json(const std::filesystem::path& file, Diagnostics& diagnostics);

/// Writes a file whole or not at all (StreamedFile). Throws InputError when it cannot.
void write_file(const std::filesystem::path& file, std::string_view text);

/// `pointer/key` with `~` and `/` escaped as RFC 6901 wants.
std::string child_pointer(std::string_view pointer, std::string_view key);

/// What a value is, for messages: `string "abc"`, `number 7`, `object`.
std::string describe(const Json& value);

/// Sets `a.b.2.c=value` in a document. The value is JSON if it parses as JSON, else a string. Missing objects on the
/// way are made; what is not an object or array on the way is a fault at that pointer.
void apply_override(Json& document, std::string_view assignment, Diagnostics& diagnostics);

}  // namespace stepcast
