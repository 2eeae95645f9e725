#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fields/diagnostics.hpp"
#include "models/rank_graph/program_order.hpp"
#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// Where a fault of a graph is said to be: in its own file, or in the trace that it was read from.
class RankGraphPlaces {
 public:
  explicit RankGraphPlaces(std::string file) : file_(std::move(file)) {}
  virtual ~RankGraphPlaces() = default;
  /// A fault without message at a JSON pointer of the graph.
  [[nodiscard]] virtual Fault of_graph(std::string pointer) const { return {file_, std::move(pointer), "", ""}; }
  /// The same at a program, by its place in the graph.
  [[nodiscard]] virtual Fault of_program(int program) const;
  /// The same at an operation, by its place in its program; `id`: as its file has it.
  [[nodiscard]] virtual Fault of_operation(int program, int operation, std::uint64_t id) const;

 protected:
  std::string file_;
};

/// A message: which operation sends it, and which receives it.
struct RankMessage {
  int from = 0, to = 0;                ///< ranks
  std::int32_t send = 0, receive = 0;  ///< places in the programs of these ranks
};

/// A graph whose number of ranks is known, with everything in it found: who runs what, who meets whom. The graph must
/// outlive it.
class RankIndex {
 public:
  /// Throws InputError with the graph's faults: ranks without a program or with two; groups of ranks that do not exist;
  /// keys that an operation lacks or must not have; what ProgramOrder refuses; members of a group that disagree on
  /// their collectives; a send without its receive and the reverse.
  RankIndex(const RankGraph& graph, const RankGraphPlaces& places);

  [[nodiscard]] const RankGraph& graph() const { return graph_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(program_of_.size()); }
  /// Place of the rank's program in the graph.
  [[nodiscard]] int program_of(int rank) const { return program_of_[rank]; }
  [[nodiscard]] const RankProgram& program(int program) const { return graph_.programs[program]; }
  [[nodiscard]] const ProgramOrder& order(int program) const { return orders_[program]; }

  /// Groups by number; 0 is that of all ranks.
  [[nodiscard]] int groups() const { return static_cast<int>(graph_.groups.size()) + 1; }
  /// Number of the group that a collective names.
  [[nodiscard]] int group_of(const RankOperation& operation) const;
  /// Which of a group's lists a rank is in; −1: in none.
  [[nodiscard]] int list_of(int group, int rank) const;
  /// Ranks of one of a group's lists.
  [[nodiscard]] std::span<const int> members(int group, int list) const;
  /// Collectives of a program in a group, in the order in which they meet those of the other members.
  [[nodiscard]] const std::vector<std::int32_t>& meetings(int program, int group) const;
  /// Groups that a program's collectives name.
  [[nodiscard]] std::vector<int> groups_of_program(int program) const;
  [[nodiscard]] const std::vector<RankMessage>& messages() const { return messages_; }

 private:
  friend class RankGraphCheck;
  const RankGraph& graph_;
  std::vector<int> program_of_;
  std::vector<int> all_ranks_;
  std::vector<ProgramOrder> orders_;
  std::map<std::string, int, std::less<>> group_by_name_;
  std::vector<std::map<int, int>> lists_;                           ///< by group − 1: list of each rank
  std::vector<std::map<int, std::vector<std::int32_t>>> meetings_;  ///< by program: by group
  std::vector<RankMessage> messages_;
};

}  // namespace stepcast
