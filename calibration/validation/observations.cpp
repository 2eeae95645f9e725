#include "calibration/validation/observations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/validation/statistics.hpp"
#include "fields/data_directory.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kFile = "observations.json";
constexpr std::string_view kMemory = "peak_memory_GiB", kTime = "step_time_s", kRate = "tokens_per_s_per_gpu";

/// Text with a star at an end matches whatever stands there.
bool matches(std::string_view text, std::string_view pattern) {
  const bool any_start = !pattern.empty() && pattern.front() == '*';
  if (any_start) pattern.remove_prefix(1);
  const bool any_end = !pattern.empty() && pattern.back() == '*';
  if (any_end) pattern.remove_suffix(1);
  if (any_start && any_end) return text.find(pattern) != std::string_view::npos;
  if (any_start) return text.size() >= pattern.size() && text.substr(text.size() - pattern.size()) == pattern;
  return any_end ? text.substr(0, pattern.size()) == pattern : text == pattern;
}

/// Measured and predicted values of the rows that one selection is of: of those that are predicted, if any is.
struct Selected {
  std::vector<double> observed, predicted;
  std::string reason;  ///< why no row has a prediction
};

class Observer {
 public:
  Observer(const CsvTable& table, const std::vector<PredictedRun>& runs, Diagnostics& diagnostics)
      : table_(table), runs_(runs), diagnostics_(diagnostics) {}

  ObservedFigure figure(const Json& spec) {
    ObservedFigure out;
    out.what = spec.at("what").get<std::string>();
    const std::string column = spec.value("column", std::string(kRate));
    const Selected of = select(spec.at("of"), column, out.what);
    const bool spread = spec.value("spread", false);
    std::optional<double> observed = value(of.observed, spread), predicted = value(of.predicted, spread);
    out.reason = of.reason;
    out.is_ratio = spread;
    if (spec.contains("against")) {
      const Selected against = select(spec.at("against"), column, out.what);
      out.is_ratio = true;
      observed = ratio(observed, value(against.observed, false));
      predicted = ratio(predicted, value(against.predicted, false));
      if (out.reason.empty()) out.reason = against.reason;
    }
    out.observed = observed.value_or(0);
    if (out.reason.empty()) out.predicted = predicted;
    return out;
  }

 private:
  static std::optional<double> value(const std::vector<double>& values, bool spread) {
    if (!spread) return geometric_mean(values);
    if (values.empty()) return std::nullopt;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return *most / *least;
  }

  static std::optional<double> ratio(std::optional<double> of, std::optional<double> against) {
    return of && against ? std::optional(*of / *against) : std::nullopt;
  }

  bool is_selected(const CsvRow& row, const Json& selection) const {
    for (const auto& [column, pattern] : selection.items())
      if (!matches(row.text(column), pattern.get<std::string>())) return false;
    return true;
  }

  Selected select(const Json& selection, const std::string& column, const std::string& what) {
    Selected all, covered;
    std::vector<Fault> faults;
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const CsvRow row(table_, i, faults);
      if (!is_selected(row, selection)) continue;
      const std::optional<double> observed = row.number(column);
      if (!observed) continue;
      all.observed.push_back(*observed);
      if (const std::optional<double> predicted = predicted_value(*observed, column, runs_[i])) {
        covered.observed.push_back(*observed);
        covered.predicted.push_back(*predicted);
      } else if (all.reason.empty()) {
        all.reason = runs_[i].covered() ? "no memory is predicted" : runs_[i].reason;
      }
    }
    if (all.observed.empty())
      diagnostics_.error("", fmt::format("\"{}\": {} selects no {}", what, selection.dump(), column));
    diagnostics_.add(std::move(faults));
    return covered.observed.empty() ? all : covered;
  }

  /// A rate of the table, in whichever unit and by whichever count of FLOPs, is off as the step's time is.
  static std::optional<double> predicted_value(double observed, std::string_view column, const PredictedRun& run) {
    if (!run.covered()) return std::nullopt;
    if (column == kMemory) return run.memory ? std::optional(run.memory->in(1_GiB)) : std::nullopt;
    return column == kTime ? observed * run.time_ratio() : observed / run.time_ratio();
  }

  const CsvTable& table_;
  const std::vector<PredictedRun>& runs_;
  Diagnostics& diagnostics_;
};

}  // namespace

Json shipped_observations() {
  const std::filesystem::path file = data_directory("calibration") / kFile;
  Diagnostics diagnostics(file.string());
  Json out = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

std::string observed_set(const Json& observations) { return observations.at("table").get<std::string>(); }

std::vector<Observation> observe(const Json& observations, const CsvTable& table,
                                 const std::vector<PredictedRun>& runs) {
  Diagnostics diagnostics{std::string(kFile)};
  Observer observer(table, runs, diagnostics);
  std::vector<Observation> out;
  for (const Json& spec : observations.at("observations")) {
    Observation one{spec.at("number").get<int>(), spec.at("title").get<std::string>(), {}};
    for (const Json& figure : spec.at("figures")) one.figures.push_back(observer.figure(figure));
    out.push_back(std::move(one));
  }
  diagnostics.throw_if_faulty();
  return out;
}

}  // namespace stepcast
