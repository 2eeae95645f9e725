#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <thread>

#include "checks/check_report.hpp"
#include "checks/measured/measured_step.hpp"
#include "checks/prometheus_text.hpp"
#include "checks/timings.hpp"
#include "cli/commands.hpp"
#include "cli/jobs_option.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "cli/predictor.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

struct CheckOptions {
  std::vector<std::string> scenarios, overrides, tolerances, series;
  std::vector<std::string> timings;
  std::string baseline, measured, format = "auto", fidelity, reference;
  bool update = false;
  int warmup = -1;
  int jobs = 0;
  std::string junit, markdown, prometheus;
};

[[noreturn]] void refuse(std::string message, std::string suggestion) {
  throw InputError({{"stepcast check", "", std::move(message), std::move(suggestion)}});
}

void require_sense_of_timings(const CheckOptions& options) {
  if (options.timings.empty()) {
    if (!options.reference.empty()) refuse("--reference goes with --timings", "");
    return;
  }
  if (options.baseline.empty()) refuse("--timings are compared with a baseline", "name it: --baseline FILE");
  if (!options.scenarios.empty()) refuse("--timings are of benchmarks, and a scenario is named", "");
  if (!options.overrides.empty() || !options.fidelity.empty() || !options.prometheus.empty())
    refuse("--set, --fidelity and --prometheus are about forecasts, not --timings", "");
}

void require_sense(const CheckOptions& options) {
  require_sense_of_timings(options);
  if (options.baseline.empty() == options.measured.empty())
    refuse("one thing to compare with is needed", "give --baseline FILE or --measured FILE");
  if (options.update && options.baseline.empty()) refuse("--update writes a baseline", "name it: --baseline FILE");
  if (!options.measured.empty() && options.scenarios.size() != 1)
    refuse(fmt::format("--measured goes with one scenario; {} are named", options.scenarios.size()), "");
  if (options.update && options.scenarios.empty() && options.timings.empty())
    refuse("no scenario to forecast", "name scenario files");
  if (options.measured.empty() && (!options.series.empty() || options.warmup >= 0 || options.format != "auto"))
    refuse("--series, --warmup and --format go with --measured", "");
}

std::vector<OutputFile> outputs_of(const CheckOptions& options) {
  return {{"--junit", options.junit}, {"--markdown", options.markdown}, {"--prometheus", options.prometheus}};
}

/// Nothing is written over what is read, but a baseline by --update.
void require_free_outputs(const CheckOptions& options, Session& session) {
  std::vector<std::string> read = options.scenarios;
  read.insert(read.end(), options.timings.begin(), options.timings.end());
  if (options.update) keep_inputs({{"--baseline", options.baseline}}, read, session);
  read.insert(read.end(), {options.baseline, options.measured});
  keep_inputs(outputs_of(options), std::move(read), session);
  check_output_files(outputs_of(options));
}

/// Forecasts of scenario files; one that is not legal has faults in its place.
std::vector<PredictionOutcome> forecasts_of(const std::vector<std::string>& files, const CheckOptions& options,
                                            Session& session) {
  std::vector<std::string> overrides = options.overrides;
  add_option_override(overrides, "--fidelity", "run.fidelity", options.fidelity);
  std::vector<PredictionOutcome> out(files.size());
  std::vector<ScenarioDocument> documents;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < files.size(); ++i) {
    try {
      documents.push_back(read_scenario(files[i], overrides));
      places.push_back(i);
    } catch (const InputError& error) {
      out[i].faults = error.faults();
    }
  }
  const int jobs = jobs_or_processors(options.jobs);
  std::vector<PredictionOutcome> outcomes = predict_scenarios(session, documents, jobs);
  for (std::size_t i = 0; i < outcomes.size(); ++i) out[places[i]] = std::move(outcomes[i]);
  return out;
}

/// Faults of all scenarios at once.
void require_forecasts(const std::vector<PredictionOutcome>& forecasts) {
  std::vector<Fault> faults;
  for (const PredictionOutcome& forecast : forecasts)
    faults.insert(faults.end(), forecast.faults.begin(), forecast.faults.end());
  if (!faults.empty()) throw InputError(std::move(faults));
}

void write_prometheus(const std::string& file, const std::vector<std::string>& names,
                      const std::vector<PredictionOutcome>& forecasts) {
  if (file.empty()) return;
  std::vector<NamedForecast> named;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (forecasts[i].prediction) named.push_back({names[i], &*forecasts[i].prediction});
  write_file(file, prometheus_text(named));
}

