#include "calibration/importers/chakra/export_chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "calibration/importers/chakra/chakra_file.hpp"
#include "calibration/importers/chakra/translate_node.hpp"

namespace stepcast {

namespace {

/// What the metadata say of the schema: the node types and attributes of the description that we follow.
constexpr const char* kVersion = "0.0.4";
constexpr const char* kSchema = "1.0.1";

class Exporter {
 public:
  Exporter(std::string prefix, const RankGraph& graph) : prefix_(std::move(prefix)), graph_(graph) {}

  std::vector<std::filesystem::path> write() {
    std::vector<std::filesystem::path> files;
    for (const RankProgram& program : graph_.programs) files.push_back(write_program(program));
    files.emplace_back(prefix_ + ".groups.json");
    write_file(files.back(), Json(groups_).dump() + "\n");
    return files;
  }

 private:
  [[noreturn]] void refuse(const RankOperation& operation, std::string_view what) {
    throw InputError({{prefix_, fmt::format("operation {}", operation.id), std::string(what), ""}});
  }

  std::filesystem::path write_program(const RankProgram& program) {
    const int rank = program.ranks.empty() ? 0 : program.ranks.front();
    std::filesystem::path file = fmt::format("{}.{}.et", prefix_, rank);
    ChakraMetadata metadata{kVersion, {{"schema", std::string(kSchema)}}};
    if (program.ranks.size() > 1)
      metadata.attributes.push_back(
          {"stands_for_ranks", std::vector<double>(program.ranks.begin(), program.ranks.end())});
    if (graph_.communication_slowdown > 0)
      metadata.attributes.push_back({"communication_slowdown", graph_.communication_slowdown});
    ChakraWriter out(file, metadata);
    for (const RankOperation& operation : program.operations) out.write(node_of(operation, rank));
    out.commit();
    return file;
  }

  ChakraNode node_of(const RankOperation& operation, int rank) {
    ChakraNode node;
    node.id = operation.id;
    node.name = operation.name;
    node.data = operation.after;
    node.attributes.push_back({"is_cpu_op", operation.host});
    switch (operation.kind) {
      case RankOperationKind::compute:
      case RankOperationKind::storage:
        node.type = static_cast<std::uint32_t>(ChakraNodeType::compute);
        add_time(node, operation);
        break;
      case RankOperationKind::memory:
        node.type = static_cast<std::uint32_t>(ChakraNodeType::memory_load);
        add_time(node, operation);
        break;
      case RankOperationKind::send:
      case RankOperationKind::receive:
        add_message(node, operation, rank);
        break;
      case RankOperationKind::collective:
        add_collective(node, operation, rank);
        break;
    }
    if (!operation.stream.empty()) node.attributes.push_back({operation.host ? "tid" : "stream", operation.stream});
    return node;
  }

  void add_time(ChakraNode& node, const RankOperation& operation) {
    if (operation.duration) {
      node.duration_us = static_cast<std::uint64_t>(std::llround(operation.duration->in(1_us)));
      node.attributes.push_back({"exact_duration_us", operation.duration->in(1_us)});
      return;
    }
    if (operation.kind == RankOperationKind::storage) refuse(operation, "reads from storage without a duration");
    if (operation.work)
      node.attributes.push_back({"num_ops", static_cast<std::int64_t>(std::llround(operation.work->value()))});
    if (operation.memory)
      node.attributes.push_back({"tensor_size", static_cast<std::uint64_t>(std::llround(operation.memory->value()))});
  }

  static ChakraAttribute integer(const char* name, double value) {
    return {name, static_cast<std::int64_t>(std::llround(value))};
  }

  void add_message(ChakraNode& node, const RankOperation& operation, int rank) {
    const bool sends = operation.kind == RankOperationKind::send;
    const int peer = *peer_of(operation, rank);
    node.type = static_cast<std::uint32_t>(sends ? ChakraNodeType::send : ChakraNodeType::receive);
    node.attributes.push_back(integer("comm_src", sends ? rank : peer));
    node.attributes.push_back(integer("comm_dst", sends ? peer : rank));
    node.attributes.push_back(integer("comm_tag", operation.tag.value_or(0)));
    if (operation.size) node.attributes.push_back(integer("comm_size", operation.size->value()));
  }

  void add_collective(ChakraNode& node, const RankOperation& operation, int rank) {
    const std::int64_t type = traced_collective(*operation.collective);
    if (type < 0) refuse(operation, "is a collective that traces do not know");
    node.type = static_cast<std::uint32_t>(ChakraNodeType::collective);
    const std::size_t members = add_group(node, operation, rank);
    // Traces count a rank's input.
    const bool gathers = operation.collective == CollectiveKind::all_gather;
    const Bytes size = payload_of(operation, members) / (gathers ? static_cast<double>(members) : 1.0);
    node.attributes.push_back({"comm_type", type});
    node.attributes.push_back(integer("comm_size", size.value()));
  }

  /// Names the group of a rank and notes its members; returns how many they are.
  std::size_t add_group(ChakraNode& node, const RankOperation& operation, int rank) {
    if (operation.group.empty()) return static_cast<std::size_t>(graph_.ranks.value_or(1));
    if (const auto known = group_of_.find({rank, operation.group}); known != group_of_.end()) {
      node.attributes.push_back({"pg_name", known->second});
      return groups_[known->second].size();
    }
    const auto group = std::find_if(graph_.groups.begin(), graph_.groups.end(),
                                    [&](const RankGroup& g) { return g.name == operation.group; });
    for (std::size_t list = 0; group != graph_.groups.end() && list < group->members.size(); ++list) {
      const std::vector<int>& members = group->members[list];
      if (std::find(members.begin(), members.end(), rank) == members.end()) continue;
      const std::string name = group->members.size() > 1 ? fmt::format("{}.{}", group->name, list) : group->name;
      node.attributes.push_back({"pg_name", name});
      groups_[name] = members;
      group_of_[{rank, operation.group}] = name;
      return members.size();
    }
    refuse(operation, fmt::format("rank {} is not in group \"{}\"", rank, operation.group));
  }

  std::string prefix_;
  const RankGraph& graph_;
  std::map<std::string, std::vector<int>> groups_;
  std::map<std::pair<int, std::string>, std::string> group_of_;
};

}  // namespace

std::vector<std::filesystem::path> export_chakra(const std::string& prefix, const RankGraph& graph) {
  return Exporter(prefix, graph).write();
}

}  // namespace stepcast
