#include "calibration/fit/cluster/fit_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "calibration/fit/cluster/draws.hpp"
#include "calibration/fit/prior_fit.hpp"

namespace stepcast {

namespace {

// One standard deviation of a prior draws as a row that is a tenth off: a cluster's own rows know better than its kind.
constexpr PriorFitOptions kOptions{.drawn = 0.1, .step = 1e-4};
// Where libraries change from eager messages to rendezvous: openib 12 KiB, UCX 8 KiB and more, TCP 64 KiB.
constexpr std::array kEagerLimits{4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131072.0, 262144.0};
constexpr double kApart = 0.15;  // of a prior's spread
constexpr double kLarge = 1 << 20;

std::vector<PriorConstant> priors_of(const std::vector<ClusterConstant>& constants) {
  std::vector<PriorConstant> out;
  out.reserve(constants.size());
  for (const ClusterConstant& c : constants)
    out.push_back({c.key, c.prior, c.spread, 0, c.most > 0 ? c.most : std::numeric_limits<double>::infinity()});
  return out;
}

ClusterModel moved(const ClusterModel& model, const std::vector<ClusterConstant>& constants,
                   const std::vector<double>& values) {
  ClusterModel out = model;
  for (std::size_t i = 0; i < constants.size(); ++i) constants[i].set(out, values[i]);
  return out;
}

/// `centres`: what the search's places are drawn to instead of the catalogue's values; empty: to these.
PriorFit solve(const ClusterModel& model, const std::vector<ClusterConstant>& constants,
               const std::vector<ClusterRow>& rows, const std::vector<double>& start,
               const std::vector<double>& centres = {}) {
  PriorFitRows problem;
  for (const ClusterRow& row : rows) problem.weights.push_back(row.weight);
  std::vector<double> times;
  problem.predict = [&](const std::vector<double>& values, int, double* residuals) {
    moved(model, constants, values).predict(rows, times);
    for (std::size_t i = 0; i < rows.size(); ++i) residuals[i] = std::log(times[i] / rows[i].median_us);
  };
  std::vector<std::vector<double>> starts{start};
  // The catalogue has one rate for messages, streams and nodes of some networks. Where they are equal none of them
  // alone changes a time for the better, and the search would stay there.
  std::vector<double> apart = start;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].key.ends_with("host.eager_GBps")) apart[i] += kApart;
    if (constants[i].key.ends_with("host.node_GBps")) apart[i] += 2 * kApart;
  }
  if (apart != start) starts.push_back(std::move(apart));
  std::vector<PriorConstant> priors = priors_of(constants);
  for (std::size_t i = 0; i < centres.size(); ++i) priors[i].centre = centres[i];
  return fit_with_priors(priors, problem, starts, kOptions);
}

void set_curves(ClusterFit& fit, const std::vector<ClusterRow>& rows) {
  fit.inside.curves = curves_of(rows, false);
  fit.across.curves = curves_of(rows, true);
}

/// The eager limit under which the rows fit best.
void search_limit(ClusterModel& model, const std::vector<ClusterConstant>& constants,
                  const std::vector<ClusterRow>& rows) {
  const std::vector<double> start(constants.size(), 0);
  double least = solve(model, constants, rows, start).cost;
  Bytes best = model.host->eager_limit;
  for (const double limit : kEagerLimits) {
    ClusterModel tried = model;
    tried.host->eager_limit = Bytes(limit);
    const double cost = solve(tried, constants, rows, start).cost;
    // A tie keeps the catalogue's.
    if (cost >= 0.99 * least) continue;
    least = cost;
    best = Bytes(limit);
  }
  model.host->eager_limit = best;
}

ClusterFit fit_from(const ClusterModel& model, std::vector<ClusterConstant> constants,
                    const std::vector<ClusterRow>& rows, const std::vector<double>& start) {
  const PriorFit found = solve(model, constants, rows, start);
  ClusterFit out;
  out.model = moved(model, constants, found.values);
  out.constants = std::move(constants);
  out.values = found.values;
  out.place = found.place;
  set_curves(out, rows);
  return out;
}

