#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

/// Hands a reader of tables each line of a benchmark's text, without what colours it, and its number; ends it behind
/// the last. A line that is at fault is the last one.
template <class Tables>
void read_table_lines(std::string_view text, Tables& tables) {
  const std::string plain = without_escapes(text);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(plain))
    if (!tables.line(line, ++number)) return;
  tables.finish();
}

}  // namespace stepcast
