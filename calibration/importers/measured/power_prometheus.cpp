#include <fmt/format.h>

#include <algorithm>

#include "calibration/importers/measured/power_exposition.hpp"
#include "calibration/importers/measured/power_grafana.hpp"
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

/// One series after the other into devices.
class AnswerReader {
 public:
  AnswerReader(const MeasuredHints& hints, PowerSeries& series, Diagnostics& diagnostics)
      : hints_(hints), series_(series), diagnostics_(diagnostics) {}

  void read(const Json& series, const std::string& at) {
    const bool instant = series.is_object() && series.contains("value");
    const char* key = instant ? "value" : "values";
    if (!series.is_object() || !series.contains("metric") || !series["metric"].is_object() || !series.contains(key) ||
        !series[key].is_array())
      return diagnostics_.error(at, "has no metric and values", "an answer of /api/v1/query_range");
    const SeriesLabels labels = labels_of(series["metric"]);
    const std::string metric = name_of(labels, at);
    if (metric.empty() || !is_of_one_device(metric, labels, at)) return;
    if (instant) return take(series[key], metric, labels, at + "/value");
    for (const Json& pair : series[key]) {
      take(pair, metric, labels, at + "/values");
      if (!diagnostics_.ok()) return;
    }
  }

  [[nodiscard]] std::size_t absent() const { return absent_; }

 private:
  /// Functions over time (avg_over_time) drop the name of what they read.
  std::string name_of(const SeriesLabels& labels, const std::string& at) {
    const std::string own = label_of(labels, "__name__");
    if (own.empty() && hints_.metric.empty() && diagnostics_.ok())
      diagnostics_.error(at + "/metric", "has no __name__, as after avg_over_time(…)",
                         fmt::format("say which metric was read: --metric {}", kPowerMetric));
    return own.empty() ? hints_.metric : own;
  }

  /// Sums and means over GPUs (`sum by (Hostname) (…)`) have neither a name nor a label of one.
  bool is_of_one_device(const std::string& metric, const SeriesLabels& labels, const std::string& at) {
    const bool grouped = label_of(labels, "__name__").empty() && origin_of(metric, labels).device.empty();
    if (!grouped || !hints_.device.empty()) return true;
    if (diagnostics_.ok())
      diagnostics_.error(at + "/metric", "has no label of a device, as after sum by (Hostname) (…)",
                         "query each device (without sum by), or say what it is of: --device gpu0, --device node");
    return false;
  }

  void take(const Json& pair, const std::string& metric, const SeriesLabels& labels, const std::string& at) {
    const bool sound =
        pair.is_array() && pair.size() == 2 && pair[0].is_number() && (pair[1].is_string() || pair[1].is_number());
    const std::string text = !sound ? "" : pair[1].is_string() ? pair[1].get<std::string>() : pair[1].dump();
    // Prometheus' marks of no value, as of 0 / 0 and of 1 / 0.
    if (text == "NaN" || text == "+Inf" || text == "-Inf" || text == "Inf") return void(++absent_);
    const auto value = leading_number(text);
    if (!value) return diagnostics_.error(at, fmt::format("found {}, expected [time, \"number\"]", describe(pair)));
    series_.take(metric, labels, std::clamp(pair[0].get<double>(), 0.0, 1e11), *value);
  }

  const MeasuredHints& hints_;
  PowerSeries& series_;
  Diagnostics& diagnostics_;
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

/// One metric of each kind of exporter.
constexpr const char* kKnown =
    "expected a metric of power, as DCGM_FI_DEV_POWER_USAGE, nvidia_smi_power_draw_watts, gpu_package_power, "
    "node_hwmon_power_average_watt or ipmi_dcmi_power_consumption_current_watts";

void read_answer(std::string_view text, const MeasuredHints& hints, PowerSeries& series, ResultsBuilder& results,
                 Diagnostics& diagnostics) {
  const Json document = parse_json(text, diagnostics);
  if (!diagnostics.ok()) return;
  const Json* all = series_of(document, diagnostics);
  if (!all) return;
  const char* where = document.is_array() ? "" : document.contains("data") ? "/data/result" : "/result";
  AnswerReader reader(hints, series, diagnostics);
  for (std::size_t i = 0; i < all->size(); ++i) reader.read((*all)[i], fmt::format("{}/{}", where, i));
  if (reader.absent() > 0)
    results.warn(fmt::format("values that are no numbers (NaN, Inf) were left out: {}", reader.absent()));
}

}  // namespace

void read_prometheus(std::string_view text, const std::string& file, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  if (trimmed(text).empty()) return diagnostics.error("", "is empty");
  PowerSeries series(hints, results);
  if (is_grafana(text))
    read_grafana(text, file, hints, series, results, diagnostics);
  else if (is_exposition(text))
    read_exposition(text, series, results, diagnostics);
  else
    read_answer(text, hints, series, results, diagnostics);
  Devices devices("prometheus", hints, results);
  series.finish(devices, diagnostics);
  devices.finish(diagnostics, kKnown + series.others());
}

}  // namespace stepcast