std::vector<ClusterRow> with_weight(const std::vector<ClusterRow>& rows) {
  std::vector<ClusterRow> out;
  for (const ClusterRow& row : rows)
    if (row.weight > 0) out.push_back(row);
  return out;
}

ClusterRow resampled(const ClusterRow& row, std::mt19937_64& random) {
  ClusterRow out = row;
  out.samples_us = redrawn(row.samples_us, random);
  summarise(out);
  return out;
}

}  // namespace

CalibratedTime ClusterFit::time(const ClusterRow& row) const {
  return calibrated_time(row.nodes() > 1 ? across : inside, row.kind, row.place, model.time_of(row.kind, row.width));
}

std::vector<int> node_counts(const std::vector<ClusterRow>& rows) {
  std::set<int> out;
  for (const ClusterRow& row : rows)
    if (row.nodes() > 1 && row.weight > 0) out.insert(row.nodes());
  return {out.begin(), out.end()};
}

ClusterFit fit_collectives(const ClusterModel& model, const std::vector<ClusterRow>& all) {
  const std::vector<ClusterRow> rows = with_weight(all);
  std::vector<ClusterConstant> constants = cluster_constants(model, rows);
  if (node_counts(rows).size() < 2)
    constants.erase(
        std::remove_if(constants.begin(), constants.end(), [](const ClusterConstant& c) { return c.grows; }),
        constants.end());
  ClusterModel start = model;
  if (start.host && rows.size() >= kRowsForLimit) search_limit(start, constants, rows);
  const std::vector<double> place(constants.size(), 0);
  return fit_from(start, std::move(constants), rows, place);
}

std::vector<std::size_t> rows_telling(const ClusterFit& fit, const std::vector<ClusterRow>& all) {
  const std::vector<ClusterRow> rows = with_weight(all);
  std::vector<double> usual, times;
  fit.model.predict(rows, usual);
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < fit.constants.size(); ++c) {
    const ClusterConstant& constant = fit.constants[c];
    std::vector<bool> tells(rows.size());
    for (const double side : {-1.0, 1.0}) {
      ClusterModel model = fit.model;
      constant.set(model, fit.values[c] * std::exp(side * constant.spread));
      model.predict(rows, times);
      for (std::size_t r = 0; r < rows.size(); ++r)
        tells[r] = tells[r] || std::abs(std::log(times[r] / usual[r])) >= kTells;
    }
    out.push_back(static_cast<std::size_t>(std::count(tells.begin(), tells.end(), true)));
  }
  return out;
}

std::vector<FitInterval> bootstrap(const ClusterFit& fit, const std::vector<ClusterRow>& all, int refits) {
  const std::vector<ClusterRow> rows = with_weight(all);
  std::vector<std::vector<double>> found(fit.constants.size());
  std::mt19937_64 random(1);  // fixed: the same rows give the same file
  for (int i = 0; i < refits; ++i) {
    std::vector<ClusterRow> drawn;
    for (std::size_t r = 0; r < rows.size(); ++r) drawn.push_back(resampled(rows[random() % rows.size()], random));
    // The catalogue's values are as uncertain as the rows: where these tell little, the interval is the prior's.
    std::vector<double> centres;
    for (std::size_t c = 0; c < found.size(); ++c) centres.push_back(normal_draw(random));
    const PriorFit refit = solve(fit.model, fit.constants, drawn, fit.place, centres);
    for (std::size_t c = 0; c < found.size(); ++c) found[c].push_back(refit.values[c]);
  }
  std::vector<FitInterval> out;
  for (std::size_t c = 0; c < found.size(); ++c) out.push_back(interval_around(fit.values[c], found[c]));
  return out;
}

