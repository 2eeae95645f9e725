#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <set>

#include "calibration/fit/collectives/processors.hpp"
#include "calibration/fit/collectives/profile_files.hpp"
#include "calibration/fit/collectives/residuals.hpp"
#include "calibration/fit/collectives/solver.hpp"
#include "calibration/fit/data_hash.hpp"
#include "calibration/fit/exit_code.hpp"
#include "calibration/profile/calibration_profile.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/prediction_of_run.hpp"
#include "report/humane.hpp"

namespace stepcast::fit {
namespace {

struct Options {
  std::string data, out, date, residuals;
  bool left_out = true;
};

std::vector<MeasuredCollective> read_all(const Options& options, const Catalog& catalog,
                                         std::vector<std::filesystem::path>& files) {
  std::vector<MeasuredCollective> rows;
  for (const std::string& name : collective_set_names()) {
    const std::filesystem::path file =
        options.data.empty() ? run_set_file(name) : std::filesystem::path(options.data) / (name + ".csv");
    files.push_back(file);
    for (MeasuredCollective& row : read_collectives(read_csv(file), catalog)) rows.push_back(std::move(row));
  }
  return rows;
}

/// Errors by place and range: mean, median and rows.
void print_errors(const std::string& title, const std::vector<Point>& points, const std::vector<double>& times,
                  bool systems) {
  std::map<std::string, std::array<std::vector<double>, kSizeRanges>> lines;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (times[i] <= 0) continue;
    const double ratio = times[i] / points[i].row.time_us;
    const std::size_t range = size_range(points[i].row.size);
    const std::string where(name_of(points[i].row.where));
    lines[where][range].push_back(ratio);
    lines[where + " | " + std::string(name_of(points[i].row.kind))][range].push_back(ratio);
    if (systems) lines[where + " || " + points[i].row.system][range].push_back(ratio);
  }
  std::string out = fmt::format("\n{}: mean / median error % (bias %) rows\n", title);
  for (const auto& [name, ranges] : lines) {
    out += pad_right(name, 56);
    for (const auto& ratios : ranges) {
      const ErrorFigures figures = error_figures(ratios);
      out += pad_left(figures.rows == 0 ? "–"
                                        : fmt::format("{:.0f} / {:.0f} ({:+.0f}) {}", *figures.mean, *figures.median,
                                                      *figures.bias, figures.rows),
                      20);
    }
    out += "\n";
  }
  std::fputs(out.c_str(), stdout);
}

/// Predicts the points that `held` names by a solution.
void predict_held(const std::vector<Point>& points, const std::vector<Constant>& constants, const PriorFit& solution,
                  Profiles profiles, const std::function<bool(const Point&)>& held, std::vector<double>& times) {
  apply(constants, solution.values, profiles);
  std::vector<double> all(points.size(), 0);
  for (const Setting& setting : settings_of(points)) predict(setting, points, profiles, all);
  for (std::size_t i = 0; i < points.size(); ++i)
    if (held(points[i])) times[i] = all[i];
}

/// A node count that a fit of smaller ones has to find.
struct Extrapolation {
  std::string_view system;
  int fitted_nodes;  ///< up to so many are seen
  std::vector<int> predicted;
};

/// Where fits of a part of the points start: the priors, for the place that all of them led to knows the others.
std::vector<std::vector<double>> prior_start(const std::vector<Constant>& constants) {
  return {std::vector<double>(constants.size(), 0)};
}

/// Times of each system's points by the fit of all the others.
std::vector<double> left_out_times(const std::vector<Constant>& constants, const std::vector<Point>& points,
                                   const Profiles& shipped) {
  std::vector<double> times(points.size(), 0);
  std::set<std::string> systems;
  for (const Point& point : points) systems.insert(point.row.system);
  for (const std::string& system : systems) {
    const auto held = [&](const Point& p) { return p.row.system == system; };
    const PriorFit part = solve(
        constants, points, shipped, [&](const Point& p) { return !held(p); }, prior_start(constants));
    predict_held(points, constants, part, shipped, held, times);
  }
  return times;
}

void extrapolate(const std::vector<Constant>& constants, const std::vector<Point>& points, const Profiles& shipped) {
  std::vector<double> times(points.size(), 0);
  static const std::vector<Extrapolation> kExtrapolations{{"ALCF-Polaris", 8, {256, 540}}, {"ABCI-V", 8, {32}}};
  for (const Extrapolation& e : kExtrapolations) {
    const auto hidden = [&](const Point& p) {
      return p.row.system == e.system && p.row.group.nodes() > e.fitted_nodes;
    };
    const PriorFit part = solve(
        constants, points, shipped, [&](const Point& p) { return !hidden(p); }, prior_start(constants));
    for (const int nodes : e.predicted) {
      std::fill(times.begin(), times.end(), 0.0);
      predict_held(
          points, constants, part, shipped, [&](const Point& p) { return hidden(p) && p.row.group.nodes() == nodes; },
          times);
      print_errors(fmt::format("{}: fitted up to {} nodes, predicted at {}", e.system, e.fitted_nodes, nodes), points,
                   times, false);
      std::vector<double> ratios;
      for (std::size_t i = 0; i < points.size(); ++i)
        if (times[i] > 0) ratios.push_back(times[i] / points[i].row.time_us);
      const ErrorFigures figures = error_figures(ratios);
      fmt::print("all: {:.1f} / {:.1f}\n", *figures.mean, *figures.median);
    }
  }
}

void run(const Options& options) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  std::vector<std::filesystem::path> files;
  const std::vector<MeasuredCollective> rows = read_all(options, catalog, files);
  const std::string hash = data_hash(files);
  const std::vector<Point> points = points_of(rows);
  const std::vector<Constant> constants = fitted_constants();
  const Profiles shipped = shipped_profiles(catalog);
  // The priors, and two points around them by turns.
  std::vector<std::vector<double>> starts(3, std::vector<double>(constants.size(), 0));
  for (std::size_t i = 0; i < constants.size(); ++i) {
    starts[1][i] = i % 2 == 0 ? 0.5 : -0.5;
    starts[2][i] = i % 3 == 0 ? 0.6 : -0.3;
  }
  const auto every = [](const Point&) { return true; };
  const PriorFit solution = solve(constants, points, shipped, every, starts);
  std::vector<double> times(points.size(), 0);
  predict_held(points, constants, solution, shipped, every, times);
  fmt::print("{} points, {} constants, data {}\n", points.size(), constants.size(), hash);
  print_errors("in sample", points, times, true);
  if (!options.out.empty()) write_profiles(constants, solution, shipped, options.out, options.date, hash);
  std::fflush(stdout);
  std::vector<double> left_out;
  if (options.left_out) {
    left_out = left_out_times(constants, points, shipped);
    print_errors("whole systems left out", points, left_out, true);
    extrapolate(constants, points, shipped);
    report_processors(rows);
  }
  if (!options.residuals.empty()) write_residuals(options.residuals, points, times, left_out);
}

}  // namespace
}  // namespace stepcast::fit

/// Fits the constants of collectives to the tables of measurements and writes them as profiles of the catalogue.
int main(int argc, char** argv) {
  CLI::App app("Fits what collectives reach of links and networks to measured tables");
  stepcast::fit::Options options;
  bool quick = false;
  app.add_option("--data", options.data, "Folder of collectives-*.csv; default: the shipped ones");
  auto* output =
      app.add_option("-o,--output", options.out, "Catalogue folder to write link-, network- and library-profiles into");
  output->needs(app.add_option("--date", options.date, "Month of the data, to state in the profiles (YYYY-MM)"));
  app.add_option("--residuals", options.residuals, "CSV table to write every point with its predictions into");
  app.add_flag("--quick", quick, "Do not fit again with each system left out");
  CLI11_PARSE(app, argc, argv);
  options.left_out = !quick;
  return stepcast::exit_code_of([&] {
    if (!options.date.empty() && !stepcast::is_date(options.date + "-01"))
      throw stepcast::InputError({{"--date", "", "found \"" + options.date + "\", expected a month", "YYYY-MM"}});
    stepcast::fit::run(options);
  });
}
