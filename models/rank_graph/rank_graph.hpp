#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/field_table.hpp"
#include "models/collectives/collective.hpp"

namespace stepcast {

inline constexpr int kRankGraphFormatVersion = 1;

/// What one operation of a rank is. `send` and `receive` are the two ends of a message.
enum class RankOperationKind : std::uint8_t { compute, memory, storage, collective, send, receive };
template <>
struct EnumNames<RankOperationKind> {
  static constexpr std::array names{"compute", "memory", "storage", "collective", "send", "receive"};
};

/// One operation of a rank and what it waits for. Which keys belong to which kind is checked by check_rank_graph.
struct RankOperation {
  std::uint64_t id = 0;  ///< unique in its program
  std::string name;
  RankOperationKind kind = RankOperationKind::compute;
  std::vector<std::uint64_t> after;          ///< ids of operations of the same rank that end first
  std::optional<Seconds> duration;           ///< compute, memory, storage: as measured; replaces the device's model
  std::optional<Flops> work;                 ///< compute: timed by the device of the cluster
  std::optional<Bytes> memory;               ///< compute, memory: traffic with the device's memory
  std::optional<CollectiveKind> collective;  ///< collective
  /// Collective: as collective_cost counts its payload. Message: its length. Storage: what is read.
  std::optional<Bytes> size;
  std::optional<Bytes> share;      ///< all_gather, instead of size: what one rank gives
  std::string group;               ///< collective: name of a group; empty: all ranks
  std::optional<int> peer;         ///< send: to this rank; receive: from this rank
  std::optional<int> peer_offset;  ///< of a message, instead of peer: the peer's rank less the own
  std::optional<int> tag;          ///< of a message; 0 when absent
  /// Operations of one stream of a rank run one at a time, in the order in which they become ready. Empty: the stream
  /// of its kind (collectives: one for each group; messages: one for each peer and direction).
  std::string stream;
  bool host = false;  ///< runs on the host's processor, not on the device

  static const FieldTable<RankOperation>& fields();
};

/// Ranks that communicate. Several lists: as many groups side by side, and each rank means the one that it is in.
struct RankGroup {
  std::string name;
  std::vector<std::vector<int>> members;

  static const FieldTable<RankGroup>& fields();
};

/// The operations of one rank, or of several that do the same.
struct RankProgram {
  std::vector<int> ranks;  ///< empty: every rank
  std::vector<RankOperation> operations;

  static const FieldTable<RankProgram>& fields();
};

/// A step as graphs of operations of real ranks, on no particular cluster: what a trace holds, and what
/// `stepcast run --graph` executes (docs/formats/step-graph.md).
struct RankGraph {
  int format_version = kRankGraphFormatVersion;
  std::string schema;  ///< "$schema", for editors
  std::string name;
  std::string source;                     ///< what it was made from
  std::vector<std::string> notes;         ///< what was assumed when it was made
  std::optional<int> ranks;               ///< absent: as many as the cluster has devices, and one program for all
  Precision precision = Precision::bf16;  ///< format of the products behind work_GFLOPs
  /// Share of a device's compute rate that a collective's kernel takes while its data moves.
  double communication_slowdown = 0;
  std::vector<RankGroup> groups;
  std::vector<RankProgram> programs;

  static const FieldTable<RankGraph>& fields();
};

/// Limits of one graph; what is beyond is refused, whatever it says.
inline constexpr int kMostRanks = 1 << 20;
inline constexpr std::size_t kMostRankOperations = 8'000'000;  ///< of all programs together: some 2 GB
inline constexpr double kMostBytes = 9007199254740992.0;       ///< of one operation: beyond, doubles skip bytes
inline constexpr double kLongestMicroseconds = 1e12;           ///< of one operation: eleven days

/// The rank at the other end of a message of `rank`; may be one that does not exist. Nothing for other operations.
std::optional<int> peer_of(const RankOperation& operation, int rank);

/// Buffer of a collective among so many ranks, as collective_cost counts it.
Bytes payload_of(const RankOperation& operation, std::size_t members);

/// Name of the stream that an operation runs on.
std::string stream_of(const RankOperation& operation);

/// An operation as the file has it: keys that say nothing are left out.
Json to_json(const RankOperation& operation);

/// The published JSON Schema of a step-graph file (models/rank_graph/rank-graph.schema.json).
Json rank_graph_schema();

}  // namespace stepcast
