#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "calibration/fit/data_hash.hpp"
#include "calibration/fit/exit_code.hpp"
#include "calibration/fit/training/errors_writer.hpp"
#include "calibration/fit/training/profile_writer.hpp"
#include "calibration/fit/training/rows_writer.hpp"
#include "calibration/fit/training/training_points.hpp"
#include "calibration/profile/calibration_profile.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/prediction_of_run.hpp"
#include "calibration/validation/statistics.hpp"
#include "fields/data_directory.hpp"
#include "fields/in_parallel.hpp"
#include "report/humane.hpp"

namespace stepcast {
namespace {

constexpr int kFolds = 8;

struct Options {
  std::string constants, output, rows, date;
  std::vector<std::string> sets;
  bool quick = false, errors = false;
};

/// How strongly priors draw. Their spreads are judgements, so this is judged by models that a fit has not seen: 0.1,
/// 0.06, 0.04 and 0.03 leave megatron-a100-multi-node 7.5, 7.3, 7.1 and 7.0 % off, fsdp-runs 4.6, 4.2, 3.9 and 3.8,
/// llm-runs-published 10.4, 10.3, 10.4 and 10.4 (medians 5.9, 5.6, 5.7, 5.8).
constexpr PriorFitOptions kOptions{.drawn = 0.04, .most_iterations = 100};

/// The problem of a fit over all points but those held back.
class TrainingFit {
 public:
  TrainingFit(std::vector<TrainingPoint> points, std::vector<TrainingConstant> constants)
      : points_(std::move(points)), constants_(std::move(constants)) {
    for (const TrainingConstant& one : constants_) priors_.push_back(one.prior_constant());
    dependents_.resize(constants_.size());
    for (std::size_t i = 0; i < points_.size(); ++i)
      for (const std::size_t c : points_[i].constants) dependents_[c].push_back(i);
  }

  PriorFit fit(const std::function<bool(const TrainingPoint&)>& held, const std::vector<std::vector<double>>& starts) {
    PriorFitRows rows;
    for (const TrainingPoint& point : points_) rows.weights.push_back(held(point) ? 0 : point.weight);
    rows.predict = [this, &rows](const std::vector<double>& values, int constant, double* residuals) {
      predict(values, constant, residuals, rows.weights);
    };
    return fit_with_priors(priors_, rows, starts, kOptions);
  }

  /// ln(predicted / measured) of every point.
  std::vector<double> log_ratios(const std::vector<double>& values) {
    std::vector<double> out(points_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) out[i] = points_[i].log_ratio(constants_, values);
    return out;
  }

  [[nodiscard]] std::vector<TrainingPoint>& points() { return points_; }
  [[nodiscard]] const std::vector<TrainingConstant>& constants() const { return constants_; }
  [[nodiscard]] std::vector<double> prior_place() const { return std::vector<double>(constants_.size(), 0); }

 private:
  void predict(const std::vector<double>& values, int constant, double* residuals, const std::vector<double>& weights) {
    const auto one = [&](std::size_t i) {
      if (weights[i] > 0) residuals[i] = points_[i].log_ratio(constants_, values);
    };
    if (constant < 0) {
      in_parallel(points_.size(), jobs_, one);
    } else {
      const std::vector<std::size_t>& moved = dependents_[static_cast<std::size_t>(constant)];
      in_parallel(moved.size(), jobs_, [&](std::size_t i) { one(moved[i]); });
    }
  }

