#include "calibration/fit/step/step_log.hpp"

#include <regex>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostLogBytes = 256U << 20;

struct Pattern {
  std::regex text;
  double seconds;  ///< of one unit
};

/// In order: the first that a line matches counts.
const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> kPatterns{
      {std::regex(R"(elapsed time per iteration \(ms\):\s*([0-9.]+))"), 1e-3},
      {std::regex(R"((?:step|iteration|iter)[_ ]time(?:[_ ]\(?ms\)?|_ms)\s*[:=]\s*([0-9.]+))"), 1e-3},
      {std::regex(R"((?:step|iteration|iter)[_ ]time(?:[_ ]\(?s\)?|_s)?\s*[:=]\s*([0-9.]+)\s*ms)"), 1e-3},
      {std::regex(R"((?:step|iteration|iter)[_ ]time(?:[_ ]\(?s\)?|_s)?\s*[:=]\s*([0-9.]+))"), 1},
      {std::regex(R"(([0-9.]+)\s*s/it)"), 1},
  };
  return kPatterns;
}

}  // namespace

Seconds step_time_of_log(const std::string& file, Diagnostics& diagnostics) {
  const std::string text = read_description(file, diagnostics, kMostLogBytes);
  if (!diagnostics.ok()) return {};
  std::vector<double> times;
  for (const std::string_view line : lines_of(text)) {
    // Lines of a log are short; what is longer is a dump of something.
    if (line.size() > 4096) continue;
    const std::string one(line);
    for (const Pattern& pattern : patterns()) {
      std::smatch found;
      if (!std::regex_search(one, found, pattern.text)) continue;
      const double time = std::strtod(found[1].str().c_str(), nullptr) * pattern.seconds;
      if (time > 0) times.push_back(time);
      break;
    }
  }
  if (times.empty()) {
    diagnostics.error("", "no step time in it", "\"elapsed time per iteration (ms): …\", or --step-time");
    return {};
  }
  return Seconds(quantile_of({times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end()}, 0.5));
}

}  // namespace stepcast
