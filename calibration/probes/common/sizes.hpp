#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepcast::probes {

/// Bytes of `64`, `8K`, `1M`, `2G` (powers of 1,024). Throws Fault (bad input).
std::int64_t parse_bytes(const std::string& text);

/// Ascending byte sizes of a list of sizes and ranges: `8:64M` doubles, `8:64M*4` grows by a factor, `1M:4M+1M` by a
/// difference, `1K,1M` is a list. Throws Fault (bad input).
std::vector<std::int64_t> parse_sizes(const std::string& text);

/// The words between commas. Throws Fault (bad input) on an empty word.
std::vector<std::string> parse_words(const std::string& text);

/// The same where every word must be one of `known`.
std::vector<std::string> parse_words(const std::string& text, const std::vector<std::string>& known);

/// Words in a row with commas between them.
std::string listed(const std::vector<std::string>& words);

/// A whole number within bounds. Throws Fault (bad input).
std::int64_t parse_integer(const std::string& text, std::int64_t least, std::int64_t most);

/// A number within bounds. Throws Fault (bad input).
double parse_number(const std::string& text, double least, double most);

}  // namespace stepcast::probes
