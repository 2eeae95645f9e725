#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "units/quantity.hpp"

namespace stepcast {

/// Puts operations that share streams into an order: that in which each stream, on idle links, would take what becomes
/// ready for it, first come, first served.
///
/// Operations are numbered; some of them form units that begin together when all are ready and all their streams are
/// free, and end together.
class UnitSchedule {
 public:
  explicit UnitSchedule(int operations);

  void set(int operation, Seconds alone, int stream);  ///< stream −1: it takes none
  void add_edge(int before, int after) { edges_.emplace_back(before, after); }
  void join(const std::vector<int>& operations);

  /// What must follow what in the streams. `stuck`, if not null, gets the operations that can never begin (empty when
  /// all can); they are the ones that wait for each other across ranks.
  std::vector<std::pair<int, int>> order(std::vector<int>* stuck);
  /// When the last operation would end; valid after order().
  [[nodiscard]] Seconds end() const { return end_; }

 private:
  void index();

  std::vector<double> alone_;
  std::vector<int> stream_;
  std::vector<int> unit_;  ///< by operation: the first of its unit
  std::vector<std::vector<int>> joined_;
  std::vector<int> joined_in_;  ///< by operation: index into joined_, or −1
  std::vector<std::pair<int, int>> edges_;
  std::vector<std::size_t> first_child_;
  std::vector<int> children_;
  std::vector<int> waiting_;  ///< by unit
  Seconds end_;
};

}  // namespace stepcast
