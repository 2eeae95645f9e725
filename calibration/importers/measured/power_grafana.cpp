#include "calibration/importers/measured/power_grafana.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/power_exposition.hpp"
#include "calibration/importers/measured/power_tables.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

struct WordOfQuantity {
  std::string_view word;
  PowerColumn column;
};
// In legends and panels' titles, in small letters.
constexpr std::array kWordsOfQuantity{
    WordOfQuantity{"temp", PowerColumn::temperature}, WordOfQuantity{"util", PowerColumn::utilization},
    WordOfQuantity{"clock", PowerColumn::clock},      WordOfQuantity{"memory", PowerColumn::other},
    WordOfQuantity{"energy", PowerColumn::other},     WordOfQuantity{"power", PowerColumn::watts},
    WordOfQuantity{"watt", PowerColumn::watts}};
struct UnitOfQuantity {
  std::string_view unit;
  PowerColumn column;
  double scale;
};
constexpr std::array kUnitsOfCells{
    UnitOfQuantity{"%", PowerColumn::utilization, 1}, UnitOfQuantity{"°C", PowerColumn::temperature, 1},
    UnitOfQuantity{"C", PowerColumn::temperature, 1}, UnitOfQuantity{"MHz", PowerColumn::clock, 1},
    UnitOfQuantity{"GHz", PowerColumn::clock, 1e3}};

std::optional<PowerColumn> quantity_in_words(std::string_view text) {
  const std::string low = lower_case(text);
  for (const WordOfQuantity& one : kWordsOfQuantity)
    if (contains(low, one.word)) return one.column;
  return std::nullopt;
}

/// A number and the unit behind it: `1.23 kW`.
struct ValueCell {
  double value = 0;
  std::optional<UnitOfQuantity> unit;
};

/// A decimal comma where semicolons part the cells, else commas between thousands.
std::string with_point(std::string text, char separator) {
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', comma)) {
    if (separator == ';')
      text[comma] = '.';
    else
      text.erase(comma, 1);
  }
  return text;
}

std::optional<ValueCell> cell_of(const std::string& text) {
  const auto value = leading_number(text);
  if (!value) return std::nullopt;
  ValueCell out{*value, std::nullopt};
  const std::size_t behind = text.find_first_not_of("0123456789.+-eE ");
  const std::string unit = behind == std::string::npos ? "" : text.substr(behind);
  if (const auto watts = watts_in(unit)) out.unit = {"W", PowerColumn::watts, *watts};
  for (const UnitOfQuantity& one : kUnitsOfCells)
    if (unit == one.unit) out.unit = one;
  return out;
}

