#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "cli/calibration_option.hpp"
#include "cli/commands.hpp"
#include "cli/jobs_option.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "cli/progress_line.hpp"
#include "cli/scenario_document.hpp"
#include "cli/stop_signals.hpp"
#include "fields/option_fault.hpp"
#include "fields/streamed_file.hpp"
#include "models/scenario/scenario.hpp"
#include "sweeps/export.hpp"
#include "sweeps/progress_text.hpp"
#include "sweeps/run_sweep.hpp"
#include "sweeps/slurm/slurm_executor.hpp"
#include "sweeps/slurm/task_folder.hpp"
#include "sweeps/summary.hpp"

namespace stepcast {

namespace {

struct SweepArguments {
  std::string scenario, store, values_file, fidelity;
  SweepRequest request;
  std::int64_t random = 0;
  std::uint64_t seed = 1;
  int jobs = 0;
  bool resume = false, retry_failed = false;
  std::string executor = "local";
  SlurmOptions slurm;
};

struct TaskArguments {
  std::string folder;
  std::size_t task = 0;
};

struct ExportArguments {
  std::string store, output;
  bool csv = false, jsonl = false;
};

struct ShowArguments {
  std::string store;
  Ranking ranking;
  bool smallest = false;
};

SweepDefinition definition_of(const SweepArguments& arguments, const Session& session) {
  std::vector<std::string> overrides;
  if (!arguments.fidelity.empty()) overrides.push_back("run.fidelity=" + arguments.fidelity);
  ScenarioDocument scenario = read_scenario(arguments.scenario, overrides);
  SweepRequest request = arguments.request;
  if (!arguments.values_file.empty()) request.values_file = arguments.values_file;
  if (arguments.random > 0) request.sample = {arguments.random, arguments.seed};
  return {scenario.file, std::move(scenario.json), read_points(request), session.catalog_directories};
}

void require(bool given, const char* what, const char* how) {
  if (!given) throw InputError({{"stepcast sweep", "", what, how}});
}

void print_summary(const ResultStore& store, const Ranking& ranking, Session& session) {
  if (session.json) {
    session.print(summary_json(store, ranking));
  } else {
    session.print(summary_text(store, ranking));
  }
}

void sweep(const SweepArguments& arguments, Session& session) {
  require(!arguments.scenario.empty(), "no scenario to vary", "name a scenario file");
  require(!arguments.store.empty(), "no store for the results", "give --store FILE.sqlite");
  keep_inputs({{"--store", arguments.store}}, {arguments.scenario, arguments.values_file}, session);
  const SweepDefinition definition = definition_of(arguments, session);
  SweepOptions options;
  options.store = arguments.store;
  options.mode = arguments.resume ? StoreMode::resume : StoreMode::fresh;
  options.retry_failed = arguments.retry_failed;
  options.jobs = arguments.jobs;
  const StopSignals signals;
  options.stop = signals.token();
  SweepOutcome outcome;
  {
    ProgressLine line;
    options.progress = [&](const SweepProgress& progress) { line.show(progress_text(progress)); };
    outcome = arguments.executor == "slurm"
                  ? run_sweep(definition, options, slurm_executor(arguments.store, arguments.slurm))
                  : run_sweep(definition, options);
  }
  if (outcome.stopped) {
    session.exit_code = signals.exit_code();
    std::fputs(fmt::format("stopped: {}; --resume goes on\n", progress_text(outcome.progress)).c_str(), stderr);
    return;
  }
  const ResultStore store(arguments.store);
  print_summary(store, {}, session);
  // Rows that broke beside others are counted; a sweep of which nothing else came is no answer.
  constexpr int kNothingButFailures = 4;
  if (const StoreCounts counts = store.counts(); counts.failed > 0 && counts.ok == 0)
    session.exit_code = kNothingButFailures;
}

void export_results(const ExportArguments& arguments, Session& session) {
  if (session.json && arguments.csv)
    throw InputError({{"--json", "", "there is one form of output", "leave out --json or --csv"}});
  keep_inputs({{"--output", arguments.output}}, {arguments.store}, session);
  const ResultStore store(arguments.store);
  const ExportFormat format = arguments.jsonl || session.json ? ExportFormat::jsonl : ExportFormat::csv;
  if (arguments.output.empty())
    return export_store(store, format, [&](std::string_view text) { session.print(std::string(text)); });
  StreamedFile file(arguments.output);
  export_store(store, format, [&](std::string_view text) { file.write(text); });
  file.commit();
}

void add_sweep_export(CLI::App& sweep_app, Session& session) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* app = sweep_app.add_subcommand("export", "Write the rows of a result store, by point");
  app->add_option("store", arguments->store, "Result store")->required()->type_name("STORE");
  auto* csv = app->add_flag("--csv", arguments->csv, "CSV with a header (default)");
  app->add_flag("--jsonl", arguments->jsonl, "JSON lines, one flat object a row")->excludes(csv);
  app->add_option("-o,--output", arguments->output, "Write to this file instead of standard output")->type_name("FILE");
  app->callback([arguments, &session] { export_results(*arguments, session); });
}

void add_sweep_show(CLI::App& sweep_app, Session& session) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* app = sweep_app.add_subcommand("show", "Count the rows of a result store and rank its configurations");
  app->add_option("store", arguments->store, "Result store")->required()->type_name("STORE");
  app->add_option("--by", arguments->ranking.column, "Column of figures to rank by; default samples_per_s")
      ->type_name("COLUMN");
  app->add_flag("--smallest", arguments->smallest, "Smallest first");
  app->add_option("--top", arguments->ranking.most, "How many; default 5")
      ->check(whole_number(1, 1'000'000))
      ->type_name("N");
  app->callback([arguments, &session] {
    arguments->ranking.largest = !arguments->smallest;
    print_summary(ResultStore(arguments->store), arguments->ranking, session);
  });
}

