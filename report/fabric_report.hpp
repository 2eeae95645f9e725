#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fabric/fabric.hpp"
#include "models/fabric/findings.hpp"
#include "models/fabric/metrics.hpp"

namespace stepcast {

/// A fabric to look at: that of a scenario file, or of a node and a count.
struct FabricQuestion {
  std::string scenario;  ///< file; empty: `node` and `nodes`
  std::string node;
  int nodes = 0;
  std::vector<std::string> overrides;  ///< as `--set`: cluster.fabric.preset=fat-tree
};

/// What is said about it. The node belongs to the catalogue.
struct FabricReport {
  std::string name;
  const Node* node = nullptr;
  NetworkKind network = NetworkKind::infiniband;
  int nics = 0;  ///< of a node
  BytesPerSecond nic_bandwidth;
  Fabric fabric;  ///< drawn with the detail `switches`
  FabricInventory inventory;
  BytesPerSecond bisection;
  FabricDiameter diameter;
  std::vector<FabricFinding> findings;

  [[nodiscard]] const FabricSpec& spec() const { return fabric.spec(); }
  [[nodiscard]] bool faulty() const;
};

/// Builds the fabric and looks it over. Throws InputError.
FabricReport describe_fabric(const FabricQuestion& question, const Catalog& catalog);

/// What `stepcast fabric show` prints.
std::string fabric_text(const FabricReport& report);
/// What `stepcast fabric check` prints: a line for each finding.
std::string fabric_check_text(const FabricReport& report);
/// The same as JSON (docs/formats/fabric.md).
Json fabric_json(const FabricReport& report);

/// Every vertex and link (docs/formats/fabric.md).
Json fabric_graph_json(const Fabric& fabric);
/// The same for Graphviz: a cluster for each node, a line for each pair of opposite links.
std::string fabric_graphviz(const Fabric& fabric);

}  // namespace stepcast
