#include "checks/baseline.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "checks/check_metric.hpp"
#include "fields/rounded.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

void require_known(const std::string& name, const std::vector<std::string>& known, const std::string& pointer,
                   Diagnostics& diagnostics) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string near = did_you_mean(name, known);
  diagnostics.error(pointer, fmt::format("there is no metric \"{}\"", name),
                    near.empty() ? expected_one_of(known) : near);
}

/// A change is a ratio to what was accepted; no forecast has less than a billionth of a unit.
constexpr double kLeastGuarded = 1e-9;

/// Whether a change of it can fail a check.
bool is_guarded(const std::string& name, const Tolerances& tolerances) {
  const CheckMetric* metric = find_check_metric(name);
  return metric != nullptr && (metric->gates_baseline || tolerances.contains(name));
}

/// Fidelity and metrics of what was accepted, which are compared by name.
void check_entry(const BaselineEntry& entry, const Tolerances& tolerances, const std::string& pointer,
                 Diagnostics& diagnostics) {
  const std::vector<std::string> fidelities(EnumNames<Fidelity>::names.begin(), EnumNames<Fidelity>::names.end());
  const auto told = [&](const Fault& fault) { return fault.pointer.starts_with(pointer + "/"); };
  if (std::any_of(diagnostics.faults().begin(), diagnostics.faults().end(), told)) return;
  if (!parse_enum<Fidelity>(entry.fidelity))
    diagnostics.error(child_pointer(pointer, "fidelity"), fmt::format("found \"{}\"", entry.fidelity),
                      expected_one_of(fidelities));
  const std::string metrics = child_pointer(pointer, "metrics");
  for (const auto& [name, value] : entry.metrics) {
    require_known(name, check_metric_names(), child_pointer(metrics, name), diagnostics);
    const double least = is_guarded(name, tolerances) ? kLeastGuarded : 0;
    if (value < least)
      diagnostics.error(child_pointer(metrics, name), fmt::format("found {:g}, expected at least {:g}", value, least));
  }
}

}  // namespace

Tolerances parse_tolerances(const std::vector<std::string>& given, const std::vector<std::string>& known,
                            Diagnostics& diagnostics) {
  Tolerances out;
  for (const std::string& text : given) {
    const auto equals = std::min(text.find('='), text.size());
    std::string_view number = std::string_view(text).substr(std::min(equals + 1, text.size()));
    if (!number.empty() && number.back() == '%') number.remove_suffix(1);
    double percent = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
    if (error != std::errc{} || end != number.data() + number.size() || !(percent >= 0) || !std::isfinite(percent)) {
      diagnostics.error("", fmt::format("--tolerance {}: expected metric=percent", text), "as in tokens_per_s=2%");
      continue;
    }
    const std::string name = text.substr(0, equals);
    require_known(name, known, "", diagnostics);
    if (!out.try_emplace(name, percent).second)
      diagnostics.error("", fmt::format("--tolerance {}: {} has a tolerance already", text, name),
                        "one --tolerance for each");
  }
  return out;
}

const FieldTable<BaselineEntry>& BaselineEntry::fields() {
  static const auto table =
      FieldTable<BaselineEntry>("accepted forecast", "The forecast of one scenario as it was accepted.")
          .field("fidelity", &BaselineEntry::fidelity, "simulated or analytic", {.required = true})
          .field("version", &BaselineEntry::version, "Version of Stepcast that made it", {.required = true})
          .field("catalog_hash", &BaselineEntry::catalog_hash, "Of the catalogue entries that it used",
                 {.required = true})
          .field("memory_fits", &BaselineEntry::memory_fits, "The step fits the devices' memory", {.required = true})
          .field("metrics", &BaselineEntry::metrics, "Figures by name, as in the JSON report", {.required = true});
  return table;
}

const FieldTable<Baseline>& Baseline::fields() {
  static const auto table =
      FieldTable<Baseline>("baseline", "Accepted forecasts, which `stepcast check` compares with.")
          .field("format_version", &Baseline::format_version, "Version of this format", {.required = true, .min = 1})
          .field("tolerances_percent", &Baseline::tolerances,
                 "Tolerated change for the worse, by metric; a metric named here fails a check though it would not "
                 "without",
                 {.min = 0})
          .field("scenarios", &Baseline::scenarios, "Forecasts by scenario file", {.required = true});
  return table;
}

Baseline read_baseline(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  const Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  auto out = read_document<Baseline>(document, diagnostics);
  if (diagnostics.ok() && out.format_version > kBaselineFormatVersion)
    diagnostics.error("/format_version",
                      fmt::format("found {}, but this version of Stepcast reads up to {}", out.format_version,
                                  kBaselineFormatVersion),
                      "update Stepcast");
  for (const auto& [name, percent] : out.tolerances)
    require_known(name, check_metric_names(), child_pointer("/tolerances_percent", name), diagnostics);
  for (const auto& [scenario, entry] : out.scenarios)
    check_entry(entry, out.tolerances, child_pointer("/scenarios", scenario), diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

void require_guards(const Baseline& baseline, const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  constexpr const char* kHint = "--update writes the forecasts";
  if (baseline.scenarios.empty()) diagnostics.error("/scenarios", "found none, so nothing can be compared", kHint);
  for (const auto& [scenario, entry] : baseline.scenarios) {
    const auto guarded = [&](const auto& metric) { return is_guarded(metric.first, baseline.tolerances); };
    if (std::none_of(entry.metrics.begin(), entry.metrics.end(), guarded))
      diagnostics.error(child_pointer(child_pointer("/scenarios", scenario), "metrics"),
                        "found none that a change could fail by", kHint);
  }
  diagnostics.throw_if_faulty();
}

void write_baseline(const std::filesystem::path& file, const Baseline& baseline) {
  write_file(file, Baseline::fields().write(baseline).dump(2) + "\n");
}

BaselineEntry baseline_entry(const Prediction& prediction) {
  BaselineEntry out{prediction.fidelity, prediction.version, prediction.catalog_hash, prediction.memory.fits, {}};
  for (const CheckMetric& metric : check_metrics())
    if (const auto value = metric.read(prediction)) out.metrics[std::string(metric.name)] = rounded(*value);
  return out;
}

}  // namespace stepcast