/// How many processors Slurm gave to a task; one where it does not say.
int processors_of_task() {
  const char* given = std::getenv("SLURM_CPUS_PER_TASK");
  const int count = given == nullptr ? 1 : std::atoi(given);
  return std::clamp(count, 1, kMostJobs);
}

void run_array_task(const TaskArguments& arguments, Session& session) {
  // Slurm sends SIGTERM before it kills: what is computed is in the file, and that is all.
  const StopSignals signals;
  run_task(TaskFolder(arguments.folder), arguments.task, processors_of_task(), signals.token());
  session.exit_code = signals.exit_code();
}

/// What a task of a job array runs; nobody types it.
void add_sweep_task(CLI::App& sweep_app, Session& session) {
  auto arguments = std::make_shared<TaskArguments>();
  CLI::App* app = sweep_app.add_subcommand("task", "Evaluate one task of a job array")->group("");
  app->add_option("folder", arguments->folder, "Folder of the tasks")->required();
  app->add_option("task", arguments->task, "Number of the task")->check(whole_number(0, kMostPoints))->required();
  app->callback([arguments, &session] { run_array_task(*arguments, session); });
}

constexpr const char* kSlurmGroup = "With --executor slurm";

/// Options that nothing here heeds would be taken for heeded.
void refuse_idle_options(const CLI::App& app, const SweepArguments& arguments) {
  if (arguments.executor == "slurm") return;
  for (const CLI::Option* option : app.get_options())
    if (option->get_group() == kSlurmGroup && option->count() > 0)
      refuse_option(option->get_name(), "goes to Slurm, and this machine evaluates the sweep",
                    "add --executor slurm, or leave it out");
}

