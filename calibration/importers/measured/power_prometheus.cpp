#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibration/importers/measured/power_devices.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kPowerMetric = "DCGM_FI_DEV_POWER_USAGE";

std::string label(const Json& metric, const char* name) {
  return metric.contains(name) && metric[name].is_string() ? metric[name].get<std::string>() : "";
}

/// One series after the other into devices.
class SeriesReader {
 public:
  SeriesReader(const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics), devices_("prometheus", hints, results) {}

  void read(const Json& series, const std::string& at) {
    if (!series.is_object() || !series.contains("metric") || !series["metric"].is_object() ||
        !series.contains("values") || !series["values"].is_array())
      return diagnostics_.error(at, "has no metric and values", "a range query, not an instant one");
    const Json& metric = series["metric"];
    const PowerColumn column = column_of_metric(metric, at);
    if (column == PowerColumn::other) return;
    Readings& readings = devices_.of(device_of(metric));
    for (const Json& pair : series["values"])
      if (!take(pair, column, readings))
        return diagnostics_.error(at + "/values", fmt::format("found {}, expected [time, \"number\"]", describe(pair)));
  }

  void finish() {
    if (absent_ > 0) results_.warn(fmt::format("values that are no numbers (NaN, Inf) were left out: {}", absent_));
    const std::string found = others_.empty() ? "" : fmt::format("; found {}", fmt::join(others_, ", "));
    devices_.finish(diagnostics_, fmt::format("expected the metric {}{}", kPowerMetric, found));
  }

 private:
  /// Functions over time (avg_over_time) drop the name of what they read.
  PowerColumn column_of_metric(const Json& metric, const std::string& at) {
    const std::string name = label(metric, "__name__").empty() ? hints_.metric : label(metric, "__name__");
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

  std::string device_of(const Json& metric) {
    const std::string host = label(metric, "Hostname").empty() ? label(metric, "instance") : label(metric, "Hostname");
    if (!host.empty()) results_.host(host);
    if (const std::string model = label(metric, "modelName"); !model.empty()) results_.accelerator(model);
    std::string device = gpu_name(label(metric, "gpu").empty() ? hints_.device : label(metric, "gpu"));
    if (device.empty()) device = "gpu0";
    return host.empty() ? device : device + "@" + host;
  }

  bool take(const Json& pair, PowerColumn column, Readings& r) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_string()) return false;
    const auto& text = pair[1].get_ref<const std::string&>();
    // Prometheus' marks of no value, as of 0 / 0 and of 1 / 0.
    if (text == "NaN" || text == "+Inf" || text == "-Inf" || text == "Inf") return ++absent_, true;
    const auto value = leading_number(text);
    if (!value || *value < 0 || *value > kMostWatts) return false;
    if (column == PowerColumn::watts) {
      r.watts.push_back(*value);
      r.seconds.push_back(std::clamp(pair[0].get<double>(), 0.0, 1e11));
    }
    if (column == PowerColumn::utilization) r.utilization.push_back(*value);
    if (column == PowerColumn::clock) r.clock.push_back(*value);
    if (column == PowerColumn::temperature) r.temperature.push_back(*value);
    if (column == PowerColumn::limit) r.limit = value;
    return true;
  }

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  Devices devices_;
  std::set<std::string> others_;  ///< metrics that are none of those known
  std::size_t absent_ = 0;
};

}  // namespace

void read_prometheus(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  const Json document = parse_json(text, diagnostics);
  if (!diagnostics.ok()) return;
  const auto fail = [&](const char* at, const char* what) { diagnostics.error(at, what, "/api/v1/query_range"); };
  if (!document.is_object() || !document.contains("status") || document["status"] != "success")
    return fail("/status", "is no successful answer of Prometheus");
  if (!document.contains("data") || !document["data"].is_object() || !document["data"].contains("result") ||
      !document["data"]["result"].is_array())
    return fail("/data/result", "missing");
  SeriesReader reader(hints, results, diagnostics);
  const Json& series = document["data"]["result"];
  for (std::size_t i = 0; i < series.size(); ++i) reader.read(series[i], fmt::format("/data/result/{}", i));
  reader.finish();
}

}  // namespace stepcast
