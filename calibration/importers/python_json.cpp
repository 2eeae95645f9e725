#include "calibration/importers/python_json.hpp"

#include <algorithm>
#include <string_view>

namespace stepcast {

std::string without_infinities(std::string text) {
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && quoted) {
      ++at;
      continue;
    }
    if (text[at] == '"') quoted = !quoted;
    if (quoted) continue;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
      if (text.compare(at, word.size(), word) == 0) {
        std::string null = "null";
        null.resize(std::max(null.size(), word.size()), ' ');
        text.replace(at, word.size(), null);
        break;
      }
  }
  return text;
}

}  // namespace stepcast
