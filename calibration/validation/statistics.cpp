#include "calibration/validation/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepcast {

namespace {

int sign(double value) { return value > 0 ? 1 : (value < 0 ? -1 : 0); }

}  // namespace

double absolute_error(double predicted, double measured) { return std::abs(predicted / measured - 1); }

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

std::optional<double> geometric_mean(const std::vector<double>& ratios) {
  if (ratios.empty()) return std::nullopt;
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

std::optional<double> kendall_tau(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double balance = 0, untied_predicted = 0, untied_measured = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const int by_prediction = sign(predicted[i] - predicted[j]);
      const int by_measurement = sign(measured[i] - measured[j]);
      balance += by_prediction * by_measurement;
      untied_predicted += by_prediction != 0 ? 1 : 0;
      untied_measured += by_measurement != 0 ? 1 : 0;
    }
  if (untied_predicted == 0 || untied_measured == 0) return std::nullopt;
  return balance / std::sqrt(untied_predicted * untied_measured);
}

}  // namespace stepcast
