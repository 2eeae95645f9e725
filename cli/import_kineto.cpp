#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "calibration/importers/kineto/kineto_graph.hpp"
#include "cli/calibration_option.hpp"
#include "cli/import_models.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "models/rank_graph/rank_graph_file.hpp"

namespace stepcast {

namespace {

namespace fs = std::filesystem;

struct KinetoOptions {
  std::string graph, node;
  std::vector<std::string> calibrations;
  int ranks = 0, step = -1;
};

/// Of traces in order of their ranks; jobs of one rank tell none, and are ranks in order of their files.
void refuse_repeated_ranks(const std::vector<KinetoTrace>& traces) {
  const auto same = [](const KinetoTrace& a, const KinetoTrace& b) { return a.world > 1 && a.rank == b.rank; };
  const auto twice = std::adjacent_find(traces.begin(), traces.end(), same);
  if (twice == traces.end()) return;
  throw InputError(
      {{std::next(twice)->file, "/distributedInfo/rank",
        fmt::format("is rank {}, and so is {}", twice->rank, twice->file), "give one trace of each rank"}});
}

/// That operators on a processor were read, and what a trace held that no category of libkineto's explains.
std::vector<std::string> notes_on(const std::vector<KinetoTrace>& traces) {
  std::map<std::string, long> events;
  for (const KinetoTrace& trace : traces)
    for (const auto& [category, count] : trace.unknown_categories) events[category] += count;
  std::vector<std::string> out;
  const auto without = std::find_if(traces.begin(), traces.end(), [](const KinetoTrace& t) { return t.on_processor; });
  if (without != traces.end())
    out.push_back(fmt::format(
        "{}: has no kernels of a device: its operators on the processor are taken for the work itself, as of a "
        "training without accelerators. Kernels need ProfilerActivity.CUDA",
        without->file));
  for (const auto& [category, count] : events)
    out.push_back(
        fmt::format("category \"{}\" is not known: {} event{} left out", category, count, count == 1 ? "" : "s"));
  return out;
}

/// Files as given; for a folder its traces, one for each rank, as tensorboard_trace_handler and others leave them.
std::vector<fs::path> trace_files(const std::vector<fs::path>& given) {
  std::vector<fs::path> out;
  for (const fs::path& place : given) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
      out.push_back(place);
      continue;
    }
    std::vector<fs::path> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".json") || name.ends_with(".json.gz")) inside.push_back(entry.path());
    }
    if (inside.empty())
      throw InputError({{place.string(), "", "is a folder without a trace", "files that end in .json or .json.gz"}});
    std::sort(inside.begin(), inside.end());
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

Imported import_traces(const KinetoOptions& options, Session& session, const ImportRequest& request) {
  const std::vector<fs::path> files = trace_files(request.files);
  keep_inputs({{"--graph", options.graph}}, {files.begin(), files.end()}, session);
  use_calibrations(session, {options.calibrations.begin(), options.calibrations.end()});
  KinetoGraphQuestion question;
  std::vector<std::string> command{"stepcast", "import", "kineto"};
  for (const fs::path& file : files) {
    question.traces.push_back(read_kineto(file));
    command.push_back(file.string());
  }
  std::stable_sort(question.traces.begin(), question.traces.end(),
                   [](const KinetoTrace& a, const KinetoTrace& b) { return a.rank < b.rank; });
  refuse_repeated_ranks(question.traces);
  Imported out;
  out.document = kineto_results(question.traces, command);
  out.name = "results.json";
  out.summary = fmt::format("operator timings, {} rows of {} trace{}", out.document.at("results").size(),
                            question.traces.size(), question.traces.size() == 1 ? "" : "s");
  out.notes = notes_on(question.traces);
  if (options.graph.empty()) return out;
  question.node = options.node;
  if (options.ranks > 0) question.ranks = options.ranks;
  if (options.step >= 0) question.step = options.step;
  const RankGraph graph = kineto_graph(question, session.catalog());
  write_rank_graph(options.graph, graph);
  out.notes.insert(out.notes.end(), graph.notes.begin(), graph.notes.end());
  out.notes.push_back(fmt::format("step graph of {} ranks in {}", graph.ranks.value_or(1), options.graph));
  return out;
}

}  // namespace

ImportAction prepare_kineto(CLI::App& app) {
  auto options = std::make_shared<KinetoOptions>();
  app.add_option("--graph", options->graph, "Write the typical step as a step graph too (stepcast run --graph)")
      ->check([](const std::string& name) { return name.empty() ? "expected the name of a file" : std::string(); }, "")
      ->type_name("FILE");
  app.add_option("--node", options->node,
                 "Node that was traced (stepcast catalog list nodes); default: by the name of the device")
      ->type_name("ID");
  app.add_option("--calibration", options->calibrations,
                 "Measured on the cluster that was traced, for sizes of collectives (repeatable; the first goes first)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--ranks", options->ranks,
                 "Ranks of the step graph; default: those of the job. Others than the traced "
                 "ones repeat them")
      ->check(whole_number(1, kMostRanks))
      ->type_name("N");
  app.add_option("--step", options->step, "Which step: N of ProfilerStep#N; default: the one of median length")
      ->check(whole_number(0, 1000000000))
      ->type_name("N");
  return
      [options](Session& session, const ImportRequest& request) { return import_traces(*options, session, request); };
}

}  // namespace stepcast
