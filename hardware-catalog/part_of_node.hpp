#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fields/json_text.hpp"

namespace stepcast {

/// What an id such as "dgx-h100-4-of-8" names: some of a node's accelerators.
struct NodePartName {
  std::string node;  ///< id of the whole one
  int used = 0, all = 0;
};

/// Nothing where an id is not such a name.
std::optional<NodePartName> node_part_name(std::string_view id);

/// The entry of the first so many accelerators of a node, from the whole one's: each keeps its links to the others and
/// its share of the NICs, and the host is there for them alone, of a rack their trays. Price is their share; limits of
/// the whole node's power are left out. Nothing where the node has another number of accelerators, is part of a torus,
/// or a rack of trays that they do not fill.
std::optional<Json> part_of_node(Json whole, const NodePartName& name);

}  // namespace stepcast
