#include <cstdlib>
#include <regex>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/measured_results.hpp"

namespace stepcast {

namespace {

struct Pattern {
  std::regex text;
  double seconds;  ///< of one unit
};

/// In order: the first that a line matches counts.
const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> kPatterns{
      {std::regex(R"((?:step|iteration|iter)[_ ]time(?:[_ ]\(?ms\)?|_ms)\s*[:=]\s*([0-9.]+))"), 1e-3},
      {std::regex(R"((?:step|iteration|iter)[_ ]time(?:[_ ]\(?s\)?|_s)?\s*[:=]\s*([0-9.]+)\s*ms)"), 1e-3},
      {std::regex(R"((?:step|iteration|iter)[_ ]time(?:[_ ]\(?s\)?|_s)?\s*[:=]\s*([0-9.]+))"), 1},
      {std::regex(R"(([0-9.]+)\s*s/it)"), 1},
  };
  return kPatterns;
}

}  // namespace

NamedSeries read_plain_log(std::string_view text) {
  // Lines of a log are short; what is longer is a dump of something.
  constexpr std::size_t kLongestLine = 4096;
  NamedSeries out;
  for (const std::string_view line : lines_of(text)) {
    if (line.size() > kLongestLine) continue;
    for (const Pattern& pattern : patterns()) {
      std::cmatch found;
      if (!std::regex_search(line.data(), line.data() + line.size(), found, pattern.text)) continue;
      add_sample(out, "step_time_s", std::strtod(found[1].str().c_str(), nullptr) * pattern.seconds);
      break;
    }
  }
  return out;
}

}  // namespace stepcast