FitInterval interval_around(double value, const std::vector<double>& refits) {
  if (refits.empty()) return {value, value};
  return {std::min(value, quantile_of(refits, 0.16)), std::max(value, quantile_of(refits, 0.84))};
}

HeldOutScore score_of(std::string what, const std::vector<double>& ratios) {
  HeldOutScore out;
  out.what = std::move(what);
  out.rows = ratios.size();
  std::vector<double> errors;
  double sum = 0, logs = 0;
  for (const double ratio : ratios) {
    errors.push_back(100 * std::abs(ratio - 1));
    sum += errors.back();
    logs += std::log(ratio);
  }
  if (ratios.empty()) return out;
  out.mean_percent = sum / static_cast<double>(ratios.size());
  out.median_percent = quantile_of(errors, 0.5);
  out.p90_percent = quantile_of(errors, 0.9);
  out.bias_percent = 100 * (std::exp(logs / static_cast<double>(ratios.size())) - 1);
  return out;
}

std::vector<bool> every_other(const std::vector<double>& sizes) {
  std::vector<bool> out(sizes.size());
  for (std::size_t i = 0; i < out.size(); i += 2) out[i] = true;
  return out;
}

SizeRatios size_ratios(const ClusterModel& model, const std::vector<ClusterRow>& all,
                       const std::function<std::vector<bool>(const std::vector<double>&)>& kept) {
  const std::vector<ClusterRow> rows = with_weight(all);
  std::vector<ClusterRow> seen, unseen;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t last = first;
    std::vector<double> sizes;
    for (; last < rows.size() && curve_key(rows[last]) == curve_key(rows[first]); ++last)
      sizes.push_back(rows[last].place.size.value());
    const std::vector<bool> taken = kept(sizes);
    for (std::size_t i = first; i < last; ++i) (taken[i - first] ? seen : unseen).push_back(rows[i]);
    first = last;
  }
  SizeRatios out;
  if (seen.empty()) return out;
  const ClusterFit fit = fit_collectives(model, seen);
  for (const ClusterRow& row : unseen)
    if (row.chosen())
      (row.place.size.value() >= kLarge ? out.large : out.small).push_back(fit.time(row).time.in(1_us) / row.median_us);
  return out;
}

std::vector<double> node_ratios(const ClusterModel& model, const std::vector<ClusterRow>& all,
                                const std::vector<int>& seen_counts) {
  const std::vector<ClusterRow> rows = with_weight(all);
  std::vector<ClusterRow> seen, unseen;
  for (const ClusterRow& row : rows) {
    const bool known =
        row.nodes() == 1 || std::find(seen_counts.begin(), seen_counts.end(), row.nodes()) != seen_counts.end();
    (known ? seen : unseen).push_back(row);
  }
  std::vector<double> out;
  if (seen.empty()) return out;
  const ClusterFit fit = fit_collectives(model, seen);
  for (const ClusterRow& row : unseen)
    if (row.chosen()) out.push_back(fit.time(row).time.in(1_us) / row.median_us);
  return out;
}

std::vector<HeldOutScore> held_out_scores(const ClusterModel& model, const std::vector<ClusterRow>& rows) {
  std::vector<HeldOutScore> out;
  const SizeRatios sizes = size_ratios(model, rows, every_other);
  if (!sizes.large.empty()) out.push_back(score_of("every other size, from 1 MiB", sizes.large));
  if (!sizes.small.empty()) out.push_back(score_of("every other size, below 1 MiB", sizes.small));
  std::vector<int> counts = node_counts(rows);
  if (counts.size() < 3) return out;
  const int most = counts.back();
  counts.pop_back();
  const std::vector<double> nodes = node_ratios(model, rows, counts);
  if (!nodes.empty()) out.push_back(score_of(fmt::format("{} nodes, from fewer", most), nodes));
  return out;
}

}  // namespace stepcast
