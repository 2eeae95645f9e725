#include "cli/graph_run.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>

#include "calibration/importers/chakra/export_chakra.hpp"
#include "models/parallelism/job.hpp"
#include "models/rank_graph/rank_graph_file.hpp"
#include "sim/build.hpp"
#include "sim/protocol/worker_client.hpp"
#include "sim/rank_graph/graph_of_step.hpp"

namespace stepcast {

void run_step_graph(Session& session, const RankRunQuestion& question, const std::string& trace) {
  Request request;
  request.command = Request::Command::step;
  request.step = to_json(question);
  for (const std::filesystem::path& directory : session.catalog_directories)
    request.catalog.push_back(std::filesystem::absolute(directory).string());
  if (!trace.empty()) request.trace = std::filesystem::absolute(trace).string();
  const Reply reply = WorkerClient::run_once(request);
  if (!reply.error.empty()) throw std::runtime_error(reply.error);
  if (!reply.step) throw InputError(reply.faults);
  if (session.json) return session.print(*reply.step);
  session.print(text_report(rank_run_from_json(*reply.step)));
}

void export_step(const StepExport& where, const RankGraph& graph) {
  if (!where.chakra.empty()) export_chakra(where.chakra, graph);
  if (!where.graph.empty()) write_rank_graph(where.graph, graph);
}

void export_step(const StepExport& where, const Scenario& scenario, const std::string& file) {
  std::optional<RankGraph> graph;
  try {
    const Job job = lower(scenario);
    graph = rank_graph_of(job, build_step_graph(job, build_options(scenario)));
  } catch (const InputError& error) {
    std::vector<Fault> faults = error.faults();
    // What lies deeper than the reader does not know the file.
    for (Fault& fault : faults)
      if (fault.file.empty()) fault.file = file;
    throw InputError(std::move(faults));
  }
  export_step(where, *graph);
}

}  // namespace stepcast
