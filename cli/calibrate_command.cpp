#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <thread>

#include "calibration/fit/cluster/check_measured.hpp"
#include "calibration/fit/cluster/fit_cluster.hpp"
#include "calibration/fit/step/step_check.hpp"
#include "calibration/profile/calibration_report.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/never_fit.hpp"
#include "calibration/validation/prediction_of_run.hpp"
#include "cli/calibrate_step.hpp"
#include "cli/commands.hpp"
#include "cli/named_file.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"

namespace stepcast {

namespace {

struct FitOptions {
  std::vector<std::string> results;
  std::string out;
  ClusterFitRequest request;
};

void fit(FitOptions options, Session& session) {
  std::vector<std::string> read = options.results;
  read.push_back(options.request.node);
  keep_inputs({{"--output", options.out}}, std::move(read), session);
  std::vector<ProbeResults> files;
  std::vector<Fault> faults;
  for (const std::string& name : options.results) {
    try {
      files.push_back(read_probe_results(name));
    } catch (const InputError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  if (options.request.name.empty()) {
    std::string name = std::filesystem::path(options.out).filename().string();
    options.request.name = name.substr(0, name.find('.'));
  }
  const CalibrationProfile profile = fit_cluster(files, options.request, session.catalog());
  require_readable(profile, options.out);
  const Json document = CalibrationProfile::fields().write(profile);
  write_file(options.out, document.dump(2) + "\n");
  if (session.json) {
    Json said = document;
    said.erase("catalogue");
    said.erase("points");
    said["file"] = options.out;
    session.print(said);
  } else {
    session.print(options.out + ": " + fit_summary(profile));
  }
}

void add_fit(CLI::App& calibrate, Session& session) {
  auto options = std::make_shared<FitOptions>();
  ClusterFitRequest& request = options->request;
  CLI::App* app = calibrate.add_subcommand("fit", "Fit the model to what probes measured on a cluster");
  app->add_option("results", options->results, "Files of probes, or of stepcast import")->required()->type_name("FILE");
  app->add_option("--node", request.node, "What was measured: a node (stepcast catalog list nodes) or a scenario file")
      ->required()
      ->type_name("X");
  app->add_option("--set", request.overrides,
                  "Set a key of the fabric: cluster.fabric.nic_bandwidth_Gbps=100 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app->add_option("--library", request.library,
                  "Of processes in host memory: openmpi-4.1 (or openmpi), openmpi-4.0 (and before), openmpi-5, mpich, "
                  "gloo; default: as the results say")
      ->type_name("NAME");
  app->add_option("--name", request.name, "Of the calibration; default: the file's")->type_name("NAME");
  app->add_option("--refits", request.refits, "Of the bootstrap that gives the intervals; default 40")
      ->check(whole_number(0, 10000))
      ->type_name("N");
  app->add_flag("--stand-in", request.stand_in, "Take results of a stand-in for the hardware, too");
  app->add_option("-o,--output", options->out, "The calibration, written whole or not at all")
      ->required()
      ->check(named_file())
      ->type_name("OUT");
  app->callback([options, &session] { fit(*options, session); });
}

void check(const std::vector<std::string>& sets, Session& session) {
  session.catalog_directories.push_back(run_catalog_directory());
  std::vector<MeasuredCollective> rows;
  for (const std::string& name : sets.empty() ? collective_set_names() : sets)
    for (MeasuredCollective& row : read_collectives(read_csv(run_set_file(name)), session.catalog()))
      rows.push_back(std::move(row));
  const std::vector<SystemCheck> systems = check_measured(rows);
  if (session.json)
    session.print(check_json(systems));
  else
    session.print(check_text(systems));
}

/// Every run of the published set that fits may read.
void check_published_steps(Session& session) {
  session.catalog_directories.push_back(run_catalog_directory());
  const std::string name = "llm-runs-published";
  const int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const StepChecks checks = check_steps(runs_to_fit(run_set_file(name), name).runs, session.catalog(), jobs);
  if (session.json)
    session.print(step_check_json(checks));
  else
    session.print(step_check_text(checks));
}

void report(const std::string& file, const std::string& out, Session& session) {
  keep_inputs({{"--output", out}}, {file}, session);
  const CalibrationProfile profile = read_calibration(file);
  write_file(out, calibration_html(profile));
  if (session.json) {
    session.print(Json{{"file", out}, {"findings", profile.findings}, {"notes", profile.notes}});
    return;
  }
  std::string text = out + "\n";
  for (const std::string& finding : profile.findings) text += "  " + finding + "\n";
  session.print(text);
}

void add_report(CLI::App& calibrate, Session& session) {
  auto file = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>();
  CLI::App* app = calibrate.add_subcommand(
      "report", "Draw measured points, fitted curves and residuals, and say what is wrong with the cluster");
  app->add_option("calibration", *file, "Written by stepcast calibrate fit")->required()->type_name("FILE");
  app->add_option("-o,--output", *out, "One self-contained page")->required()->check(named_file())->type_name("HTML");
  app->callback([file, out, &session] { report(*file, *out, session); });
}

void add_measured_check(CLI::App& calibrate, Session& session) {
  auto steps = std::make_shared<bool>(false);
  auto sets = std::make_shared<std::vector<std::string>>();
  CLI::App* app = calibrate.add_subcommand(
      "check", "Fit a part of the shipped measured collectives of each system and predict the rest");
  app->add_option("--set", *sets, "A shipped set (repeatable); default: every one of collectives")
      ->check(CLI::IsMember(collective_set_names()))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_flag("--steps", *steps,
                "Instead: constants of the software from one, two and three published steps of a group");
  app->callback([sets, steps, &session] {
    if (*steps)
      check_published_steps(session);
    else
      check(*sets, session);
  });
}

}  // namespace

void add_calibrate(CLI::App& app, Session& session) {
  CLI::App* calibrate = app.add_subcommand("calibrate", "Fit the model to a real cluster, and say how far to trust it");
  calibrate->require_subcommand(1);
  calibrate->fallthrough();
  add_fit(*calibrate, session);
  add_calibrate_step(*calibrate, session);
  add_report(*calibrate, session);
  add_measured_check(*calibrate, session);
}

}  // namespace stepcast
