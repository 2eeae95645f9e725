#pragma once

#include <string>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

/// Nodes that do not work as their kind should: stragglers, slow links, broken NICs. Speeds are shares of the healthy
/// node's.
struct NodeConditionSpec {
  std::vector<int> nodes;    ///< which, counted from 0
  double compute_speed = 1;  ///< every operator takes 1 ÷ this as long
  double network_speed = 1;  ///< rate of the NICs
  double native_speed = 1;   ///< rate of the links inside the node
  int failed_nics = 0;       ///< NICs without a link; the node's traffic takes the others
  static const FieldTable<NodeConditionSpec>& fields();
};

/// Nodes of another kind in the same cluster.
struct OtherNodesSpec {
  std::string node;        ///< catalogue id; as many devices as the cluster's own node has
  std::vector<int> nodes;  ///< which, counted from 0
  static const FieldTable<OtherNodesSpec>& fields();
};

/// `folded`: devices that behave alike are simulated once; `full`: every rank and every flow.
enum class FlowDetail { folded, full };
template <>
struct EnumNames<FlowDetail> {
  static constexpr std::array names{"folded", "full"};
};

}  // namespace stepcast