void add_slurm(CLI::App& app, SweepArguments& arguments) {
  app.add_option("--executor", arguments.executor, "local: this machine; slurm: a job array; default local")
      ->check(CLI::IsMember({"local", "slurm"}));
  const auto text = [&](const char* name, std::string& value, const char* what, const char* type) {
    app.add_option(name, value, what)->type_name(type)->group(kSlurmGroup);
  };
  const auto count = [&](const char* name, int& value, const char* what) {
    app.add_option(name, value, what)->check(whole_number(1, 1'000'000))->type_name("N")->group(kSlurmGroup);
  };
  SlurmOptions& slurm = arguments.slurm;
  text("--partition", slurm.partition, "Partition", "NAME");
  text("--time", slurm.time_limit, "Time limit of a task, as sbatch takes it", "TIME");
  text("--account", slurm.account, "Account", "NAME");
  text("--qos", slurm.qos, "Quality of service", "NAME");
  text("--mem", slurm.memory, "Memory of a task, as sbatch takes it", "SIZE");
  count("--tasks", slurm.tasks, "Tasks of the array, at most; default 100");
  count("--tasks-at-a-time", slurm.at_a_time, "Tasks that run at once, at most; default: no limit");
  count("--cpus-per-task", slurm.cpus_per_task, "Processors of a task, and evaluations at a time in it; default 1");
  app.add_option("--sbatch", slurm.more,
                 "A further argument of sbatch, as it is: --sbatch=--constraint=epyc (repeatable)")
      ->type_name("ARGUMENT")
      ->allow_extra_args(false)
      ->group(kSlurmGroup);
}

void add_choice_of_points(CLI::App& app, SweepArguments& arguments) {
  app.add_option("--set", arguments.request.sets,
                 "Values of one key of the scenario: cluster.nodes=1,2,4..64*2 (repeatable: every combination)")
      ->type_name("PATH=LIST")
      ->allow_extra_args(false);
  app.add_option("--values", arguments.values_file,
                 "Combinations listed in a file: CSV with paths as header, JSON or JSON lines")
      ->type_name("FILE");
  app.add_flag("--zip", arguments.request.zip, "The lists of --set advance together instead of being combined");
  auto* random = app.add_option("--random", arguments.random, "Draw N of the combinations, each at most once")
                     ->check(whole_number(1, kMostPoints))
                     ->type_name("N");
  app.add_option("--seed", arguments.seed, "Of --random; default 1")
      ->check(whole_number(0, kMostSeed))
      ->needs(random)
      ->type_name("S");
}

}  // namespace

void add_sweep(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* sweep_app = app.add_subcommand(
      "sweep", "Predict every combination of values of a scenario, into a result store; export and show read one");
  sweep_app->add_option("scenario", arguments->scenario, "Scenario file")->type_name("FILE");
  add_choice_of_points(*sweep_app, *arguments);
  sweep_app->add_option("--fidelity", arguments->fidelity, "simulated or analytic; default: the scenario's")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  sweep_app->add_option("--store", arguments->store, "SQLite file for the results, one row a configuration")
      ->type_name("FILE");
  add_jobs_option(*sweep_app, arguments->jobs, "Evaluations at a time");
  auto* resume =
      sweep_app->add_flag("--resume", arguments->resume, "Go on with the store; what it has is not computed again");
  sweep_app
      ->add_flag("--retry-failed", arguments->retry_failed, "With --resume: compute rows again whose evaluation broke")
      ->needs(resume);
  sweep_app->footer("Exit code 130 (143): stopped by Ctrl-C (SIGTERM); what was computed is in the store.");
  sweep_app->require_subcommand(0, 1);
  add_sweep_export(*sweep_app, session);
  add_sweep_show(*sweep_app, session);
  add_sweep_task(*sweep_app, session);
  add_slurm(*sweep_app, *arguments);
  add_calibration_option(*sweep_app, session);
  sweep_app->callback([arguments, sweep_app, &session] {
    if (!sweep_app->get_subcommands().empty()) return;
    refuse_idle_options(*sweep_app, *arguments);
    sweep(*arguments, session);
  });
}

}  // namespace stepcast
