#include "calibration/fit/cluster/rate_fit.hpp"

#include <algorithm>
#include <random>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/fit/cluster/draws.hpp"

namespace stepcast {

namespace {

constexpr int kRefits = 400;

double of_medians(const std::vector<RowSamples>& rows, double quantile) {
  std::vector<double> medians;
  medians.reserve(rows.size());
  for (const RowSamples& row : rows) medians.push_back(quantile_of(row, 0.5));
  return quantile_of(std::move(medians), quantile);
}

}  // namespace

FittedRate fit_rate(const std::vector<RowSamples>& all, double quantile) {
  std::vector<RowSamples> rows;
  for (const RowSamples& row : all)
    if (!row.empty()) rows.push_back(row);
  if (rows.empty()) return {};
  const double value = of_medians(rows, quantile);
  std::mt19937_64 random(1);  // fixed: the same rows give the same file
  std::vector<double> refits;
  for (int i = 0; i < kRefits; ++i) {
    std::vector<RowSamples> some;
    for (std::size_t r = 0; r < rows.size(); ++r) some.push_back(redrawn(rows[random() % rows.size()], random));
    refits.push_back(of_medians(some, quantile));
  }
  return {value, std::min(value, quantile_of(refits, 0.16)), std::max(value, quantile_of(refits, 0.84))};
}

}  // namespace stepcast