  std::vector<TrainingPoint> points_;
  std::vector<TrainingConstant> constants_;
  std::vector<PriorConstant> priors_;
  std::vector<std::vector<std::size_t>> dependents_;  ///< points of each constant
  int jobs_ = static_cast<int>(std::thread::hardware_concurrency());
};

/// Every set but those of other networks and of whole trainings, whose frameworks and kernels are others
/// (deep_learning_constants.json), and those that no fit reads a row of (calibration/never-fit.txt).
std::vector<std::string> large_model_sets() {
  std::vector<std::string> out;
  for (const std::string& name : run_set_names())
    if (name != "dl-runs-published" && name != "mlperf-training" && name != "bridge-cards" && name != "public-runs")
      out.push_back(name);
  return out;
}

/// Sets that no fit reads: plain PyTorch's networks, tuned runs of Megatron-Bridge, runs of public pages, and reports.
std::vector<std::string> unread_sets() { return {"never-fit-runs", "own-workloads", "bridge-cards", "public-runs"}; }

/// Error of the metric as validation counts it, from the ratio of step times.
double error_of(const TrainingPoint& point, double log_ratio) {
  const double ratio = std::exp(is_time(point.run.metric) ? log_ratio : -log_ratio);
  return 100 * std::abs(ratio - 1);
}

bool has_experts(const TrainingPoint& point) {
  const std::optional<TransformerShape>& shape = point.scenario->model->transformer;
  return shape && shape->experts > 0;
}

/// Dense models and mixtures of experts apart in sets that have both.
void print_errors(const std::string& title, const std::vector<TrainingPoint>& points, const std::vector<double>& logs) {
  std::set<std::string> mixed;
  for (const TrainingPoint& point : points)
    if (point.weight > 0 && has_experts(point)) mixed.insert(point.set);
  std::map<std::string, std::vector<double>> errors, ratios;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const TrainingPoint& point = points[i];
    std::vector<std::string> keys{point.set, "  " + point.framework->id, "  " + point.accelerator,
                                  fmt::format("  {}", plural_of(workload_kind(*point.scenario->model)))};
    if (point.weight == 0) keys = {point.set + ", read by no fit"};
    if (point.weight > 0 && mixed.count(point.set) > 0)
      keys.push_back(point.set + (has_experts(point) ? ", experts" : ", dense"));
    for (const std::string& key : keys) {
      errors[key].push_back(error_of(point, logs[i]));
      ratios[key].push_back(std::exp(logs[i]));
    }
  }
  fmt::print("\n{}: mean / median error %, bias of the time %, runs\n", title);
  for (const auto& [key, values] : errors)
    fmt::print("{} {:6.1f} / {:5.1f}  {:+6.1f}  {:5}\n", pad_right(key, 44), *mean(values), *quantile(values, 0.5),
               100 * (*geometric_mean(ratios[key]) - 1), values.size());
}

/// Each fold holds whole groups: `group_of` names them. Fits start at the priors, for the place that all runs led to
/// knows those that are held back. Runs that no fit reads are predicted by the fold that holds their group, else by the
/// first.
std::vector<double> left_out(TrainingFit& fit, const std::function<std::string(const TrainingPoint&)>& group_of,
                             int folds) {
  std::set<std::string> names;
  for (const TrainingPoint& point : fit.points())
    if (point.weight > 0) names.insert(group_of(point));
  std::map<std::string, int> fold_of;
  for (const std::string& name : names) fold_of.emplace(name, static_cast<int>(fold_of.size()) % folds);
  std::vector<double> out(fit.points().size(), 0);
  for (int fold = 0; fold < std::min(folds, static_cast<int>(names.size())); ++fold) {
    const auto held = [&](const TrainingPoint& point) {
      const auto group = fold_of.find(group_of(point));
      return (group == fold_of.end() ? 0 : group->second) == fold;
    };
    const std::vector<double> logs = fit.log_ratios(fit.fit(held, {fit.prior_place()}).values);
    for (std::size_t i = 0; i < logs.size(); ++i)
      if (held(fit.points()[i])) out[i] = logs[i];
  }
  return out;
}

void print_constants(const TrainingFit& fit, const PriorFit& found) {
  fmt::print("\n{} {:>9} {:>9}  68 % interval\n", pad_right("constant", 56), "prior", "fitted");
  for (std::size_t i = 0; i < found.values.size(); ++i)
    fmt::print("{} {:9.4g} {:9.4g}  {:.4g} to {:.4g}\n", pad_right(fit.constants()[i].name, 56),
               fit.constants()[i].prior, found.values[i], found.values[i] * std::exp(-found.deviations[i]),
               found.values[i] * std::exp(found.deviations[i]));
}

/// Fits that have not seen a run's model, its accelerator, or its framework.
LeftOutLogs cross_validate(TrainingFit& fit, const std::function<void(const std::vector<double>&)>& models_done) {
  constexpr int kEach = 1 << 20;
  LeftOutLogs left;
  left.models = left_out(
      fit, [](const TrainingPoint& point) { return point.family; }, kFolds);
  models_done(left.models);
  print_errors("models left out (8 folds)", fit.points(), left.models);
  left.accelerators = left_out(
      fit, [](const TrainingPoint& point) { return point.accelerator; }, kEach);
  print_errors("accelerators left out", fit.points(), left.accelerators);
  left.frameworks = left_out(
      fit, [](const TrainingPoint& point) { return point.framework->id; }, kEach);
  print_errors("frameworks left out: their constants at the priors", fit.points(), left.frameworks);
  return left;
}

std::string hash_of(const std::vector<std::string>& sets) {
  std::vector<std::filesystem::path> files;
  files.reserve(sets.size());
  for (const std::string& set : sets) files.push_back(run_set_file(set));
  return data_hash(files);
}

void run(const Options& options) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  const std::vector<TrainingConstant> constants = read_training_constants(options.constants);
  const std::vector<std::string> sets = options.sets.empty() ? large_model_sets() : options.sets;
  std::vector<TrainingPoint> points = training_points(sets, constants, catalog);
  const std::size_t read = points.size();
  if (options.sets.empty())
    for (TrainingPoint& point : unread_points(unread_sets(), constants, catalog)) points.push_back(std::move(point));
  TrainingFit fit(std::move(points), constants);
  fmt::print("{} runs, {} constants\n", read, constants.size());
  const auto write_errors = [&](const LeftOutLogs& left) {
    if (!options.output.empty())
      write_prediction_errors(fit.points(), left, std::filesystem::path(options.constants).stem().string(),
                              fmt::format("stepcast-fit-training {}, data {}", options.date, hash_of(sets)),
                              options.output);
  };
  if (options.errors) return write_errors(cross_validate(fit, [](const std::vector<double>&) {}));
  std::vector<double> priors;
  priors.reserve(constants.size());
  for (const TrainingConstant& one : constants) priors.push_back(one.prior);
  print_errors("priors alone", fit.points(), fit.log_ratios(priors));
  std::fflush(stdout);

