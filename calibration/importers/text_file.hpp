#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// Largest description of a machine or a fabric that is read; the largest real ones are a hundredth of it.
inline constexpr std::size_t kMostDescriptionBytes = 16U << 20;

/// A file's text. A missing, unreadable, too large or binary (with zero bytes) file is a fault; empty then.
std::string read_description(const std::filesystem::path& file, Diagnostics& diagnostics,
                             std::size_t most = kMostDescriptionBytes);

/// The same of a text whose words go into JSON: bytes that are no UTF-8 are a fault, too.
std::string read_utf8_description(const std::filesystem::path& file, Diagnostics& diagnostics,
                                  std::size_t most = kMostDescriptionBytes);

/// `line 12, column 3` of a place in a text.
std::string line_and_column(std::string_view text, std::size_t offset);

/// Words between blanks.
std::vector<std::string_view> words_of(std::string_view line);

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// A text that is a whole number and nothing else; null where it is not.
std::optional<int> whole_number(std::string_view text);

/// Lines without their ends (`\n`, `\r\n`).
std::vector<std::string_view> lines_of(std::string_view text);

/// Without ANSI escape sequences, which colour and underline.
std::string without_escapes(std::string_view text);

/// At most 60 bytes of a text in quotes, unprintable bytes as `?`, for messages.
std::string shown(std::string_view text);

}  // namespace stepcast
