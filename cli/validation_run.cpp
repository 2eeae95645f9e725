#include "cli/validation_run.hpp"

#include <thread>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/known_tables.hpp"
#include "calibration/validation/settle.hpp"
#include "cli/predictor.hpp"
#include "fields/in_parallel.hpp"

namespace stepcast {

namespace {

int jobs_of(const ValidationRequest& request) {
  return request.jobs > 0 ? request.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

bool simulates(const ValidationRequest& request) { return request.fidelity == name_of(Fidelity::simulated); }

/// Simulates the scenarios of runs; the closed form has chosen what a source leaves out.
std::vector<PredictedRun> simulated(std::vector<MeasuredRun> runs, int jobs, Session& session) {
  const Catalog& catalog = session.catalog();
  in_parallel(runs.size(), jobs, [&](std::size_t i) {
    if (!runs[i].scenario.is_null()) settle(runs[i], catalog);
  });
  std::vector<ScenarioDocument> documents;
  for (const MeasuredRun& run : runs) {
    if (run.scenario.is_null()) continue;
    documents.push_back({run.id, run.scenario});
    documents.back().json["run"]["fidelity"] = name_of(Fidelity::simulated);
  }
  const std::vector<PredictionOutcome> outcomes = predict_scenarios(session, documents, jobs);
  std::vector<PredictedRun> out;
  auto outcome = outcomes.begin();
  for (MeasuredRun& run : runs) {
    if (run.scenario.is_null()) {
      out.push_back(unpredicted_run(std::move(run), {}));
      continue;
    }
    out.push_back(outcome->prediction ? predicted_run(std::move(run), *outcome->prediction, catalog)
                                      : unpredicted_run(std::move(run), outcome->faults));
    ++outcome;
  }
  return out;
}

void score_file(ValidationScores& scores, const std::filesystem::path& file, const std::string& name,
                const ValidationRequest& request, Session& session) {
  const CsvTable table = read_csv(file);
  check_measurements(table);
  if (std::string note = unread_columns(table); !note.empty()) scores.notes.push_back(std::move(note));
  if (is_collective_table(table)) {
    scores.collectives.push_back(score_collectives(name, read_collectives(table, session.catalog())));
    return;
  }
  if (holds_operators(table)) {
    scores.operators.push_back(score_operators(read_operators(table, name), session.catalog()));
    return;
  }
  RunSet set = read_runs(table, name);
  const int jobs = jobs_of(request);
  scores.runs.push_back(score(set.name, simulates(request)
                                            ? simulated(std::move(set.runs), jobs, session)
                                            : predict_runs(std::move(set.runs), session.catalog(), jobs)));
}

std::vector<std::string> sets_of(const ValidationRequest& request) {
  if (!request.sets.empty()) return request.sets;
  std::vector<std::string> all = run_set_names();
  // No engine runs single operators, nor collectives of a table: they are the closed form's alone.
  if (!simulates(request)) {
    all.insert(all.end(), operator_set_names().begin(), operator_set_names().end());
    all.insert(all.end(), collective_set_names().begin(), collective_set_names().end());
  }
  return all;
}

}  // namespace

ValidationScores validate(const ValidationRequest& request, Session& session) {
  // Runs need parts of servers that nobody sells: behind the user's own entries, before the shipped ones.
  session.catalog_directories.push_back(run_catalog_directory());
  ValidationScores scores;
  scores.fidelity = request.fidelity;
  if (!request.file.empty()) {
    score_file(scores, request.file, std::filesystem::path(request.file).stem().string(), request, session);
  } else {
    for (const std::string& name : sets_of(request)) score_file(scores, run_set_file(name), name, request, session);
  }
  scores.total = total_of(scores.runs);
  return scores;
}

}  // namespace stepcast
