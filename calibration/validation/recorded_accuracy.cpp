#include "calibration/validation/recorded_accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {

/// A hundredth of a point is below what moves with a compiler.
double rounded(double value) { return std::round(100 * value) / 100; }

struct Recorded {
  double mape = 0;
  std::size_t rows = 0, covered = 0;
};

std::optional<Recorded> recorded_of(const Json& recorded, const std::string& set) {
  if (!recorded.contains("sets") || !recorded["sets"].contains(set)) return std::nullopt;
  const Json& entry = recorded["sets"][set];
  return Recorded{entry.at("mape_pct").get<double>(), entry.at("rows").get<std::size_t>(),
                  entry.at("covered").get<std::size_t>()};
}

bool has_grown(const AccuracyFigures& now, const Recorded& before) {
  return now.mape && *now.mape > before.mape + kToleratedGrowth;
}

std::string growth_text(const NamedFigures& set, const Recorded& before) {
  return fmt::format("{}: mean error {:.2f} %, recorded {:.2f} %", set.name, *set.figures.mape, before.mape);
}

}  // namespace

Json recorded_form(const ValidationScores& scores) {
  Json sets = Json::object();
  for (const NamedFigures& set : figures_of_sets(scores))
    if (set.figures.mape)
      sets[set.name] = {
          {"mape_pct", rounded(*set.figures.mape)}, {"rows", set.figures.rows}, {"covered", set.figures.covered}};
  return {{"comment", "written by stepcast validate --record"}, {"sets", std::move(sets)}};
}

std::vector<std::string> worse_than_recorded(const ValidationScores& scores, const Json& recorded) {
  std::vector<std::string> out;
  for (const NamedFigures& set : figures_of_sets(scores)) {
    const std::optional<Recorded> before = recorded_of(recorded, set.name);
    if (!before && !set.figures.mape) continue;
    if (!before) {
      out.push_back(fmt::format("{}: no figure is recorded", set.name));
      continue;
    }
    if (has_grown(set.figures, *before)) out.push_back(growth_text(set, *before));
    if (set.figures.covered < before->covered && set.figures.rows >= before->rows)
      out.push_back(fmt::format("{}: {} rows covered, recorded {}", set.name, set.figures.covered, before->covered));
  }
  return out;
}

std::vector<std::string> unexplained_growth(const ValidationScores& scores, const Json& recorded,
                                            const std::vector<GrownError>& accepted) {
  const auto alike = [](double a, double b) { return std::abs(a - b) < 0.1; };
  std::vector<std::string> out;
  for (const NamedFigures& set : figures_of_sets(scores)) {
    const std::optional<Recorded> before = recorded_of(recorded, set.name);
    if (!before || !has_grown(set.figures, *before)) continue;
    const bool named = std::any_of(accepted.begin(), accepted.end(), [&](const GrownError& one) {
      return one.set == set.name && alike(one.old_pct, before->mape) && alike(one.new_pct, *set.figures.mape);
    });
    if (!named) out.push_back(growth_text(set, *before));
  }
  return out;
}

std::vector<GrownError> read_grown_errors(const std::filesystem::path& file) {
  const CsvTable table = read_csv(file);
  std::vector<GrownError> out;
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    out.push_back({row.text("set"), row.required_number("old_pct"), row.required_number("new_pct"), row.text("why")});
    if (out.back().why.empty()) row.fault("why", "found nothing", "say why the error may grow");
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return out;
}

}  // namespace stepcast
