#include "calibration/fit/training/training_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/never_fit.hpp"
#include "calibration/validation/settle.hpp"
#include "models/estimate.hpp"
#include "models/updates/lone_node.hpp"

namespace stepcast {

namespace {

/// Of the squared errors of a family's runs so much is common to them (stepcast calibrate check --steps: 0.42 before
/// this weight was in use, 0.40 with it).
constexpr double kCommon = 0.42;

/// Weight of each of n runs that are off together: n tell what n/(1 + kCommon·(n − 1)) independent ones would (Kish
/// 1965, Survey Sampling: the design effect of clusters).
double weight_of_each(int runs) { return 1 / (1 + kCommon * (runs - 1)); }

std::string family_of(const TrainingPoint& point) {
  const Json& model = point.run.scenario.at("workload").at("model");
  const Json* shape = model.is_object() && model.contains("transformer") ? &model.at("transformer") : nullptr;
  const std::string name = model.is_object() ? model.value("id", std::string()) : model.get<std::string>();
  const std::string what =
      shape == nullptr ? name : fmt::format("{}x{}", shape->at("layers").dump(), shape->at("hidden").dump());
  return fmt::format("{} {} {} {}", point.scenario->framework->id, point.accelerator, what,
                     name_of(point.scenario->precision));
}

std::shared_ptr<const FrameworkProfile> without_sources(FrameworkProfile profile) {
  profile.sources.clear();
  profile.evidence.clear();
  profile.note.clear();
  return std::make_shared<const FrameworkProfile>(std::move(profile));
}

bool is_of_a_step(Metric metric) { return metric != Metric::minutes_to_target; }

double measured_time(const MeasuredRun& run, const Scenario& scenario) {
  if (run.metric == Metric::step_time) return run.measured;
  if (run.metric == Metric::samples_per_s)
    return static_cast<double>(scenario.spec.workload.global_batch) / run.measured;
  const double tokens = static_cast<double>(scenario.spec.workload.global_batch) * scenario.seq_len;
  return tokens / (run.measured * scenario.devices());
}

}  // namespace

StepBreakdown TrainingPoint::predict(const std::vector<TrainingConstant>& all, const std::vector<double>& values) {
  auto with_constants = std::make_shared<FrameworkProfile>(*framework);
  ComputeProfile with_shares = *compute;
  for (const std::size_t i : constants) {
    if (all[i].kind == ProfileKind::framework) {
      set_constant(all[i], values[i], *with_constants);
    } else {
      set_constant(all[i], values[i], with_shares);
    }
  }
  scenario->framework = std::move(with_constants);
  scenario->compute = &with_shares;
  const StepBreakdown step = estimate(lower(*scenario));
  scenario->compute = compute;
  return step;
}

double TrainingPoint::log_ratio(const std::vector<TrainingConstant>& all, const std::vector<double>& values) {
  return std::log(predict(all, values).step_time / measured());
}

Seconds TrainingPoint::measured() const { return Seconds(measured_time(run, *scenario)); }

namespace {

/// Its accelerator, whether its products were in 8 or in 4 bit, or how many of them there were.
bool assumes_rate(const TrainingPoint& point) {
  const std::vector<std::string>& unstated = point.run.inputs_unstated;
  return std::any_of(unstated.begin(), unstated.end(), [](const std::string& what) {
    return what == kUnstatedAccelerator || what == kUnstatedWidth || what == kUnstatedPredictions;
  });
}

/// A run whose accelerator, format or network is assumed tells of no machine. Where its program has other runs, those
/// alone are read.
void drop_assumed(std::vector<TrainingPoint>& points) {
  std::set<std::string> known;
  for (const TrainingPoint& point : points)
    if (!assumes_rate(point)) known.insert(point.framework->id);
  std::erase_if(
      points, [&](const TrainingPoint& point) { return assumes_rate(point) && known.count(point.framework->id) > 0; });
}

/// Runs of steps that resolve and that their source does not doubt.
std::vector<TrainingPoint> points_of(RunSet runs, const std::vector<TrainingConstant>& constants,
                                     const Catalog& catalog) {
  std::vector<TrainingPoint> out;
  for (MeasuredRun& run : runs.runs) {
    if (!run.doubtful.empty() || !is_of_a_step(run.metric)) continue;
    TrainingPoint point;
    point.set = runs.name;
    point.scenario = settled_scenario(run, catalog);
    if (!point.scenario || point.scenario->accelerator == nullptr) continue;
    if (exchanges_apart(*point.scenario)) continue;  // no step of its own tells of these workers' exchanges
    point.run = std::move(run);
    point.framework = without_sources(*point.scenario->framework);
    point.accelerator = point.scenario->accelerator->id;
    point.compute = point.scenario->compute;
    for (std::size_t i = 0; i < constants.size(); ++i)
      if (constants[i].is_of(ProfileKind::framework, point.framework->id) ||
          constants[i].is_of(ProfileKind::compute, point.compute->id))
        point.constants.push_back(i);
    point.family = family_of(point);
    out.push_back(std::move(point));
  }
  return out;
}

void append(std::vector<TrainingPoint>& points, std::vector<TrainingPoint> more) {
  points.insert(points.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<TrainingPoint> training_points(const std::vector<std::string>& sets,
                                           const std::vector<TrainingConstant>& constants, const Catalog& catalog) {
  std::vector<TrainingPoint> out;
  std::map<std::string, int> families;
  for (const std::string& set : sets) append(out, points_of(runs_to_fit(run_set_file(set), set), constants, catalog));
  drop_assumed(out);
  for (const TrainingPoint& point : out) ++families[point.family];
  for (TrainingPoint& point : out) point.weight = weight_of_each(families[point.family]);
  return out;
}

std::vector<TrainingPoint> unread_points(const std::vector<std::string>& sets,
                                         const std::vector<TrainingConstant>& constants, const Catalog& catalog) {
  std::vector<TrainingPoint> out;
  for (const std::string& set : sets)
    append(out, points_of(runs_never_fit(run_set_file(set), set), constants, catalog));
  std::erase_if(out, assumes_rate);
  for (TrainingPoint& point : out) point.weight = 0;
  return out;
}

}  // namespace stepcast