/// Words of a legend beside the GPU's number that name its host, and not what is read.
std::string host_in(std::string_view text) {
  constexpr std::string_view kBetween = " :/,|@=[](){}";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string word(text.substr(at, end - at));
    at = end + 1;
    const std::string low = lower_case(word);
    const bool of_host = !word.empty() && word != "-" && !quantity_in_words(word) && !watts_in(word) && low != "gpu" &&
                         low != "usage" && low != "draw";
    if (of_host) out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

/// `n1 GPU 3` → gpu3@n1; a number alone is a GPU's; other legends as they are.
std::string device_of_legend(const std::string& legend) {
  const std::string low = lower_case(legend);
  for (std::size_t gpu = low.rfind("gpu"); gpu != std::string::npos;
       gpu = gpu == 0 ? std::string::npos : low.rfind("gpu", gpu - 1)) {
    const std::size_t digits = low.find_first_not_of(" :#_-=", gpu + 3);
    if (digits == std::string::npos || low[digits] < '0' || low[digits] > '9') continue;
    const std::size_t end = std::min(low.find_first_not_of("0123456789", digits), low.size());
    const std::string host = host_in(legend.substr(0, gpu) + " " + legend.substr(end));
    const std::string name = "gpu" + legend.substr(digits, end - digits);
    return host.empty() ? name : fmt::format("{}@{}", name, host);
  }
  return gpu_name(legend);
}

/// What a series is called: a metric with labels, labels alone, or a legend.
struct SeriesName {
  std::string metric, legend;
  SeriesLabels labels;
};

SeriesName series_name_of(const std::string& text) {
  SeriesName out;
  const std::size_t brace = text.find('{');
  std::string_view rest = std::string_view(text).substr(std::min(brace, text.size()));
  auto labels = brace == std::string::npos ? std::nullopt : take_labels(rest);
  if (labels && rest.empty()) {
    out.labels = std::move(*labels);
    out.metric = brace > 0 ? std::string(trimmed(text.substr(0, brace))) : label_of(out.labels, "__name__");
    return out;
  }
  const PowerMetric known = metric_of(text, {});
  if (known.column != PowerColumn::other && !known.guessed)
    out.metric = text;
  else
    out.legend = text;
  return out;
}

bool is_time(std::string_view header) { return lower_case(header).starts_with("time"); }
bool is_value(std::string_view header) {
  const std::string low = lower_case(header);
  return low == "value" || low.starts_with("value #");
}
bool is_series(std::string_view header) {
  const std::string low = lower_case(header);
  return low == "series" || low == "metric" || low == "field";
}

/// The header: the first line that is neither empty nor for Excel alone (`sep=,`).
struct Head {
  std::vector<std::string> cells;
  char separator = ',';
  std::size_t line = 0;  ///< from 1
};

Head head_of(std::string_view text) {
  Head out;
  for (const std::string_view line : lines_of(text)) {
    ++out.line;
    if (trimmed(line).empty() || trimmed(line).starts_with("sep=")) continue;
    for (const char separator : {',', ';', '\t'}) {
      out.separator = separator;
      out.cells = cells_of(line, separator);
      if (out.cells.size() > 1) break;
    }
    return out;
  }
  return out;
}

class GrafanaReader {
 public:
  GrafanaReader(const Head& head, std::string title, const MeasuredHints& hints, PowerSeries& series,
                ResultsBuilder& results, Diagnostics& diagnostics)
      : head_(head),
        title_(std::move(title)),
        hints_(hints),
        series_(series),
        results_(results),
        diagnostics_(diagnostics) {
    const auto values = std::count_if(head.cells.begin(), head.cells.end(), is_value);
    long_ = values > 0 && head.cells.size() > static_cast<std::size_t>(values) + 1;
    if (values > 1 && long_) results_.warn("of several columns of values (Value #A, …) the first was read");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < head.cells.size(); ++i) {
      names_.push_back(series_name_of(head.cells[i]));
      if (seen.insert(head.cells[i]).second || names_.back().legend.empty()) continue;
      suffix_[i] = fmt::format("@column {}", i + 1);
      results_.warn(
          fmt::format("several columns are called {}: each is taken for a device of its own", shown(head.cells[i])));
    }
  }

  void read(std::string_view text) {
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
      if (++number <= head_.line || trimmed(line).empty()) continue;
      at_ = fmt::format("line {}", number);
      const std::vector<std::string> cells = cells_of(line, head_.separator);
      if (cells.size() < head_.cells.size() && line.data() + line.size() == text.data() + text.size()) {
        results_.warn("the last line is cut and was left out");
        return;
      }
      if (cells.size() != head_.cells.size())
        return diagnostics_.error(at_, fmt::format("has {} cells, its header {}", cells.size(), head_.cells.size()));
      if (long_)
        read_long(cells);
      else
        read_wide(cells);
      if (!diagnostics_.ok()) return;
    }
  }

 private:
  std::optional<double> time_of(const std::vector<std::string>& cells) const {
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (is_time(head_.cells[i])) return moment_of(cells[i]);
    return std::nullopt;
  }

  void read_wide(const std::vector<std::string>& cells) {
    const auto seconds = time_of(cells);
    for (std::size_t i = 0; i < cells.size() && diagnostics_.ok(); ++i) {
      if (is_time(head_.cells[i])) continue;
      const auto suffix = suffix_.find(i);
      take(names_[i], suffix == suffix_.end() ? "" : suffix->second, seconds, cells[i]);
    }
  }

  void read_long(const std::vector<std::string>& cells) {
    SeriesName name;
    std::string value;
    bool found = false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& header = head_.cells[i];
      if (is_time(header)) continue;
      if (is_value(header)) {
        if (!found) value = cells[i];
        found = true;
      } else if (is_series(header)) {
        SeriesName of_cell = series_name_of(cells[i]);
        name.metric = of_cell.metric;
        name.legend = of_cell.legend;
        name.labels.merge(of_cell.labels);
      } else {
        name.labels[header] = cells[i];
      }
    }
    if (name.metric.empty()) name.metric = label_of(name.labels, "__name__");
    take(name, "", time_of(cells), value);
  }

  void take(const SeriesName& name, const std::string& suffix, std::optional<double> seconds, const std::string& text) {
    const std::string low = lower_case(text);
    if (text.empty() || low == "null" || low == "undefined" || low == "nan" || low == "-") return;
    const auto cell = cell_of(with_point(text, head_.separator));
    if (!cell) return diagnostics_.error(at_, fmt::format("found {}, expected a number", shown(text)));
    if (!name.metric.empty()) return take_metric(name.metric, name.labels, seconds, *cell);
    if (!hints_.metric.empty() && !name.labels.empty()) return take_metric(hints_.metric, name.labels, seconds, *cell);
    PowerMetric metric;
    if (cell->unit) {
      metric = {cell->unit->column, cell->unit->scale};
    } else if (const auto of_legend = watts_in(column_of(name.legend).unit)) {
      metric = {PowerColumn::watts, *of_legend};
    } else if (const auto in_legend = quantity_in_words(name.legend)) {
      metric.column = *in_legend;
    } else if (!hints_.metric.empty()) {
      metric = metric_of(hints_.metric, name.labels);
    } else if (const auto in_title = quantity_in_words(title_)) {
      metric.column = *in_title;
    } else {
      return diagnostics_.error(at_, fmt::format("nothing tells what {} is of", shown(text)),
                                "say which metric it is: --metric DCGM_FI_DEV_POWER_USAGE");
    }
    series_.take(device_of(name) + suffix, metric, seconds, cell->value);
  }

  /// A unit in the cell is Grafana's, whatever the metric's own.
  void take_metric(const std::string& metric, const SeriesLabels& labels, std::optional<double> seconds,
                   const ValueCell& cell) {
    const double scale = cell.unit ? cell.unit->scale / metric_of(metric, labels).scale : 1;
    series_.take(metric, labels, seconds, cell.value * scale);
  }

  std::string device_of(const SeriesName& name) {
    if (!name.labels.empty()) {
      const MetricOrigin origin = origin_of("", name.labels);
      const std::string device = name.legend.empty() ? origin.device : device_of_legend(name.legend);
      return origin.host.empty() ? device : device + "@" + origin.host;
    }
    if (!name.legend.empty() && !is_value(name.legend)) return device_of_legend(name.legend);
    std::string device = hints_.device.empty() ? "node" : hints_.device;
    if (hints_.device.empty())
      results_.warn("nothing tells what the values are of; all are taken as node's (--device says otherwise)");
    return device;
  }

  const Head& head_;
  std::string title_;  ///< of the panel
  const MeasuredHints& hints_;
  PowerSeries& series_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  bool long_ = false;
  std::vector<SeriesName> names_;              ///< of the columns
  std::map<std::size_t, std::string> suffix_;  ///< of columns that are called as others
  std::string at_;
};

}  // namespace

bool is_grafana(std::string_view text) {
  if (trimmed(text).starts_with('{') || trimmed(text).starts_with('[')) return false;
  const std::vector<std::string> cells = head_of(text).cells;
  if (cells.size() < 2 || std::none_of(cells.begin(), cells.end(), is_time)) return false;
  // A table of a site's own has a column of power that its name tells.
  return std::none_of(cells.begin(), cells.end(), [](const std::string& cell) {
    const bool plain = cell.find('{') == std::string::npos;
    return plain && column_of(cell).column == PowerColumn::watts && metric_of(cell, {}).guessed;
  });
}

void read_grafana(std::string_view text, const std::string& file, const MeasuredHints& hints, PowerSeries& series,
                  ResultsBuilder& results, Diagnostics& diagnostics) {
  const Head head = head_of(text);
  GrafanaReader(head, std::filesystem::path(file).stem().string(), hints, series, results, diagnostics).read(text);
}

}  // namespace stepcast
