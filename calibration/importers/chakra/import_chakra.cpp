#include "calibration/importers/chakra/import_chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include "calibration/importers/chakra/chakra_file.hpp"
#include "calibration/importers/chakra/mirror_ranks.hpp"
#include "calibration/importers/chakra/process_groups.hpp"
#include "calibration/importers/chakra/translate_node.hpp"
#include "models/rank_graph/merge_programs.hpp"
#include "models/rank_graph/rank_index.hpp"

namespace stepcast {

namespace {

/// Faults of one trace that are listed.
constexpr std::size_t kMostFaults = 50;

/// One file, read.
struct Trace {
  std::string file;
  std::optional<int> rank;  ///< of its name
  std::string schema;
  std::vector<int> stands_for;  ///< ranks that do the same, where our own exporter wrote them
  double communication_slowdown = 0;
  std::vector<RankOperation> operations;
  std::size_t callers = 0;   ///< control dependencies that name callers
  std::size_t measured = 0;  ///< collectives whose measured time is not used
  bool durations = false;
};

/// `name.RANK.et`, compressed or not.
std::optional<int> rank_of_name(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (!name.ends_with(".et")) return std::nullopt;
  name.resize(name.size() - 3);
  const auto dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  int rank = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + dot + 1, end, rank);
  return error == std::errc{} && at == end && rank >= 0 && rank < kMostRanks ? std::optional(rank) : std::nullopt;
}

void read_metadata(Trace& trace, const ChakraMetadata& metadata) {
  const ChakraAttribute* schema = find_attribute(metadata.attributes, "schema");
  trace.schema = printable(schema ? schema->text().value_or("") : metadata.version);
  if (const ChakraAttribute* ranks = find_attribute(metadata.attributes, "stands_for_ranks"))
    if (const auto* numbers = std::get_if<std::vector<double>>(&ranks->value))
      for (const double rank : *numbers)
        if (rank >= 0 && rank < kMostRanks) trace.stands_for.push_back(static_cast<int>(rank));
  if (const ChakraAttribute* slowdown = find_attribute(metadata.attributes, "communication_slowdown"))
    trace.communication_slowdown = std::clamp(slowdown->number().value_or(0), 0.0, 0.9);
}

Trace read_trace(const std::filesystem::path& file, ProcessGroups& groups) {
  Trace trace;
  trace.file = file.string();
  trace.rank = rank_of_name(file);
  ChakraReader reader(file);
  read_metadata(trace, reader.metadata());
  Diagnostics diagnostics(trace.file);
  std::vector<std::vector<std::uint64_t>> control;
  bool pytorch = false;
  ChakraNode node;
  while (reader.next(node)) {
    trace.operations.push_back(translate_node(node, diagnostics));
    control.push_back(node.control);
    pytorch = pytorch || is_pytorch_node(node);
    trace.durations = trace.durations || node.duration_us > 0;
    if (trace.operations.back().kind == RankOperationKind::collective && node.duration_us > 0) ++trace.measured;
    add_process_groups(groups, node);
    if (trace.operations.size() > kMostRankOperations)
      diagnostics.error("", fmt::format("has more than {} nodes", kMostRankOperations));
    if (diagnostics.faults().size() >= kMostFaults) break;
  }
  diagnostics.throw_if_faulty();
  for (std::size_t i = 0; i < control.size(); ++i) {
    // PyTorch's observer stores the caller of an operator as its control dependency, by numbers that the later
    // splitting of operators does not keep (they name themselves, each other, and nodes that are not there). Everyone
    // else means an order.
    if (pytorch) {
      trace.callers += control[i].size();
      continue;
    }
    std::vector<std::uint64_t>& after = trace.operations[i].after;
    for (const std::uint64_t id : control[i])
      if (std::find(after.begin(), after.end(), id) == after.end()) after.push_back(id);
  }
  return trace;
}

/// Says where a fault is in terms of the traces.
class TracePlaces : public RankGraphPlaces {
 public:
  explicit TracePlaces(std::vector<std::string> files) : RankGraphPlaces(files.front()), files_(std::move(files)) {}
  [[nodiscard]] Fault of_program(int program) const override { return {files_[program], "", "", ""}; }
  [[nodiscard]] Fault of_operation(int program, int, std::uint64_t id) const override {
    return {files_[program], fmt::format("node {}", id), "", ""};
  }

