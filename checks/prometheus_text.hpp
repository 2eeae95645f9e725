#pragma once

#include <string>
#include <vector>

#include "report/prediction.hpp"

namespace stepcast {

/// A forecast and the name that its series carry as the label `scenario`.
struct NamedForecast {
  std::string scenario;
  const Prediction* prediction = nullptr;
};

/// Forecasts in Prometheus' text format (version 0.0.4), for node_exporter's textfile collector or a push gateway, so
/// that measured and predicted stand in one chart: gauges named stepcast_forecast_…, in base units.
std::string prometheus_text(const std::vector<NamedForecast>& forecasts);

}  // namespace stepcast
