#include <CLI/CLI.hpp>
#include <memory>

#include "cli/detailed_prediction.hpp"
#include "cli/explain_commands.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "cli/typed_command.hpp"
#include "explain/comparison.hpp"
#include "explain/sweep_comparison.hpp"
#include "explain/trace_comparison.hpp"
#include "fields/option_fault.hpp"
#include "report/json.hpp"

namespace stepcast {

namespace {

struct CompareOptions {
  std::string before, after;
  std::vector<std::string> overrides;
  std::string fidelity, html;
  int step = -1;
};

/// One side, and its scenario where it is one.
struct Side {
  ComparedStep step;
  bool is_scenario = false;
};

bool is_prediction(const Json& document) {
  return document.is_object() && document.contains("step_time_s") && document.contains("communication");
}

/// What every prediction says of how it came about.
Json known_of(const Json& prediction) {
  Json out = Json::object();
  for (const char* key : {"devices", "nodes", "parallelism", "fidelity", "flop_convention", "version", "catalog_hash"})
    if (prediction.contains(key)) out[key] = prediction.at(key);
  return out;
}

/// Settings that a prediction is stored with, and what they were read by; those of older versions have none.
void add_origin(Json& settings, const Json& prediction) {
  for (const char* key : {"version", "catalog_hash"})
    if (prediction.contains(key)) settings[key] = prediction.at(key);
}

/// What is stored was predicted before: nothing of it can be changed any more.
void refuse_changes(const std::string& file, const char* kind, const CompareOptions& options) {
  if (!options.overrides.empty())
    refuse_option("--set", fmt::format("{} is {}, of which nothing can be changed", file, kind),
                  "name the scenario that it was made from, or leave --set out");
}

/// Options that nothing here heeds would be taken for heeded.
void refuse_idle_options(const CompareOptions& options, bool scenario, bool trace) {
  if (!options.fidelity.empty() && !scenario)
    refuse_option("--fidelity", "is of scenarios, and what is compared was predicted before", "leave it out");
  if (options.step >= 0 && !trace)
    refuse_option("--step", "is of a trace, and none is compared", "leave it out, or name a profiler trace as B");
}

Side stored_side(const std::string& file, const Json& document) {
  try {
    ComparedStep step{file, prediction_from_json(document), std::nullopt, known_of(document)};
    step.holds_settings = document.contains("settings");
    if (step.holds_settings) {
      step.settings = document.at("settings");
      add_origin(step.settings, document);
    }
    return {std::move(step), false};
  } catch (const std::runtime_error& error) {
    throw InputError({{file, "", error.what(), "a file written by stepcast run --json"}});
  }
}

Side side_of(const std::string& file, const CompareOptions& options, bool second, Session& session) {
  ScenarioDocument document = read_scenario(file, {});
  if (is_prediction(document.json)) {
    if (second) refuse_changes(file, "a stored prediction", options);
    return stored_side(file, document.json);
  }
  std::vector<std::string> overrides;
  if (second) overrides = options.overrides;
  add_option_override(overrides, "--fidelity", "run.fidelity", options.fidelity);
  apply_overrides(document, overrides);
  DetailedPrediction predicted = predict_in_detail(session, document);
  Json settings = settings_of(resolve(document.json, document.file, {}, session.catalog()));
  std::string name = file;
  if (second)
    for (const std::string& override : options.overrides) name += " with " + override;
  return {{name, std::move(predicted.prediction), std::move(predicted.detail), std::move(settings)}, true};
}

void compare_trace(const CompareOptions& options, Session& session) {
  if (looks_like_kineto(options.before))
    throw InputError({{options.before, "", "is a trace, and so is the second file", "name the prediction first"}});
  const Side predicted = side_of(options.before, options, true, session);
  refuse_idle_options(options, predicted.is_scenario, true);
  std::optional<ComputeShares> shares;
  if (predicted.is_scenario)
    shares = compute_shares(resolve(predicted.step.settings, options.before, {}, session.catalog()));
  const KinetoTrace trace = read_kineto(options.after);
  const TracedStep step = typical_step(trace, options.step >= 0 ? std::optional<int>(options.step) : std::nullopt);
  const TraceComparison comparison =
      compare_with_trace(predicted.step.name, predicted.step.prediction, shares, trace, step);
  if (!options.html.empty()) write_file(options.html, html_report(comparison, typed_command()));
  if (session.json) return session.print(to_json(comparison));
  session.print(text_report(comparison));
}

/// A store holds many configurations, so it compares with a store alone.
void require_stores(const CompareOptions& options) {
  const std::string& store = looks_like_store(options.before) ? options.before : options.after;
  const std::string& other = store == options.before ? options.after : options.before;
  if (!looks_like_store(other))
    throw InputError({{store, "", fmt::format("is the store of a sweep, and {} is none", other),
                       "a store compares with a store; of one of its configurations name the scenario with --set"}});
}

void compare_stores(const CompareOptions& options, Session& session) {
  require_stores(options);
  refuse_changes(options.before, "a store of results", options);
  refuse_idle_options(options, false, false);
  const SweepComparison comparison = compare_sweeps(options.before, options.after);
  if (!options.html.empty()) write_file(options.html, html_report(comparison, typed_command()));
  if (session.json) return session.print(to_json(comparison));
  session.print(text_report(comparison));
}

/// What both sides tell of themselves: of a prediction without settings, and so of the other side, only what every one
/// says.
void liken_settings(Side& before, Side& after) {
  if (before.is_scenario && after.is_scenario) return;
  const bool known = before.step.holds_settings && after.step.holds_settings;
  for (Side* side : {&before, &after}) {
    const Json prediction = to_json(side->step.prediction);
    if (known)
      add_origin(side->step.settings, prediction);
    else
      side->step.settings = known_of(prediction);
  }
}

void compare_steps(const CompareOptions& options, Session& session) {
  keep_inputs({{"--html", options.html}}, {options.before, options.after}, session);
  const bool store = looks_like_store(options.before);
  if (options.after.empty() && store) refuse_changes(options.before, "a store of results", options);
  if (options.after.empty() && options.overrides.empty())
    throw InputError({{"stepcast compare", "", "nothing to compare with",
                       store ? "name a second store"
                             : "name a second file, or changes of the first: --set strategy.micro_batch=2"}});
  if (store || looks_like_store(options.after)) return compare_stores(options, session);
  if (!options.after.empty() && looks_like_kineto(options.after)) return compare_trace(options, session);
  Side before = side_of(options.before, options, false, session);
  Side after = side_of(options.after.empty() ? options.before : options.after, options, true, session);
  refuse_idle_options(options, before.is_scenario || after.is_scenario, false);
  liken_settings(before, after);
  Comparison comparison = compare(before.step, after.step);
  if (before.is_scenario && after.is_scenario)
    find_effects_alone(comparison.keys, before.step.settings, after.step.settings, session.catalog());
  finish(comparison);
  if (!options.html.empty()) write_file(options.html, html_report(comparison, typed_command()));
  if (session.json) return session.print(to_json(comparison));
  session.print(text_report(comparison));
}

}  // namespace

void add_compare(CLI::App& app, Session& session) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* compare_app = app.add_subcommand(
      "compare", "Say what differs between two scenarios or predictions, and where the time goes that one takes more");
  compare_app
      ->add_option("before", options->before, "A: scenario, prediction (stepcast run --json), or store of a sweep")
      ->required()
      ->type_name("A");
  compare_app
      ->add_option("after", options->after,
                   "B: the same, or a PyTorch profiler trace (.json, .json.gz); without: A with --set")
      ->type_name("B");
  compare_app->add_option("--set", options->overrides, "Override a value of B (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  compare_app->add_option("--fidelity", options->fidelity, "Of scenarios: simulated or analytic")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  compare_app->add_option("--step", options->step, "Of a trace: N of ProfilerStep#N; default: the one of median length")
      ->check(whole_number(0, 1000000000))
      ->type_name("N");
  compare_app->add_option("--html", options->html, "Write the comparison as one self-contained page")
      ->check([](const std::string& name) { return name.empty() ? "expected the name of a file" : std::string(); }, "")
      ->type_name("FILE");
  compare_app->callback([options, &session] { compare_steps(*options, session); });
}

}  // namespace stepcast
