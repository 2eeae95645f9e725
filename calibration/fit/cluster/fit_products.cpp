#include "calibration/fit/cluster/fit_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/cluster/fit_collectives.hpp"
#include "calibration/fit/cluster/product_rows.hpp"
#include "calibration/fit/cluster/profile_entry.hpp"
#include "calibration/fit/cluster/timed_fit.hpp"
#include "fields/rounded.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kRowsToTest = 6;
// Peaks are those of a clock; a part may hold a little more.
constexpr double kOverPeak = 1.1;
// Of a format that the catalogue has no share of.
constexpr double kUnknownShare = 0.6;

/// Constants of products on one cluster: rates move by a tenth or two from the family's, launches by more.
class ProductModel {
 public:
  ProductModel(const Accelerator& part, const OperatorProfile& start, const std::vector<ProductRow>& rows)
      : part_(part), start_(start), rows_(rows) {
    constants_.push_back({"memory_share", start.product->memory_share, 0.2, 0.05, 1});
    constants_.push_back({"launch_us", start.product->launch.in(1_us), 0.5, 0, 100});
    for (const ProductRow& row : rows_) {
      const std::string format(name_of(row.precision));
      if (std::find(formats_.begin(), formats_.end(), format) != formats_.end()) continue;
      const auto known = start.product->burst_share.find(format);
      formats_.push_back(format);
      constants_.push_back({"burst_share." + format,
                            known == start.product->burst_share.end() ? kUnknownShare : known->second, 0.3, 0.01, 1});
    }
  }

  [[nodiscard]] OperatorProfile at(const std::vector<double>& values) const {
    OperatorProfile out = start_;
    out.product->memory_share = values[0];
    out.product->launch = Seconds(values[1] * 1e-6);
    for (std::size_t i = 0; i < formats_.size(); ++i) out.product->burst_share[formats_[i]] = values[kCommon + i];
    return out;
  }

  [[nodiscard]] TimedModel timed() const {
    return {constants_, [this](const std::vector<double>& values, int constant, std::vector<double>& times_us) {
              const OperatorProfile profile = at(values);
              for (std::size_t i = 0; i < rows_.size(); ++i)
                if (moves(constant, rows_[i])) times_us[i] = time_us(rows_[i], profile);
            }};
  }

 private:
  static constexpr std::size_t kCommon = 2;  ///< constants of all formats

  [[nodiscard]] bool moves(int constant, const ProductRow& row) const {
    const int format = constant - static_cast<int>(kCommon);
    return format < 0 || formats_[static_cast<std::size_t>(format)] == name_of(row.precision);
  }

  [[nodiscard]] double time_us(const ProductRow& row, const OperatorProfile& profile) const {
    const ProductDevice device =
        product_device(part_, profile, name_of(row.precision), part_.product_peak(row.precision));
    return burst_time(row.shape, {}, device).in(1_us);
  }

  const Accelerator& part_;
  const OperatorProfile& start_;
  const std::vector<ProductRow>& rows_;
  std::vector<std::string> formats_;
  std::vector<PriorConstant> constants_;
};

double flops_of(const ProductRow& row) { return 2 * row.shape.m * row.shape.n * row.shape.k * row.shape.batch; }

std::vector<TimedRow> timed_rows(const std::vector<ProductRow>& rows) {
  std::vector<TimedRow> out;
  for (const ProductRow& row : rows)
    out.push_back(
        {fmt::format("{} {:.0f} × {:.0f} × {:.0f}", name_of(row.precision), row.shape.m, row.shape.n, row.shape.k),
         row.place, std::string(name_of(row.precision)), row.samples_us, row.measured_us});
  return out;
}

void add_impossible_products(CalibrationProfile& profile, const std::vector<ProductRow>& rows,
                             const Accelerator& part) {
  const auto count = std::count_if(rows.begin(), rows.end(), [&](const ProductRow& row) {
    return flops_of(row) / row.measured_us * 1e6 > kOverPeak * part.product_peak(row.precision).value();
  });
  if (count > 0)
    profile.findings.push_back(
        fmt::format("{} matrix product{} faster than the peak of {}: another device, or zeros for operands", count,
                    count == 1 ? " is" : "s are", part.id));
}

/// Rows that no power limit held up, in formats that the part has.
std::vector<ProductRow> burst_rows(const std::vector<ProbeResults>& files, const Accelerator& part) {
  std::vector<ProductRow> rows = product_rows(files);
  std::erase_if(rows,
                [&](const ProductRow& row) { return row.sustained || part.product_peak(row.precision).value() <= 0; });
  return rows;
}

void add_figures(CalibrationProfile& profile, const std::vector<ProductRow>& products,
                 const std::vector<TimedRow>& rows, const TimedFit& fit) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double flops = flops_of(products[i]);
    profile.figures.push_back({rows[i].words, "gemm", rounded(flops / rows[i].measured_us / 1e6, 5),
                               rounded(flops / fit.times_us[i] / 1e6, 5), "TFLOP/s"});
  }
}

/// Errors on every second product, by a fit of the others.
void add_held_out(CalibrationProfile& profile, const TimedModel& model, const std::vector<TimedRow>& rows) {
  const auto count =
      static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const TimedRow& row) { return row.counts; }));
  if (count < kRowsToTest) {
    profile.notes.push_back(fmt::format("{}: {} matrix product{}", kTooFewToTest, count, count == 1 ? "" : "s"));
    return;
  }
  std::vector<bool> seen(rows.size());
  for (std::size_t i = 0; i < seen.size(); i += 2) seen[i] = true;
  profile.held_out.push_back(held_out_times(model, rows, seen, "every other matrix product"));
}

}  // namespace

void fit_products(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const Accelerator& part,
                  const Catalog& catalog, int refits) {
  const std::vector<ProductRow> products = burst_rows(files, part);
  if (products.empty()) return;
  const auto* start = catalog.find<OperatorProfile>(part.family);
  if (start == nullptr || !start->product) {
    profile.notes.push_back(
        fmt::format("matrix products are recorded, but nothing is fitted: the catalogue has no operator "
                    "profile of {}",
                    part.family));
    return;
  }
  const ProductModel products_model(part, *start, products);
  const TimedModel model = products_model.timed();
  std::vector<TimedRow> rows = timed_rows(products);
  const TimedFit fit = fit_times(model, rows, refits);
  add_figures(profile, products, rows, fit);
  add_outliers(profile, "product", rows, fit);
  std::vector<std::string> moved =
      add_timed_constants(profile, "operator-profiles/" + part.family, "product.", model, fit);
  moved.emplace_back("product");
  add_held_out(profile, model, rows);
  add_impossible_products(profile, products, part);
  put_entry(profile, products_model.at(fit.values), moved);
}

}  // namespace stepcast
