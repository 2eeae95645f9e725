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
  std::optional<double> memory_mape;
  std::size_t rows = 0, covered = 0;
};

std::optional<Recorded> recorded_of(const Json& recorded, const std::string& set) {
  if (!recorded.contains("sets") || !recorded["sets"].contains(set)) return std::nullopt;
  const Json& entry = recorded["sets"][set];
  std::optional<double> memory;
  if (entry.contains("memory_mape_pct")) memory = entry["memory_mape_pct"].get<double>();
  return Recorded{entry.at("mape_pct").get<double>(), memory, entry.at("rows").get<std::size_t>(),
                  entry.at("covered").get<std::size_t>()};
}

/// A mean error that has grown: of a set, or of its peaks of memory ("SET memory").
struct Growth {
  std::string of;
  double before, now;
  [[nodiscard]] std::string text() const {
    return fmt::format("{}: mean error {:.2f} %, recorded {:.2f} %", of, now, before);
  }
};

std::vector<Growth> growths(const NamedFigures& set, const Recorded& before) {
  std::vector<Growth> out;
  const auto compare = [&](const std::string& of, std::optional<double> now, std::optional<double> then) {
    if (now && then && *now > *then + kToleratedGrowth) out.push_back({of, *then, *now});
  };
  compare(set.name, set.figures.mape, before.mape);
  compare(set.name + " memory", set.figures.memory_mape, before.memory_mape);
  return out;
}

}  // namespace

Json recorded_form(const ValidationScores& scores) {
  Json sets = Json::object();
  for (const NamedFigures& set : figures_of_sets(scores)) {
    if (!set.figures.mape) continue;
    Json& entry = sets[set.name];
    entry = {{"mape_pct", rounded(*set.figures.mape)}, {"rows", set.figures.rows}, {"covered", set.figures.covered}};
    if (set.figures.memory_mape) entry["memory_mape_pct"] = rounded(*set.figures.memory_mape);
  }
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
    for (const Growth& growth : growths(set, *before)) out.push_back(growth.text());
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
    if (!before) continue;
    for (const Growth& growth : growths(set, *before)) {
      const bool named = std::any_of(accepted.begin(), accepted.end(), [&](const GrownError& one) {
        return one.set == growth.of && alike(one.old_pct, growth.before) && alike(one.new_pct, growth.now);
      });
      if (!named) out.push_back(growth.text());
    }
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
