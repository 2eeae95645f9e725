#include "models/rank_graph/rank_graph_file.hpp"

#include <fmt/format.h>

#include "fields/json_elements.hpp"
#include "fields/plain_text.hpp"
#include "fields/streamed_file.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostFaults = 50;
constexpr std::size_t kWriteAt = std::size_t{1} << 20;

}  // namespace

RankGraph read_rank_graph(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  std::vector<std::vector<RankOperation>> operations;
  std::size_t count = 0;
  const auto take = [&](const Json& element, const std::string& pointer, const std::vector<std::size_t>& indices) {
    if (++count > kMostRankOperations) {
      diagnostics.error(pointer, fmt::format("more than {} operations", kMostRankOperations));
      return false;
    }
    if (operations.size() <= indices[0]) operations.resize(indices[0] + 1);
    RankOperation& operation = operations[indices[0]].emplace_back();
    Diagnostics own(diagnostics.file());
    refuse_control_characters(element, own);
    for (const Fault& fault : own.faults()) diagnostics.error(pointer + fault.pointer, fault.message, fault.suggestion);
    RankOperation::fields().read(operation, element, pointer, diagnostics);
    return diagnostics.faults().size() < kMostFaults;
  };
  const Json document = read_json_elements(file, {{"programs", "*", "operations", "*"}, take}, diagnostics);
  diagnostics.throw_if_faulty();
  refuse_control_characters(document, diagnostics);
  auto graph = read_document<RankGraph>(document, diagnostics);
  diagnostics.throw_if_faulty();
  for (std::size_t p = 0; p < operations.size(); ++p) graph.programs[p].operations = std::move(operations[p]);
  if (graph.programs.empty()) diagnostics.error("/programs", "found none, expected one at least");
  const bool repeated = graph.programs.size() == 1 && graph.programs[0].ranks.empty();
  if (!graph.ranks && !repeated)
    diagnostics.error("/ranks", "missing: without it there is one program, for every rank, that names no ranks");
  const auto ranks = graph.ranks;
  if (ranks && repeated) graph = with_ranks(std::move(graph), *ranks, file.string());
  diagnostics.throw_if_faulty();
  return graph;
}

RankGraph with_ranks(RankGraph graph, int ranks, const std::string& file) {
  graph.ranks = ranks;
  for (int rank = 0; rank < ranks; ++rank) graph.programs.at(0).ranks.push_back(rank);
  if (ranks < 2) return graph;
  const auto& operations = graph.programs[0].operations;
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (operations[i].peer)
      throw InputError({{file, fmt::format("/programs/0/operations/{}/peer", i),
                         fmt::format("a program that {} ranks run names one peer for all of them", ranks),
                         "give each rank its own program"}});
  return graph;
}

namespace {

/// Everything before the programs, without the brace that ends the document.
std::string head_of(const RankGraph& graph) {
  Json head = Json::object();
  for (const auto& entry : RankGraph::fields().entries()) {
    if (entry.key == "programs") continue;
    Json value = entry.write(graph);
    const bool empty =
        (value.is_string() && value.get_ref<const std::string&>().empty()) || (value.is_structured() && value.empty());
    if (!value.is_null() && !empty) head[entry.key] = std::move(value);
  }
  std::string text = "{";
  for (const auto& [key, value] : head.items())
    text += fmt::format("\n \"{}\": {},", key, value.dump(-1, ' ', false, Json::error_handler_t::replace));
  return text;
}

template <class Sink>
void write_to(const RankGraph& graph, Sink&& sink) {
  std::string text = head_of(graph) + "\n \"programs\": [";
  for (std::size_t p = 0; p < graph.programs.size(); ++p) {
    const RankProgram& program = graph.programs[p];
    text += p == 0 ? "\n  {" : ",\n  {";
    if (!program.ranks.empty()) text += fmt::format("\"ranks\": {}, ", Json(program.ranks).dump());
    text += "\"operations\": [";
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      text += i == 0 ? "\n   " : ",\n   ";
      text += to_json(program.operations[i]).dump(-1, ' ', false, Json::error_handler_t::replace);
      if (text.size() < kWriteAt) continue;
      sink(text);
      text.clear();
    }
    text += "]}";
  }
  sink(text + "]\n}\n");
}

}  // namespace

void write_rank_graph(const std::filesystem::path& file, const RankGraph& graph) {
  StreamedFile out(file);
  write_to(graph, [&](const std::string& text) { out.write(text); });
  out.commit();
}

std::string rank_graph_text(const RankGraph& graph) {
  std::string out;
  write_to(graph, [&](const std::string& text) { out += text; });
  return out;
}

}  // namespace stepcast
