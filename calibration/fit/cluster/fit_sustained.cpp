#include "calibration/fit/cluster/fit_sustained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fields/rounded.hpp"

namespace stepcast {

namespace {

double flops_of(const ProductShape& shape) { return 2 * shape.m * shape.n * shape.k * shape.batch; }

RowSamples shares_of(const ProductRow& row, const Accelerator& part) {
  RowSamples out;
  for (const double us : row.samples_us)
    out.push_back(flops_of(row.shape) / us * 1e6 / part.product_peak(row.precision).value());
  return out;
}

/// What each row reached beside what the fitted share says.
void add_figures(CalibrationProfile& calibration, const std::vector<ProductRow>& rows, const Accelerator& part,
                 const ComputeProfile& fitted) {
  for (const ProductRow& row : rows) {
    if (!row.sustained) continue;
    const double peak = part.product_peak(row.precision).in(1_TFLOPS);
    const auto share = fitted.gemm_sustained_share.find(std::string(name_of(row.precision)));
    if (peak <= 0 || share == fitted.gemm_sustained_share.end()) continue;
    calibration.figures.push_back({fmt::format("{} {:.0f} × {:.0f} × {:.0f}, sustained", name_of(row.precision),
                                               row.shape.m, row.shape.n, row.shape.k),
                                   "gemm", rounded(flops_of(row.shape) / row.measured_us / 1e6, 5),
                                   rounded(peak * share->second, 5), "TFLOP/s"});
  }
}

}  // namespace

std::vector<std::string> fit_sustained_rows(CalibrationProfile& calibration, const std::vector<ProductRow>& rows,
                                            const Accelerator& part, ComputeProfile& profile) {
  std::map<std::string, std::vector<RowSamples>> shares;
  for (const ProductRow& row : rows)
    if (row.sustained && part.product_peak(row.precision) > FlopsPerSecond(0))
      shares[std::string(name_of(row.precision))].push_back(shares_of(row, part));
  // The unit multiplies either kind of 16 bit at one rate.
  for (const auto& [format, other] : {std::pair{"fp16", "bf16"}, {"bf16", "fp16"}})
    if (const auto known = shares.find(other); known != shares.end() && !shares.contains(format))
      shares[format] = known->second;
  std::vector<std::string> moved;
  for (const auto& [format, measured] : shares) {
    FittedRate share = fit_rate(measured, kBestRows);  // small ones are held up by more than power
    for (double* figure : {&share.value, &share.low, &share.high}) *figure = rounded(std::min(1.0, *figure), 5);
    const std::string key = "gemm_sustained_share." + format;
    const auto prior = profile.gemm_sustained_share.find(format);
    calibration.constants.push_back({"compute-profiles/" + part.family, key,
                                     prior == profile.gemm_sustained_share.end() ? 0 : rounded(prior->second, 5),
                                     share.value, share.low, share.high, measured.size()});
    profile.gemm_sustained_share[format] = share.value;
    moved.push_back(key);
  }
  add_figures(calibration, rows, part, profile);
  return moved;
}

}  // namespace stepcast
