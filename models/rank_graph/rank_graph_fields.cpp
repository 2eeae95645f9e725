#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

namespace {

const Rules kAnyBytes{.min = 0, .max = kMostBytes};
const Rules kAnyDuration{.min = 0, .max = kLongestMicroseconds};
const Rules kRank{.min = 0, .max = kMostRanks - 1};

}  // namespace

const FieldTable<RankOperation>& RankOperation::fields() {
  static const FieldTable<RankOperation> table =
      FieldTable<RankOperation>("operation", "One operation of a rank and what it waits for.")
          .field("id", &RankOperation::id, "Number of the operation, unique in its program.", {.required = true})
          .field("name", &RankOperation::name, "What reports and traces call it.")
          .field("kind", &RankOperation::kind,
                 "compute and memory run on the device (or host); storage reads from drives; send and receive are the "
                 "ends of a message.",
                 {.required = true})
          .field("after", &RankOperation::after, "Operations of the same rank that end before this one begins.")
          .field("duration_us", &RankOperation::duration,
                 "compute, memory, storage: time that it takes, as measured; instead of work_GFLOPs and memory_bytes.",
                 kAnyDuration)
          .field("work_GFLOPs", &RankOperation::work,
                 "compute: floating-point operations; the device of the cluster says how long they take.",
                 {.min = 0, .max = 1e15})
          .field("memory_bytes", &RankOperation::memory,
                 "compute, memory: traffic with the device's memory; beside work_GFLOPs the longer of both counts.",
                 kAnyBytes)
          .field("collective", &RankOperation::collective, "collective: which.")
          .field("size_bytes", &RankOperation::size,
                 "collective: buffer of one rank (all_gather: after; reduce_scatter: before; all_to_all: all that a "
                 "rank sends). send, receive: length of the message. storage: what is read.",
                 kAnyBytes)
          .field("share_bytes", &RankOperation::share,
                 "all_gather, instead of size_bytes: what one rank gives, whatever the number of ranks.", kAnyBytes)
          .field("group", &RankOperation::group, "collective: name of a group; without: all ranks.")
          .field("peer", &RankOperation::peer, "send: rank that receives; receive: rank that sends.", kRank)
          .field("peer_offset", &RankOperation::peer_offset,
                 "send, receive, instead of peer: the peer's rank less the own, for programs that several ranks run.",
                 {.min = -kMostRanks, .max = kMostRanks})
          .field("tag", &RankOperation::tag,
                 "send, receive: messages of equal ends and tag meet in their order; without: 0.")
          .field("stream", &RankOperation::stream,
                 "Operations of one stream of a rank run one at a time, in the order in which they become ready. "
                 "Without: the stream of the kind; collectives have one for each group, messages one for each peer.")
          .field("host", &RankOperation::host, "It runs on the host's processor.");
  return table;
}

const FieldTable<RankGroup>& RankGroup::fields() {
  static const FieldTable<RankGroup> table =
      FieldTable<RankGroup>("group", "Ranks that communicate.")
          .field("name", &RankGroup::name, "What operations call it.", {.required = true})
          .field("members", &RankGroup::members,
                 "Lists of ranks; with several, the groups lie side by side and each rank means the one that it is in.",
                 {.required = true, .min = 0, .max = kMostRanks - 1});
  return table;
}

const FieldTable<RankProgram>& RankProgram::fields() {
  static const FieldTable<RankProgram> table =
      FieldTable<RankProgram>("program", "Operations of one rank, or of several ranks that do the same.")
          .field("ranks", &RankProgram::ranks, "Ranks that run it; without: every rank, and this is the only program.",
                 kRank)
          .field("operations", &RankProgram::operations, "In any order.", {.required = true});
  return table;
}

const FieldTable<RankGraph>& RankGraph::fields() {
  static const FieldTable<RankGraph> table =
      FieldTable<RankGraph>("step graph", "A step as graphs of operations of real ranks.")
          .field("format_version", &RankGraph::format_version, "Format of this file.",
                 {.required = true, .min = kRankGraphFormatVersion, .max = kRankGraphFormatVersion})
          .field("$schema", &RankGraph::schema, "For editors.")
          .field("name", &RankGraph::name, "What reports call it.")
          .field("source", &RankGraph::source, "What it was made from.")
          .field("notes", &RankGraph::notes, "What was assumed when it was made; reports repeat it.")
          .field("ranks", &RankGraph::ranks,
                 "How many there are; without: as many as the cluster has devices, all running the only program.",
                 {.min = 1, .max = kMostRanks})
          .field("precision", &RankGraph::precision, "Format of the products that work_GFLOPs counts.")
          .field("communication_slowdown", &RankGraph::communication_slowdown,
                 "Share of a device's compute rate that a collective takes while its data moves.",
                 {.min = 0, .max = 0.9})
          .field("groups", &RankGraph::groups, "Groups of ranks that collectives name.")
          .field("programs", &RankGraph::programs, "What the ranks do; every rank runs exactly one.",
                 {.required = true});
  return table;
}

std::optional<int> peer_of(const RankOperation& operation, int rank) {
  if (operation.peer) return operation.peer;
  if (operation.peer_offset) return rank + *operation.peer_offset;
  return std::nullopt;
}

Bytes payload_of(const RankOperation& operation, std::size_t members) {
  if (operation.share) return *operation.share * static_cast<double>(members);
  return operation.size.value_or(Bytes(0));
}

std::string stream_of(const RankOperation& operation) {
  if (!operation.stream.empty()) return operation.stream;
  switch (operation.kind) {
    case RankOperationKind::compute:
    case RankOperationKind::memory:
      return operation.host ? "host" : "compute";
    case RankOperationKind::storage:
      return "storage";
    case RankOperationKind::collective:
      return operation.group.empty() ? "collectives" : "collectives of " + operation.group;
    case RankOperationKind::send:
    case RankOperationKind::receive:
      return fmt::format("{} {}{}", operation.kind == RankOperationKind::send ? "send to" : "receive from",
                         operation.peer ? "" : "own rank plus ",
                         operation.peer.value_or(operation.peer_offset.value_or(0)));
  }
  return {};
}

Json to_json(const RankOperation& operation) {
  Json out = Json::object();
  for (const auto& entry : RankOperation::fields().entries()) {
    Json value = entry.write(operation);
    const bool silent = value.is_null() || value == false || (value.is_structured() && value.empty()) ||
                        (value.is_string() && value.get_ref<const std::string&>().empty());
    if (!silent) out[entry.key] = std::move(value);
  }
  return out;
}

Json rank_graph_schema() { return published_schema<RankGraph>("Stepcast step graph"); }

}  // namespace stepcast
