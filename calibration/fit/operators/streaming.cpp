#include <algorithm>
#include <map>

#include "calibration/fit/operators/problems.hpp"

namespace stepcast {
namespace {

/// Kernels of fewer rows have one constant, their share; the launch is a graph's.
constexpr std::size_t kRowsForLaunch = 3, kRowsForCache = 20;
constexpr double kGraphLaunch_us = 2;

ProfileConstant share(const std::string& kernel) {
  return {{"streaming." + kernel + ".share", 0.6, 0.005, 1},
          [kernel](OperatorProfile& p, double value) { p.streaming[kernel].share = value; }};
}
ProfileConstant launch(const std::string& kernel) {
  return {{"streaming." + kernel + ".launch_us", 3, 0.2, 120},
          [kernel](OperatorProfile& p, double value) { p.streaming[kernel].launch = Seconds(value * 1e-6); }};
}

ProfileConstant cache_speedup(const std::string& kernel) {
  return {{"streaming." + kernel + ".cache_speedup", 1.5, 1, 5},
          [kernel](OperatorProfile& p, double value) { p.streaming[kernel].cache_speedup = value; }};
}

/// What a kernel that nobody measured takes: the middle of those that were.
StreamingConstants middle(const std::map<std::string, StreamingConstants>& kernels) {
  std::vector<double> shares, launches;
  for (const auto& [name, kernel] : kernels) {
    shares.push_back(kernel.share);
    launches.push_back(kernel.launch.value());
  }
  std::sort(shares.begin(), shares.end());
  std::sort(launches.begin(), launches.end());
  return {shares[shares.size() / 2], 1, Seconds(launches[launches.size() / 2])};
}

}  // namespace

void fit_streaming(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  std::map<std::string, FamilyRows> by_kernel;
  for (const MeasuredOperator* row : rows)
    if (const auto* work = std::get_if<StreamingWork>(&row->work); work != nullptr && work->bytes)
      by_kernel[work->kernel].push_back(row);
  if (by_kernel.empty()) return;
  profile.streaming.clear();
  double errors = 0, count = 0;
  for (const auto& [kernel, found] : by_kernel) {
    profile.streaming[kernel] = {0.6, 1, Seconds(kGraphLaunch_us * 1e-6)};
    OperatorFitProblem problem{found, {share(kernel)}};
    if (found.size() >= kRowsForLaunch) problem.constants.push_back(launch(kernel));
    if (found.size() >= kRowsForCache) problem.constants.push_back(cache_speedup(kernel));
    const OperatorFitResult result = fit_class(problem, profile, catalog);
    errors += result.left_out_error_percent * static_cast<double>(result.rows);
    count += static_cast<double>(result.rows);
  }
  profile.streaming["default"] = middle(profile.streaming);
  profile.fit->rows["streaming"] = count;
  profile.fit->error_percent["streaming"] = errors / count;
}

}  // namespace stepcast