 private:
  std::vector<std::string> files_;
};

class Importer {
 public:
  explicit Importer(const ChakraImport& request) : request_(request) {}

  RankGraph import() {
    for (const auto& file : request_.files) traces_.push_back(read_trace(file, groups_));
    if (request_.process_groups)
      for (auto& [name, ranks] : read_process_groups(*request_.process_groups)) groups_[name] = std::move(ranks);
    number_traces();
    resolve_groups();
    const std::optional<int> ranks = count_ranks();
    graph_.ranks = ranks;
    for (Trace& trace : traces_) {
      graph_.programs.push_back({ranks ? std::vector<int>{*trace.rank} : std::vector<int>{}, {}});
      graph_.programs.back().operations = std::move(trace.operations);
      graph_.communication_slowdown = std::max(graph_.communication_slowdown, trace.communication_slowdown);
    }
    if (ranks) merge_and_mirror();
    describe_source();
    check();
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& file, std::string message, std::string suggestion = {}) {
    throw InputError({{file, "", std::move(message), std::move(suggestion)}});
  }

  /// Several traces tell their ranks by their names; a single one may leave it to its messages.
  void number_traces() {
    if (traces_.size() == 1 && !traces_[0].rank) return;
    std::map<int, std::string> seen;
    for (const Trace& trace : traces_) {
      if (!trace.rank)
        fail(trace.file, "its name does not tell its rank", "several traces are called name.RANK.et, as job.0.et");
      if (const auto [at, fresh] = seen.emplace(*trace.rank, trace.file); !fresh)
        fail(trace.file, fmt::format("is of rank {}, as {} is", *trace.rank, at->second));
    }
    std::sort(traces_.begin(), traces_.end(), [](const Trace& a, const Trace& b) { return *a.rank < *b.rank; });
  }

  /// Collectives name their group or mean all ranks; a lone name that nothing explains means all ranks, too.
  void resolve_groups() {
    std::map<std::string, const Trace*> used;
    for (const Trace& trace : traces_)
      for (const RankOperation& operation : trace.operations)
        if (!operation.group.empty()) used.emplace(operation.group, &trace);
    std::set<std::string> all_ranks;
    for (const auto& [name, trace] : used) {
      const auto known = groups_.find(name);
      if (known != groups_.end() && !known->second.empty()) {
        graph_.groups.push_back({name, {known->second}});
        continue;
      }
      if (known == groups_.end() && (used.size() > 1 || request_.process_groups)) fail_unknown(name, used, trace->file);
      if (known == groups_.end())
        graph_.notes.push_back(fmt::format("process group \"{}\" is taken for all ranks: it is the only one", name));
      all_ranks.insert(name);
    }
    for (Trace& trace : traces_)
      for (RankOperation& operation : trace.operations)
        if (all_ranks.count(operation.group) > 0) operation.group.clear();
  }

  [[noreturn]] void fail_unknown(const std::string& name, const std::map<std::string, const Trace*>& used,
                                 const std::string& file) {
    if (!request_.process_groups)
      fail(file,
           fmt::format("its collectives name {} process groups, and nothing says which ranks are in \"{}\"",
                       used.size(), name),
           "--process-groups FILE.json with {\"name\": [ranks], …}");
    std::vector<std::string> names;
    for (const auto& [known, ranks] : groups_) names.push_back(known);
    fail(request_.process_groups->string(), fmt::format("has no process group \"{}\", which {} uses", name, file),
         did_you_mean(name, names));
  }