void update_baseline(const CheckOptions& options, const Tolerances& tolerances, Session& session) {
  std::error_code error;
  Baseline baseline;
  if (std::filesystem::exists(options.baseline, error)) baseline = read_baseline(options.baseline);
  const std::vector<PredictionOutcome> forecasts = forecasts_of(options.scenarios, options, session);
  require_forecasts(forecasts);
  for (std::size_t i = 0; i < forecasts.size(); ++i)
    baseline.scenarios[options.scenarios[i]] = baseline_entry(*forecasts[i].prediction);
  for (const auto& [name, percent] : tolerances) baseline.tolerances[name] = percent;
  write_prometheus(options.prometheus, options.scenarios, forecasts);
  write_baseline(options.baseline, baseline);
  std::vector<std::string> do_not_fit;
  for (std::size_t i = 0; i < forecasts.size(); ++i)
    if (!forecasts[i].prediction->memory.fits) do_not_fit.push_back(options.scenarios[i]);
  if (session.json) {
    session.print(
        Json{{"baseline", options.baseline}, {"updated", options.scenarios}, {"do_not_fit_memory", do_not_fit}});
  } else {
    std::string text = fmt::format("{}: {} of {} scenarios updated\n", options.baseline, options.scenarios.size(),
                                   baseline.scenarios.size());
    for (const std::string& name : do_not_fit)
      text += fmt::format("  {} does not fit memory, and was accepted all the same\n", name);
    session.print(text);
  }
}

CheckReport baseline_report(const CheckOptions& options, const Tolerances& tolerances, Session& session) {
  const Baseline baseline = read_baseline(options.baseline);
  require_guards(baseline, options.baseline);
  std::vector<std::string> names = options.scenarios;
  if (names.empty())
    for (const auto& [name, entry] : baseline.scenarios) names.push_back(name);
  keep_inputs(outputs_of(options), names, session);
  const std::vector<PredictionOutcome> forecasts = forecasts_of(names, options, session);
  CheckReport out{CheckKind::baseline, options.baseline, {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto accepted = baseline.scenarios.find(names[i]);
    ScenarioCheck check{names[i], {}, {}, {}};
    for (const Fault& fault : forecasts[i].faults) check.errors.push_back(fault.text());
    check.illegal = !forecasts[i].faults.empty();
    if (accepted == baseline.scenarios.end()) check.errors.emplace_back("is not in the baseline; --update adds it");
    if (check.errors.empty())
      check =
          check_against_baseline(names[i], *forecasts[i].prediction, accepted->second, baseline.tolerances, tolerances);
    out.scenarios.push_back(std::move(check));
  }
  write_prometheus(options.prometheus, names, forecasts);
  return out;
}

CheckReport measured_report(const CheckOptions& options, const Tolerances& tolerances,
                            const std::vector<SeriesName>& series, Session& session) {
  MeasuredResults run = read_measured(options.measured, *parse_enum<MeasuredFormat>(options.format), series);
  const std::vector<PredictionOutcome> forecasts = forecasts_of(options.scenarios, options, session);
  require_forecasts(forecasts);
  const Degrees& degrees = forecasts.front().prediction->degrees;
  require_batch(run, degrees.dp * degrees.micro_batch * degrees.micro_batches, options.measured,
                options.scenarios.front());
  const Prediction& forecast = *forecasts.front().prediction;
  count_devices(run, forecast.devices);
  settle_tokens(run, forecast.tokens_per_s / forecast.samples_per_s, forecast.devices, options.measured);
  const auto warmup = options.warmup < 0 ? std::nullopt : std::optional<std::size_t>(options.warmup);
  ScenarioCheck check =
      check_against_measured(options.scenarios.front(), *forecasts.front().prediction, run, tolerances, warmup);
  Diagnostics diagnostics(options.measured);
  for (const std::string& error : check.errors) diagnostics.error("", error);
  diagnostics.throw_if_faulty();
  write_prometheus(options.prometheus, options.scenarios, forecasts);
  return {CheckKind::measured, options.measured, {std::move(check)}};
}

/// The accepted ratios, or the beginning of some where the file is to be written anew.
TimingsBaseline timings_baseline(const CheckOptions& options) {
  std::error_code error;
  TimingsBaseline out;
  if (!options.update || std::filesystem::exists(options.baseline, error))
    out = read_timings_baseline(options.baseline);
  if (!options.reference.empty()) out.reference = options.reference;
  if (out.reference.empty()) refuse("a new baseline needs a benchmark to count others in", "name it: --reference NAME");
  return out;
}

void print_report(const CheckReport& report, const CheckOptions& options, Session& session) {
  if (!options.junit.empty()) write_file(options.junit, check_junit(report));
  if (!options.markdown.empty()) write_file(options.markdown, check_markdown(report));
  if (session.json) {
    session.print(check_json(report));
  } else {
    session.print(check_text(report));
  }
  // What is bad input is said where every command says it, too.
  for (const ScenarioCheck& check : report.scenarios)
    for (const std::string& fault : check.errors)
      if (check.illegal) std::fputs((fault + "\n").c_str(), stderr);
  session.exit_code = report.exit_code();
}

void check_benchmarks(const CheckOptions& options, Session& session) {
  TimingsBaseline accepted = timings_baseline(options);
  const Ratios now = read_timings({options.timings.begin(), options.timings.end()}, accepted.reference);
  std::vector<std::string> known;
  for (const auto& [name, ratio] : now) known.push_back(name);
  for (const auto& [name, ratio] : accepted.ratios) known.push_back(name);
  Diagnostics diagnostics("stepcast check");
  const Tolerances tolerances = parse_tolerances(options.tolerances, known, diagnostics);
  diagnostics.throw_if_faulty();
  if (!options.update)
    return print_report(
        {CheckKind::timings, options.baseline, {check_timings("benchmarks", now, accepted, tolerances)}}, options,
        session);
  accepted.ratios = now;
  for (const auto& [name, percent] : tolerances) accepted.tolerances[name] = percent;
  std::erase_if(accepted.tolerances, [&](const auto& one) { return !now.contains(one.first); });
  write_timings_baseline(options.baseline, accepted);
  if (session.json) {
    session.print(Json{{"baseline", options.baseline}, {"timings", now.size()}});
  } else {
    session.print(fmt::format("{}: {} timings in units of {}\n", options.baseline, now.size(), accepted.reference));
  }
}

void check(const CheckOptions& options, Session& session) {
  require_sense(options);
  require_free_outputs(options, session);
  if (!options.timings.empty()) return check_benchmarks(options, session);
  Diagnostics diagnostics("stepcast check");
  const Tolerances tolerances = parse_tolerances(options.tolerances, check_metric_names(), diagnostics);
  const std::vector<SeriesName> series = parse_series_names(options.series, diagnostics);
  diagnostics.throw_if_faulty();
  if (options.update) return update_baseline(options, tolerances, session);
  const CheckReport report = options.measured.empty() ? baseline_report(options, tolerances, session)
                                                      : measured_report(options, tolerances, series, session);
  print_report(report, options, session);
}

}  // namespace

