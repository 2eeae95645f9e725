#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibration/importers/measured/power_tables.hpp"
#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kPowerMetric = "DCGM_FI_DEV_POWER_USAGE";

SeriesLabels labels_of(const Json& metric) {
  SeriesLabels out;
  for (const auto& [name, value] : metric.items())
    if (value.is_string()) out[name] = value.get<std::string>();
  return out;
}

/// Values of one device's metrics, by time: a GPU has a series for each pod that it served.
using ValuesOfColumns = std::map<PowerColumn, std::map<double, double>>;

/// One series after the other into devices.
class SeriesReader {
 public:
  SeriesReader(const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics), devices_("prometheus", hints, results) {}

  void read(const Json& series, const std::string& at) {
    const bool instant = series.is_object() && series.contains("value");
    const char* key = instant ? "value" : "values";
    if (!series.is_object() || !series.contains("metric") || !series["metric"].is_object() || !series.contains(key) ||
        !series[key].is_array())
      return diagnostics_.error(at, "has no metric and values", "an answer of /api/v1/query_range");
    const SeriesLabels labels = labels_of(series["metric"]);
    const PowerColumn column = column_of_metric(labels, at);
    if (column == PowerColumn::other) return;
    const std::string device = device_of_labels(labels, hints_, results_);
    if (!instances_.counts(labels, device)) return;
    if (values_.count(device) == 0) order_.push_back(device);
    std::map<double, double>& values = values_[device][column];
    const auto take_or_fail = [&](const Json& pair) {
      if (!take(pair, values))
        diagnostics_.error(fmt::format("{}/{}", at, key),
                           fmt::format("found {}, expected [time, \"number\"]", describe(pair)));
      return diagnostics_.ok();
    };
    if (instant) return void(take_or_fail(series[key]));
    for (const Json& pair : series[key])
      if (!take_or_fail(pair)) return;
  }

  void finish() {
    for (const std::string& device : order_) hand_over(values_.at(device), devices_.of(device));
    if (absent_ > 0) results_.warn(fmt::format("values that are no numbers (NaN, Inf) were left out: {}", absent_));
    const std::string found = others_.empty() ? "" : fmt::format("; found {}", fmt::join(others_, ", "));
    devices_.finish(diagnostics_, fmt::format("expected the metric {}{}", kPowerMetric, found));
  }

 private:
  /// Functions over time (avg_over_time) drop the name of what they read.
  PowerColumn column_of_metric(const SeriesLabels& labels, const std::string& at) {
    const auto own = labels.find("__name__");
    const std::string name = own == labels.end() || own->second.empty() ? hints_.metric : own->second;
    if (name.empty()) {
      if (diagnostics_.ok())
        diagnostics_.error(at + "/metric", "has no __name__, as after avg_over_time(…)",
                           fmt::format("say which metric was read: --metric {}", kPowerMetric));
      return PowerColumn::other;
    }
    const PowerColumn column = column_of(name).column;
    if (column == PowerColumn::other && others_.size() < 5) others_.insert(name);
    return column;
  }

  bool take(const Json& pair, std::map<double, double>& values) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_string()) return false;
    const auto& text = pair[1].get_ref<const std::string&>();
    // Prometheus' marks of no value, as of 0 / 0 and of 1 / 0.
    if (text == "NaN" || text == "+Inf" || text == "-Inf" || text == "Inf") return ++absent_, true;
    const auto value = leading_number(text);
    if (!value || *value < 0 || *value > kMostWatts) return false;
    values.emplace(std::clamp(pair[0].get<double>(), 0.0, 1e11), *value);
    return true;
  }

  static void hand_over(const ValuesOfColumns& values, Readings& readings) {
    for (const auto& [column, samples] : values)
      for (const auto& [second, value] : samples) {
        readings.add(column, value);
        if (column == PowerColumn::watts) readings.seconds.push_back(second);
      }
  }

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  Devices devices_;
  FirstInstances instances_;
  std::vector<std::string> order_;  ///< devices, as they come
  std::map<std::string, ValuesOfColumns> values_;
  std::set<std::string> others_;  ///< metrics that are none of those known
  std::size_t absent_ = 0;
};

/// The series of an answer, of its `data`, of that's `result`; null with a fault.
const Json* series_of(const Json& document, Diagnostics& diagnostics) {
  if (document.is_array()) return &document;
  const auto fail = [&](const char* at, const std::string& what) {
    diagnostics.error(at, what, "/api/v1/query_range");
    return nullptr;
  };
  if (!document.is_object()) return fail("", "is no answer of Prometheus");
  if (document.contains("status") && document["status"] != "success")
    return fail("/status", fmt::format("is no successful answer of Prometheus: {}", shown(words(document, "error"))));
  const Json* data = document.contains("data") ? &document["data"] : &document;
  const bool whole = data->is_object() && data->contains("result") && (*data)["result"].is_array();
  return whole ? &(*data)["result"] : fail("/data/result", "missing");
}

}  // namespace

void read_prometheus(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  if (is_exposition(text)) {
    Devices devices("prometheus", hints, results);
    read_exposition(text, hints, devices, results, diagnostics);
    return devices.finish(diagnostics, fmt::format("expected the metric {}", kPowerMetric));
  }
  const Json document = parse_json(text, diagnostics);
  if (!diagnostics.ok()) return;
  const Json* series = series_of(document, diagnostics);
  if (!series) return;
  const char* where = document.is_array() ? "" : document.contains("data") ? "/data/result" : "/result";
  SeriesReader reader(hints, results, diagnostics);
  for (std::size_t i = 0; i < series->size(); ++i) reader.read((*series)[i], fmt::format("{}/{}", where, i));
  reader.finish();
}

}  // namespace stepcast