  // The priors, and two points around them by turns.
  std::vector<std::vector<double>> starts(options.quick ? 1 : 3, fit.prior_place());
  for (std::size_t s = 1; s < starts.size(); ++s)
    for (std::size_t i = 0; i < starts[s].size(); ++i) starts[s][i] = (i + s) % (s + 1) == 0 ? 0.6 : -0.4;
  const PriorFit found = fit.fit([](const TrainingPoint&) { return false; }, starts);
  const std::vector<double> logs = fit.log_ratios(found.values);
  print_constants(fit, found);
  print_errors("in sample", fit.points(), logs);
  std::fflush(stdout);
  const auto write_run_errors = [&](const std::vector<double>& left_out_models) {
    if (!options.rows.empty()) write_rows(options.rows, fit.points(), constants, found.values, left_out_models);
  };
  if (!options.output.empty())
    write_training_profiles(constants, found, {options.date, hash_of(sets), read}, options.output);
  if (options.quick) return write_run_errors({});
  write_errors(cross_validate(fit, write_run_errors));
}

}  // namespace
}  // namespace stepcast

/// Fits what frameworks cost and what accelerators sustain to measured training runs, and writes it into the profiles.
int main(int argc, char** argv) {
  CLI::App app("Fits framework and compute profiles to measured training runs");
  stepcast::Options options;
  app.add_option("--constants", options.constants, "What is fitted, with priors; default: the shipped list")
      ->check(CLI::ExistingFile);
  auto* output = app.add_option("-o,--output", options.output, "Source tree whose profiles are rewritten")
                     ->check(CLI::ExistingDirectory);
  app.add_option("--set", options.sets, "Only this set of runs (repeatable); default: every one");
  auto* rows = app.add_option("--rows", options.rows, "File to write each run's error to (CSV)");
  output->needs(app.add_option("--date", options.date, "Date of the data, to state in the profiles (YYYY-MM-DD)"));
  auto* quick = app.add_flag("--quick", options.quick, "One start, and no fits with groups left out");
  app.add_flag("--errors", options.errors,
               "Only the fits with groups left out: with -o rewrites the errors that intervals follow, no profile")
      ->excludes(quick)
      ->excludes(rows);
  CLI11_PARSE(app, argc, argv);
  return stepcast::exit_code_of([&] {
    if (!options.date.empty() && !stepcast::is_date(options.date))
      throw stepcast::InputError({{"--date", "", "found \"" + options.date + "\", expected a date", "YYYY-MM-DD"}});
    if (options.constants.empty())
      options.constants = (stepcast::data_directory("calibration/fit/training") / "constants.json").string();
    stepcast::run(options);
  });
}
