#include "checks/prometheus_text.hpp"

#include <fmt/format.h>

namespace stepcast {

namespace {

using P = const Prediction&;

struct Gauge {
  const char* name;
  const char* help;
  std::optional<double> (*read)(P);
};

constexpr Gauge kGauges[]{
    {"step_time_seconds", "Forecast time of one training step.",
     [](P p) { return std::optional(p.step_time.value()); }},
    {"step_time_low_seconds", "Lower end of the interval that holds 80 of 100 like runs.",
     [](P p) { return std::optional(p.step_time_low().value()); }},
    {"step_time_high_seconds", "Upper end of the interval that holds 80 of 100 like runs.",
     [](P p) { return std::optional(p.step_time_high().value()); }},
    {"samples_per_second", "Forecast throughput.", [](P p) { return std::optional(p.samples_per_s); }},
    {"tokens_per_second", "Forecast throughput.",
     [](P p) { return p.tokens_per_s > 0 ? std::optional(p.tokens_per_s) : std::nullopt; }},
    {"model_flops_per_second_per_device", "Forecast FLOP/s of the model on one device.",
     [](P p) { return std::optional(p.model_tflops_per_gpu * 1e12); }},
    {"mfu_ratio", "Forecast model FLOP/s over the device's peak.", [](P p) { return std::optional(p.mfu); }},
    {"exposed_communication_seconds", "Forecast time of a step in which a device only communicates.",
     [](P p) { return std::optional(p.communication.exposed.value()); }},
    {"memory_peak_bytes", "Forecast peak memory of a device.",
     [](P p) {
       return std::optional(p.memory.stages.at(static_cast<std::size_t>(p.memory.worst_stage)).total().value());
     }},
    {"power_average_watts", "Forecast power of the cluster at the meter.",
     [](P p) { return std::optional(p.average_power.value()); }},
    {"energy_per_step_joules", "Forecast energy of one step at the meter.",
     [](P p) { return std::optional(p.energy_per_step.value()); }},
    {"devices", "Devices that train.", [](P p) { return std::optional(static_cast<double>(p.devices)); }},
};

/// Label values escape backslash, quote and line feed; other control characters are no text.
std::string label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= ' ') {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string prometheus_text(const std::vector<NamedForecast>& forecasts) {
  std::string out;
  for (const Gauge& gauge : kGauges) {
    std::string series;
    for (const NamedForecast& forecast : forecasts)
      if (const auto value = gauge.read(*forecast.prediction))
        series += fmt::format("stepcast_forecast_{}{{scenario=\"{}\"}} {:.12g}\n", gauge.name, label(forecast.scenario),
                              *value);
    if (series.empty()) continue;
    out +=
        fmt::format("# HELP stepcast_forecast_{0} {1}\n# TYPE stepcast_forecast_{0} gauge\n", gauge.name, gauge.help);
    out += series;
  }
  return out;
}

}  // namespace stepcast
