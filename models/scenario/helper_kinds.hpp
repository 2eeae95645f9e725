#pragma once

#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// What nodes do that stand beside those that train. Servers hold the parameters; actors hold nothing that training
/// could not go on without.
enum class HelperRole { parameter_servers, actors };
template <>
struct EnumNames<HelperRole> {
  static constexpr std::array names{"parameter servers", "actors"};
};

/// Nodes beside cluster.nodes.
struct HelperKind {
  HelperRole role;
  Scenario scenario;  ///< of these nodes alone
};

/// Parameter servers on nodes of their own or on the driver's, of their kind or the workers' with idle accelerators;
/// and actors.
std::vector<HelperKind> helper_kinds(const Scenario& scenario, const Catalog& catalog);

/// Prices that `cluster.cost` states are of cluster.node alone: takes them from terms for other nodes.
void leave_to_catalogue(CostSpec& cost);

}  // namespace stepcast
