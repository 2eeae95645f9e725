#include "calibration/importers/measured/power_exposition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

/// One line: a metric with its labels and its value.
struct Sample {
  std::string name;
  SeriesLabels labels;
  std::string value;
  std::optional<double> seconds;  ///< since 1970
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
  });
}

/// A label's value up to its closing quote, in which quotes and backslashes are escaped; takes it off the text.
std::optional<std::string> take_quoted(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  std::string out;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return out;
    }
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return std::nullopt;
}

}  // namespace

std::optional<SeriesLabels> take_labels(std::string_view& text) {
  SeriesLabels out;
  std::string_view rest = trimmed(text.substr(1));
  while (!rest.starts_with('}')) {
    const auto equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string key(trimmed(rest.substr(0, equals)));
    rest = trimmed(rest.substr(equals + 1));
    const auto value = take_quoted(rest);
    if (!value) return std::nullopt;
    out[key] = *value;
    rest = trimmed(rest);
    if (rest.starts_with(',')) rest = trimmed(rest.substr(1));
  }
  text = trimmed(rest.substr(1));
  return out;
}

namespace {

/// `DCGM_FI_DEV_POWER_USAGE{gpu="0",Hostname="n1"} 65.3`, with a time in milliseconds behind it or not; nothing for
/// other lines.
std::optional<Sample> sample_of(std::string_view line) {
  Sample out;
  const std::size_t end = std::min(line.find_first_of("{ \t"), line.size());
  out.name = line.substr(0, end);
  if (!is_name(out.name)) return std::nullopt;
  std::string_view rest = trimmed(line.substr(end));
  if (rest.starts_with('{')) {
    auto labels = take_labels(rest);
    if (!labels) return std::nullopt;
    out.labels = std::move(*labels);
  }
  const auto words = words_of(rest);
  if (words.empty() || words.size() > 2) return std::nullopt;
  out.value = words.front();
  constexpr double kMillisecond = 1e-3;
  if (words.size() == 2)
    if (const auto time = leading_number(words[1])) out.seconds = std::clamp(*time * kMillisecond, 0.0, 1e11);
  return out;
}

}  // namespace

bool is_exposition(std::string_view text) {
  for (const std::string_view raw : lines_of(text)) {
    const std::string_view line = trimmed(raw);
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) return true;
    if (line.empty() || line.starts_with("#")) continue;
    return line.find('{') != std::string_view::npos && sample_of(line).has_value();
  }
  return false;
}

void read_exposition(std::string_view text, PowerSeries& series, ResultsBuilder& results, Diagnostics& diagnostics) {
  std::size_t number = 0;
  for (const std::string_view raw : lines_of(text)) {
    ++number;
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.starts_with("#")) continue;
    const auto sample = sample_of(line);
    if (!sample) {
      // An answer that was saved in part ends within a line.
      if (raw.data() + raw.size() == text.data() + text.size())
        return results.warn("the last line is cut and was left out");
      diagnostics.error(fmt::format("line {}", number),
                        fmt::format("found {}, expected NAME{{label=\"value\"}} and a number", shown(line)));
      continue;
    }
    const auto value = leading_number(sample->value);
    if (value) series.take(sample->name, sample->labels, sample->seconds, *value);  // else NaN
  }
}

}  // namespace stepcast