void add_check(CLI::App& app, Session& session) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* check_app = app.add_subcommand(
      "check", "For CI: compare forecasts with an accepted baseline, or measured results with their forecast");
  check_app->add_option("scenarios", options->scenarios, "Scenario files; default: those of the baseline")
      ->type_name("FILE");
  auto* baseline = check_app->add_option("--baseline", options->baseline, "Accepted forecasts")->type_name("FILE");
  check_app->add_flag("--update", options->update, "Write the forecasts into the baseline instead of comparing");
  check_app
      ->add_option(
          "--measured", options->measured,
          "Results of a real run: CSV, JSON, a log of Megatron-LM, DeepSpeed or torchtitan, Prometheus' answer, "
          "a run of MLflow or TensorBoard")
      ->type_name("FILE|FOLDER")
      ->excludes(baseline);
  check_app
      ->add_option(
          "--timings", options->timings,
          "Results of Google Benchmark (--benchmark_out): times are compared as ratios to a reference that ran "
          "beside them (repeatable)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  check_app->add_option("--reference", options->reference, "Timings: the benchmark to count others in")
      ->type_name("NAME");
  check_app->add_option("--format", options->format, "Of the measured results; default: by their look")
      ->check(CLI::IsMember(names_of<MeasuredFormat>()));
  check_app->add_option("--series", options->series, "Measured: which series is a metric: step_time_s=elapsed_ms*0.001")
      ->type_name("METRIC=NAME")
      ->allow_extra_args(false);
  check_app
      ->add_option("--warmup", options->warmup, "Measured: samples at the start that do not count; default a tenth")
      ->check(whole_number(0, std::numeric_limits<int>::max()))
      ->type_name("N");
  check_app
      ->add_option("--tolerance", options->tolerances, "Tolerated change for the worse: tokens_per_s=2% (repeatable)")
      ->type_name("METRIC=PERCENT")
      ->allow_extra_args(false);
  check_app->add_option("--set", options->overrides, "Override a value of every scenario (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  check_app->add_option("--fidelity", options->fidelity, "simulated or analytic; default: each scenario's")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  check_app->add_option("--junit", options->junit, "Write JUnit XML")->type_name("FILE");
  check_app->add_option("--markdown", options->markdown, "Write a summary in Markdown")->type_name("FILE");
  check_app->add_option("--prometheus", options->prometheus, "Write the forecasts as Prometheus text")
      ->type_name("FILE");
  add_jobs_option(*check_app, options->jobs, "Simulations at a time");
  check_app->callback([options, &session] { check(*options, session); });
}

}  // namespace stepcast
