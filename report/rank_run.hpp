#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "hardware-catalog/catalog.hpp"
#include "sim/rank_graph/rank_step.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

/// Where a step graph is to run, as the command line or the GUI puts it.
struct RankRunQuestion {
  std::string graph;                   ///< step-graph file
  std::string cluster;                 ///< id of a node, a scenario file, or a preset of raw hosts
  std::optional<int> nodes;            ///< default: those of the scenario, else as many as the ranks need
  std::vector<std::string> overrides;  ///< keys of the fabric, or of the scenario
};
Json to_json(const RankRunQuestion& question);
/// Throws std::runtime_error that says what is wrong with the message.
RankRunQuestion rank_run_question(const Json& message);

/// What ranks of one class do in the step; the four times add up to the step's.
struct RankClassTimes {
  int representative = 0, ranks = 1;
  Seconds compute;                ///< the device computes
  Seconds exposed_communication;  ///< it communicates and computes nothing
  Seconds host;                   ///< the host works for it, and it does neither
  Seconds idle;                   ///< nothing runs: it waits for other ranks, or has ended
  Seconds communication;          ///< it communicates, hidden or not
};

/// Operations of one kind of communication, each counted once on each of its ranks.
struct ExchangeTotal {
  double count = 0;  ///< mean over ranks
  Bytes size;        ///< sum of their sizes, mean over ranks
  Seconds time;      ///< sum of their durations, mean over ranks
};

/// Where the longest chain of operations spends its time; adds up to the step's.
struct CriticalPart {
  std::string what;
  Seconds time;
  int operations = 0;
};

/// A step graph's run on a cluster.
struct RankRun {
  std::string name, source, cluster;
  int ranks = 0, nodes = 0;
  std::size_t operations = 0;  ///< of all ranks
  Seconds step_time;
  std::vector<RankClassTimes> classes;
  std::map<std::string, ExchangeTotal> exchanges;
  std::vector<CriticalPart> critical;  ///< longest first
  std::vector<std::string> notes;
  std::string version, catalog_hash;
};

/// A step graph laid on its cluster, ready for the engine; nothing in it may be moved.
struct LaidStep {
  RankGraph source;
  GraphCluster cluster;
  std::optional<RankIndex> index;
  std::optional<RankClasses> classes;
  RankStep step;
};
/// Throws InputError with everything that is wrong with the graph, the cluster, or both together.
std::unique_ptr<LaidStep> lay_step(const RankRunQuestion& question, const Catalog& catalog);

/// Reads a run off its timeline.
RankRun rank_run_of(const LaidStep& laid, const Timeline& timeline, const Catalog& catalog);

Json to_json(const RankRun& run);
RankRun rank_run_from_json(const Json& document);
/// The report for people: at most 100 columns.
std::string text_report(const RankRun& run);

/// Writes the run as a Chrome trace: a process for each class of ranks, a thread for each of its streams.
void write_rank_trace(const std::filesystem::path& file, const LaidStep& laid, const Timeline& timeline);

}  // namespace stepcast
