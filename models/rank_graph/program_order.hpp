#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// What is wrong with one operation of a program, or with the whole of it (−1).
struct ProgramFault {
  int operation = -1;  ///< its place in the program's list
  std::string message, suggestion;
};

/// What the operations of a program wait for, by their places in its list.
class ProgramOrder {
 public:
  /// Faults: an id given twice, an operation that waits for one that does not exist or for itself, and the operations
  /// of a cycle. With any, the order is not to be used.
  ProgramOrder(const RankProgram& program, std::vector<ProgramFault>& faults);

  [[nodiscard]] std::span<const std::int32_t> parents(int operation) const {
    return std::span(parents_).subspan(first_[operation], first_[operation + 1] - first_[operation]);
  }
  /// Every operation behind all that it waits for; of those that could come next, the first of the list.
  [[nodiscard]] const std::vector<std::int32_t>& order() const { return order_; }

 private:
  void find_parents(const RankProgram& program, std::vector<ProgramFault>& faults);
  void sort(const RankProgram& program, std::vector<ProgramFault>& faults);

  std::vector<std::size_t> first_;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> order_;
};

/// How messages name an operation: `operation 7 "forward"`.
std::string describe(const RankOperation& operation);

}  // namespace stepcast
