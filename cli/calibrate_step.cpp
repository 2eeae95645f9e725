#include "cli/calibrate_step.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <memory>

#include "calibration/fit/step/step_fit.hpp"
#include "calibration/validation/csv_table.hpp"
#include "checks/measured/measured_step.hpp"
#include "cli/calibration_option.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "cli/scenario_document.hpp"
#include "fields/option_fault.hpp"

namespace stepcast {

namespace {

struct StepOptions {
  std::string scenario, step_time, log, rows, out, name, date;
  double tokens_per_s = 0;
  std::vector<std::string> overrides;
};

/// `12.3s`, `840ms`, or seconds without a unit.
Seconds time_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double scale = unit == "ms" ? 1e-3 : unit == "min" ? 60 : unit.empty() || unit == "s" ? 1 : 0;
  if (error != std::errc() || !(value > 0) || !std::isfinite(value) || scale == 0)
    refuse_option("--step-time", fmt::format("found \"{}\", expected a time above 0", text), "12.3s or 840ms");
  return Seconds(value * scale);
}

std::shared_ptr<const Scenario> scenario_of(const StepOptions& options, const std::vector<std::string>& overrides,
                                            Session& session) {
  std::vector<std::string> all = options.overrides;
  all.insert(all.end(), overrides.begin(), overrides.end());
  return std::make_shared<Scenario>(load_scenario(options.scenario, all, session.catalog()));
}

Seconds step_of_tokens(double tokens_per_s, const Scenario& scenario) {
  return Seconds(static_cast<double>(scenario.spec.workload.global_batch) * scenario.seq_len / tokens_per_s);
}

constexpr std::string_view kStepTime = "step_time_s";
constexpr std::string_view kTokens = "tokens_per_s";

/// A table: one column of step_time_s or tokens_per_s, the others are keys of the scenario that differ by row.
std::vector<MeasuredStep> steps_of_rows(const StepOptions& options, Session& session) {
  const CsvTable table = read_csv(options.rows);
  const auto time = table.column(kStepTime), tokens = table.column(kTokens);
  if (time.has_value() == tokens.has_value())
    refuse_option(options.rows, "needs one column of step_time_s or tokens_per_s",
                  "the others are keys: cluster.nodes, …");
  std::vector<MeasuredStep> out;
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    const double measured = row.required_number(time ? kStepTime : kTokens);
    std::vector<std::string> overrides;
    std::string name;
    for (std::size_t c = 0; c < table.header.size(); ++c) {
      const std::string& key = table.header[c].text;
      const std::string& value = table.rows[i][c].text;
      if (key == kStepTime || key == kTokens || value.empty()) continue;
      overrides.push_back(fmt::format("{}={}", key, value));
      name += fmt::format("{}{}={}", name.empty() ? "" : " ", key.substr(key.rfind('.') + 1), value);
    }
    if (!faults.empty()) continue;
    auto scenario = scenario_of(options, overrides, session);
    const Seconds step = time ? Seconds(measured) : step_of_tokens(measured, *scenario);
    out.push_back({name.empty() ? fmt::format("row {}", i + 1) : name, std::move(scenario), step});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return out;
}

Seconds step_of_log(const std::string& log, const Scenario& scenario, const std::string& name) {
  MeasuredResults run = read_measured(log, MeasuredFormat::automatic, {});
  count_devices(run, static_cast<int>(scenario.devices()));
  settle_tokens(run, scenario.seq_len, static_cast<int>(scenario.devices()), log);
  require_batch(run, scenario.spec.workload.global_batch, log, name);
  const std::optional<Seconds> step = measured_step(run, scenario);
  if (!step) refuse_option(log, "holds neither step times nor throughput", "\"step_time: …\", or --step-time");
  return *step;
}

std::vector<MeasuredStep> steps_of(const StepOptions& options, Session& session) {
  const int given =
      !options.step_time.empty() + (options.tokens_per_s > 0) + !options.log.empty() + !options.rows.empty();
  if (given != 1)
    refuse_option("stepcast calibrate step", given == 0 ? "no measured step" : "several measured steps",
                  "give one of --step-time 12.3s, --tokens-per-s N, --log FILE and --rows CSV");
  if (!options.rows.empty()) return steps_of_rows(options, session);
  auto scenario = scenario_of(options, {}, session);
  Seconds step;
  if (!options.step_time.empty()) {
    step = time_of(options.step_time);
  } else if (!options.log.empty()) {
    step = step_of_log(options.log, *scenario, options.scenario);
  } else {
    step = step_of_tokens(options.tokens_per_s, *scenario);
  }
  return {{options.scenario, std::move(scenario), step}};
}

void calibrate_step(const StepOptions& options, Session& session) {
  if (!options.date.empty() && !is_date(options.date))
    refuse_option("--date", fmt::format("found \"{}\", expected a date", options.date), "YYYY-MM-DD, as 2026-11-20");
  keep_inputs({{"--output", options.out}}, {options.scenario, options.log, options.rows}, session);
  const StepFit fit = fit_steps(steps_of(options, session));
  if (!options.out.empty() && fit.explained) {
    std::string name = options.name;
    if (name.empty()) {
      name = std::filesystem::path(options.out).filename().string();
      name.resize(name.find('.') == std::string::npos ? name.size() : name.find('.'));
    }
    const CalibrationProfile profile =
        step_calibration(fit, name, options.date.empty() ? current_date() : options.date);
    write_file(options.out, CalibrationProfile::fields().write(profile).dump(2) + "\n");
  }
  if (session.json)
    session.print(step_json(fit));
  else
    session.print(step_text(fit));
  // What is not explained is not written: the constants would hide it.
  if (!fit.explained) session.exit_code = 1;
}

}  // namespace

void add_calibrate_step(CLI::App& calibrate, Session& session) {
  auto options = std::make_shared<StepOptions>();
  CLI::App* app = calibrate.add_subcommand(
      "step", "Move the constants of the software to what a step took, or say that they cannot explain it");
  app->add_option("scenario", options->scenario, "What ran")->required()->type_name("FILE");
  app->add_option("--step-time", options->step_time, "Measured: 12.3s or 840ms")->type_name("TIME");
  app->add_option("--tokens-per-s", options->tokens_per_s, "Measured, of the whole cluster")
      ->check(number_above_zero())
      ->type_name("N");
  app->add_option("--log", options->log, "A training log, or what else `stepcast check --measured` takes")
      ->type_name("FILE");
  app->add_option("--rows", options->rows,
                  "Several steps: a column step_time_s or tokens_per_s, and keys of the scenario that differ")
      ->type_name("CSV");
  app->add_option("--set", options->overrides, "Override a value of the scenario: cluster.nodes=64 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app->add_option("-o,--output", options->out, "Write a calibration with the constants, if they explain the steps")
      ->type_name("OUT");
  app->add_option("--name", options->name, "Of the calibration; default: the file's")->type_name("NAME");
  app->add_option("--date", options->date, "Of the measurement, YYYY-MM-DD; default: today")->type_name("DATE");
  add_calibration_option(*app, session);
  app->callback([options, &session] { calibrate_step(*options, session); });
}

}  // namespace stepcast