  /// As many as anything names; nothing when nothing does.
  std::optional<int> count_ranks() {
    int highest = -1;
    const auto see = [&](int rank) { highest = std::max(highest, rank); };
    for (const RankGroup& group : graph_.groups)
      for (const int rank : group.members.front()) see(rank);
    for (const Trace& trace : traces_) {
      if (trace.rank && (traces_.size() > 1 || *trace.rank > 0)) see(*trace.rank);
      for (const int rank : trace.stands_for) see(rank);
      for (const RankOperation& operation : trace.operations)
        if (operation.peer) see(*operation.peer);
    }
    if (request_.ranks) {
      if (*request_.ranks <= highest)
        fail(traces_.front().file,
             fmt::format("names rank {}, so there are more than {} ranks", highest, *request_.ranks));
      highest = *request_.ranks - 1;
    } else if (static_cast<std::size_t>(highest) >= traces_.size()) {
      highest = complete_groups(highest + 1) - 1;
    }
    if (highest < 0) {
      graph_.notes.emplace_back(
          "nothing says how many ranks there are: every device of the cluster does what this one did");
      return std::nullopt;
    }
    for (Trace& trace : traces_)
      if (!trace.rank) trace.rank = 0;
    return highest + 1;
  }

  /// So many ranks that groups of every size come out even over them: some may be repeated.
  int complete_groups(int ranks) const {
    long together = 1;
    for (const RankGroup& group : graph_.groups) {
      together = std::lcm(together, static_cast<long>(group.members.front().size()));
      if (together > kMostRanks) return ranks;
    }
    return static_cast<int>((ranks + together - 1) / together * together);
  }

  void merge_and_mirror() {
    std::vector<std::vector<int>> stands_for;
    for (const Trace& trace : traces_) {
      stands_for.push_back(trace.stands_for);
      files_.push_back(trace.file);
    }
    const bool stated = std::any_of(stands_for.begin(), stands_for.end(), [](const auto& r) { return !r.empty(); });
    if (!stated) {
      std::vector<std::string> files;
      for (const int kept : merge_programs(graph_)) files.push_back(files_[kept]);
      files_ = std::move(files);
      stands_for.assign(files_.size(), {});
    }
    const std::string note = mirror_ranks(graph_, stands_for, traces_.front().file);
    if (!note.empty()) graph_.notes.push_back(note);
  }

  void describe_source() {
    graph_.name = std::filesystem::path(traces_.front().file).filename().string();
    graph_.source = fmt::format("{} Chakra trace{} of schema {}", traces_.size(), traces_.size() > 1 ? "s" : "",
                                traces_.front().schema.empty() ? "unknown" : traces_.front().schema);
    std::size_t callers = 0, measured = 0;
    bool durations = false;
    for (const Trace& trace : traces_) {
      callers += trace.callers;
      measured += trace.measured;
      durations = durations || trace.durations;
    }
    if (callers > 0)
      graph_.notes.push_back(fmt::format(
          "{} control dependencies name callers of PyTorch operators and order nothing; data dependencies do",
          callers));
    if (measured > 0)
      graph_.notes.push_back(
          fmt::format("times of {} traced collectives are not used: the cluster's links decide", measured));
    if (durations) graph_.notes.emplace_back("computation takes the time that it took on the traced machine");
  }

  void check() {
    const TracePlaces places(files_.empty() ? std::vector{traces_.front().file} : files_);
    if (graph_.ranks) {
      (void)RankIndex(graph_, places);
      return;
    }
    graph_.ranks = 1;
    graph_.programs[0].ranks = {0};
    (void)RankIndex(graph_, places);
    graph_.ranks.reset();
    graph_.programs[0].ranks.clear();
  }

  const ChakraImport& request_;
  ProcessGroups groups_;
  std::vector<Trace> traces_;
  std::vector<std::string> files_;  ///< by program
  RankGraph graph_;
};

}  // namespace

RankGraph import_chakra(const ChakraImport& request) { return Importer(request).import(); }

}  // namespace stepcast
