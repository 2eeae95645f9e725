#include "calibration/collectives/collective_score.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/validation/score.hpp"
#include "calibration/validation/statistics.hpp"

namespace stepcast {

namespace {

/// Ratios of one line, by range.
using Ratios = std::array<std::vector<double>, kSizeRanges>;

CollectiveLine line_of(std::string where, std::string operation, const Ratios& ratios) {
  CollectiveLine line;
  line.where = std::move(where);
  line.operation = std::move(operation);
  std::vector<double> all;
  for (std::size_t range = 0; range < kSizeRanges; ++range) {
    line.ranges[range] = error_figures(ratios[range]);
    all.insert(all.end(), ratios[range].begin(), ratios[range].end());
  }
  line.all = error_figures(all);
  return line;
}

std::vector<CollectiveLine> collective_lines_of(const std::vector<PredictedCollective>& rows) {
  std::map<MeasuredWhere, Ratios> places;
  std::map<std::pair<MeasuredWhere, CollectiveKind>, Ratios> operations;
  for (const PredictedCollective& row : rows) {
    const std::size_t range = size_range(row.row.size);
    places[row.row.where][range].push_back(row.ratio());
    operations[{row.row.where, row.row.kind}][range].push_back(row.ratio());
  }
  std::vector<CollectiveLine> lines;
  for (const auto& [where, ratios] : places) {
    lines.push_back(line_of(std::string(name_of(where)), "all", ratios));
    for (const auto& [key, parts] : operations)
      if (key.first == where)
        lines.push_back(line_of(std::string(name_of(where)), std::string(name_of(key.second)), parts));
  }
  return lines;
}

std::string accelerator_of(const MeasuredCollective& row) {
  return row.node.accelerator.empty() ? "processors" : row.node.accelerator;
}

std::map<std::string, ErrorFigures> by_accelerator(const std::vector<CollectivePoint>& points) {
  std::map<std::string, std::vector<double>> ratios;
  for (const CollectivePoint& point : points)
    ratios[point.accelerator].push_back(point.predicted_us / point.measured_us);
  std::map<std::string, ErrorFigures> out;
  for (const auto& [accelerator, of_it] : ratios) out[accelerator] = error_figures(of_it);
  return out;
}

}  // namespace

std::size_t size_range(Bytes size) {
  if (size <= 1_KiB) return 0;
  if (size <= 64_KiB) return 1;
  return size < 16_MiB ? 2 : 3;
}

ErrorFigures error_figures(const std::vector<double>& ratios) {
  ErrorFigures out;
  out.rows = ratios.size();
  std::vector<double> errors;
  errors.reserve(ratios.size());
  for (const double ratio : ratios) errors.push_back(100 * std::abs(ratio - 1));
  out.mean = mean(errors);
  out.median = quantile(errors, 0.5);
  out.p90 = quantile(errors, 0.9);
  out.max = quantile(errors, 1);
  if (const auto bias = geometric_mean(ratios)) out.bias = 100 * (*bias - 1);
  return out;
}

CollectiveScore score_collectives(const std::string& name, std::vector<MeasuredCollective> rows) {
  CollectiveScore out;
  out.name = name;
  out.rows = rows.size();
  std::vector<PredictedCollective> predicted;
  std::vector<double> ratios, times, predicted_times;
  for (MeasuredCollective& row : rows) {
    if (!row.refusal.empty()) {
      ++out.reasons[row.refusal];
    } else if (!row.healthy) {
      ++out.unhealthy;
    } else {
      const double time = stepcast::predicted_us(row);
      out.points.push_back({row.line, accelerator_of(row), row.where, time, row.time_us});
      times.push_back(row.time_us);
      predicted_times.push_back(time);
      predicted.push_back({std::move(row), time});
      ratios.push_back(predicted.back().ratio());
    }
  }
  out.covered = predicted.size();
  out.all = error_figures(ratios);
  out.kendall_tau = kendall_tau(predicted_times, times);
  out.lines = collective_lines_of(predicted);
  out.accelerators = by_accelerator(out.points);
  const auto error = [](const PredictedCollective& p) { return std::abs(std::log(p.ratio())); };
  std::stable_sort(predicted.begin(), predicted.end(),
                   [&](const auto& a, const auto& b) { return error(a) > error(b); });
  if (predicted.size() > kWorstRows) predicted.resize(kWorstRows);
  out.worst = std::move(predicted);
  return out;
}

AccuracyFigures accuracy_of(const CollectiveScore& set) {
  AccuracyFigures out;
  out.rows = set.rows;
  out.covered = set.covered;
  out.mape = set.all.mean;
  out.median = set.all.median;
  out.p90 = set.all.p90;
  out.max = set.all.max;
  out.bias = set.all.bias;
  out.kendall_tau = set.kendall_tau;
  return out;
}

}  // namespace stepcast
