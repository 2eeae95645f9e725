#include <algorithm>
#include <map>

#include "calibration/fit/operators/problems.hpp"

namespace stepcast {
namespace {

/// Fewer rows than this leave the shape of the cost to the sibling and move its rates only.
constexpr std::size_t kRowsForShape = 70;
constexpr std::size_t kRowsForRate = 5;

const ProductWork* product_of(const MeasuredOperator& row) { return std::get_if<ProductWork>(&row.work); }

bool is_half(const std::string& format) { return format == "bf16" || format == "fp16" || format == "fp16-tensor"; }

/// Rows of kernels timed alone, in bursts, whose every shape was measured.
bool is_plain(const MeasuredOperator& row) {
  const ProductWork* work = product_of(row);
  return work != nullptr && !row.power && !row.conditions.call.sustained && !row.conditions.eager &&
         row.conditions.sampled && !work->shape.accumulates;
}

ProfileConstant constant(const std::string& name, double ProductConstants::*member, const OperatorProfile& profile,
                         double least, double most) {
  return {{"product." + name, std::clamp((*profile.product).*member, least, most), least, most},
          [member](OperatorProfile& p, double value) { (*p.product).*member = value; }};
}

ProfileConstant constant(const std::string& name, Seconds ProductConstants::*member, const OperatorProfile& profile,
                         double least_us, double most_us) {
  return {{"product." + name, std::clamp(((*profile.product).*member).in(1_us), least_us, most_us), least_us, most_us},
          [member](OperatorProfile& p, double value) { (*p.product).*member = Seconds(value * 1e-6); }};
}

ProfileConstant burst_share(const std::string& format, const OperatorProfile& profile) {
  const std::string key = format_key(profile.product->burst_share, format);
  const double start = key.empty() ? 0.6 : profile.product->burst_share.at(key);
  return {{"product.burst_share." + format, std::clamp(start, 0.1, 1.0), 0.1, 1.0},
          [format](OperatorProfile& p, double value) { p.product->burst_share[format] = value; }};
}

std::vector<std::string> formats_of(const FamilyRows& rows) {
  std::vector<std::string> out;
  for (const MeasuredOperator* row : rows)
    if (std::find(out.begin(), out.end(), row->format) == out.end()) out.push_back(row->format);
  std::sort(out.begin(), out.end());
  return out;
}

/// Starting point where no sibling gives one: round figures of the first fits to these tables (docs/sources.md).
ProductConstants round_figures() {
  ProductConstants out;
  out.memory_share = 0.8;
  out.cache_speedup = 2;
  out.launch = 3_us;
  out.start_up_k = 60;
  out.whole_wave_share = 0.2;
  out.small_tile_exponent = 0.3;
  out.overlap_exponent = 2;
  out.split_cost = 2_us;
  return out;
}

void add_shape(std::vector<ProfileConstant>& out, const OperatorProfile& profile) {
  using P = ProductConstants;
  out.push_back(constant("memory_share", &P::memory_share, profile, 0.2, 1));
  out.push_back(constant("cache_speedup", &P::cache_speedup, profile, 1, 6));
  out.push_back(constant("launch_us", &P::launch, profile, 0.5, 40));
  out.push_back(constant("start_up_k", &P::start_up_k, profile, 0, 500));
  out.push_back(constant("whole_wave_share", &P::whole_wave_share, profile, 0, 1));
  out.push_back(constant("small_tile_exponent", &P::small_tile_exponent, profile, 0, 0.8));
  out.push_back(constant("overlap_exponent", &P::overlap_exponent, profile, 1, 6));
  out.push_back(constant("split_cost_us", &P::split_cost, profile, 0, 10));
}

void record(const std::string& name, const OperatorFitResult& result, OperatorProfile& profile) {
  profile.fit->rows[name] = static_cast<double>(result.rows);
  profile.fit->error_percent[name] = result.left_out_error_percent;
}

/// The formats that decide the shape: 16 bit, or the one with the most rows.
FamilyRows shape_rows(const FamilyRows& rows) {
  std::map<std::string, FamilyRows> by_format;
  for (const MeasuredOperator* row : rows)
    if (is_plain(*row)) by_format[is_half(row->format) ? "16 bit" : row->format].push_back(row);
  if (by_format["16 bit"].size() >= kRowsForShape) return by_format["16 bit"];
  FamilyRows most;
  for (const auto& [format, found] : by_format)
    if (found.size() > most.size()) most = found;
  return most;
}

void fit_format(const std::string& format, const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  if (rows.size() < kRowsForRate) return;
  OperatorFitProblem problem{rows, {burst_share(format, profile)}};
  const bool eager = std::any_of(rows.begin(), rows.end(), [](const auto* row) { return row->conditions.eager; });
  if (eager) {
    profile.product->eager_launch = std::max(profile.product->eager_launch, 20_us);
    problem.constants.push_back(constant("eager_launch_us", &ProductConstants::eager_launch, profile, 1, 100));
  }
  record("product." + format, fit_class(problem, profile, catalog), profile);
}

void fit_accumulation(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  std::map<std::string, FamilyRows> by_format;
  for (const MeasuredOperator* row : rows)
    if (const ProductWork* work = product_of(*row); work != nullptr && work->shape.accumulates)
      by_format[row->format].push_back(row);
  for (const auto& [format, found] : by_format) {
    if (found.size() < kRowsForRate) continue;
    const std::string name = format;
    const OperatorFitProblem problem{
        found, {{{"product.accumulate_share." + format, 0.95, 0.5, 1}, [name](OperatorProfile& p, double value) {
                   p.product->accumulate_share[name] = value;
                 }}}};
    record("product.accumulate." + format, fit_class(problem, profile, catalog), profile);
  }
}

}  // namespace

void fit_products(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  FamilyRows shape = shape_rows(rows);
  const bool decides_shape = shape.size() >= kRowsForShape;
  if (!profile.product) {
    if (!decides_shape) return;
    profile.product = round_figures();
  }
  std::vector<std::string> done;
  if (decides_shape) {
    done = formats_of(shape);
    profile.product->burst_share.clear();
    OperatorFitProblem problem{shape, {}};
    add_shape(problem.constants, profile);
    for (const std::string& format : done) problem.constants.push_back(burst_share(format, profile));
    record("product", fit_class(problem, profile, catalog), profile);
  }
  FamilyRows others;
  for (const MeasuredOperator* row : rows) {
    const ProductWork* work = product_of(*row);
    if (work == nullptr || row->power || work->shape.accumulates || !row->conditions.sampled) continue;
    if (row->conditions.call.sustained && is_half(row->format)) continue;  // power's matter
    if (std::find(done.begin(), done.end(), row->format) == done.end()) others.push_back(row);
  }
  for (const std::string& format : formats_of(others)) {
    FamilyRows own;
    for (const MeasuredOperator* row : others)
      if (row->format == format) own.push_back(row);
    fit_format(format, own, profile, catalog);
  }
  fit_power(rows, profile, catalog);
  fit_accumulation(rows, profile, catalog);
}

void fit_power(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  if (!profile.product) return;
  using P = BoardPowerConstants;
  FamilyRows metered, sustained;
  for (const MeasuredOperator* row : rows) {
    const ProductWork* work = product_of(*row);
    if (work == nullptr || !row->conditions.call.sustained || work->shape.accumulates) continue;
    // Shorter products are launches more than work, and sensors lag behind them.
    if (row->power && row->measured >= 20_us && !row->power_doubtful) {
      metered.push_back(row);
    } else if (!row->power) {
      sustained.push_back(row);
    }
  }
  const auto member = [](const std::string& name, double P::*which, double start, double least, double most) {
    return ProfileConstant{{"power." + name, start, least, most},
                           [which](OperatorProfile& p, double value) { (*p.power).*which = value; }};
  };
  const auto sustained_share = [](double start) {
    return ProfileConstant{{"power.sustained_share.bf16", start, 0.2, 1.5}, [](OperatorProfile& p, double value) {
                             p.power->sustained_share["bf16"] = value;
                             p.power->sustained_share["fp16"] = value;
                           }};
  };
  if (metered.size() >= kRowsForShape) {
    if (!profile.power) profile.power = P{{}, 0.3, 0.4, 0.98};
    OperatorFitProblem problem{metered,
                               {sustained_share(0.7), member("static_share", &P::static_share, 0.3, 0.1, 0.6),
                                member("streaming_share", &P::streaming_share, 0.4, 0, 1.5),
                                member("limit_share", &P::limit_share, 0.98, 0.9, 1)},
                               true};
    record("power", fit_class(problem, profile, catalog), profile);
  }
  if (sustained.size() >= kRowsForShape / 2) {
    if (!profile.power) profile.power = P{{}, 0.3, 0.4, 0.98};
    const double start =
        profile.power->sustained_share.count("bf16") != 0 ? profile.power->sustained_share.at("bf16") : 0.7;
    const OperatorFitProblem problem{sustained, {sustained_share(start)}};
    record("sustained", fit_class(problem, profile, catalog), profile);
  }
}

}  // namespace stepcast
