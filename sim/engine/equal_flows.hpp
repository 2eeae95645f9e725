#pragma once

#include <vector>

#include "sim/collective/flow_program.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

/// Which messages of a program are alike to the network: they cross the same links that others use, too, as heavily,
/// and all else that limits them (a rate limit, links of their own) limits them alike. What begins as alike at the same
/// instant with as many bytes gets the same rate until its end, whoever comes and goes: such messages are one flow of
/// so many times the weight, which takes SimGrid no longer than one of them.
class EqualFlows {
 public:
  /// Adds what is needed of `program` to `graph`: its links, and each class of messages with the weights 1, 2, 4 …
  /// Paths that `may_share` leaves out are not made. `merge`: false to keep every message a flow over all of its links.
  EqualFlows(const FlowProgram& program, const std::vector<char>& may_share, bool merge, StepGraph& graph);

  /// Messages of one class and size that begin together.
  struct Start {
    int lane, path;
    double bytes;
  };
  /// One flow for `count` of them.
  struct Flow {
    PathId path;
    double bytes;
    std::size_t first, count;  ///< of the sorted starts
  };
  /// Sorts what begins at one instant by class and size, and cuts it into flows.
  void gather(std::vector<Start>& starts, std::vector<Flow>& flows) const;

 private:
  struct Class {
    std::vector<int> links;
    double weight = 1, cap = 0;
    bool operator<(const Class& other) const;
  };
  std::vector<int> class_of_;                 ///< by path of the program; −1: none
  std::vector<std::vector<PathId>> weights_;  ///< by class: paths of the graph for 1, 2, 4 … messages
};

}  // namespace stepcast
