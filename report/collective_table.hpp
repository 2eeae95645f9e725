#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "models/collectives/collective.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// One size of a collective, in the terms of nccl-tests.
struct CollectiveRow {
  Bytes size;                        ///< of the whole buffer
  Seconds time;                      ///< of one call, of the rank that ends last
  std::optional<Seconds> low, high;  ///< where chance decides
  double bus_factor = 1;             ///< bus over algorithm bandwidth
  std::string algorithm, protocol;
  std::string basis;  ///< name of a CalibrationBasis on a calibrated machine; else empty
  /// Size over time.
  [[nodiscard]] BytesPerSecond algorithm_bandwidth() const;
  [[nodiscard]] BytesPerSecond bus_bandwidth() const { return algorithm_bandwidth() * bus_factor; }
};

/// Element type, as nccl-tests and MPI name it.
struct ElementType {
  const char* name;
  const char* nccl_name;  ///< in its tables
  const char* precision;  ///< in scenarios, where it is one's format
  int bytes;
};
/// Those that nccl-tests knows; the first is the default (float32).
const std::vector<ElementType>& element_types();

struct CollectiveTable {
  std::string op;              ///< all_reduce
  std::string cluster;         ///< as the user named it
  std::string machine;         ///< in words: nodes, devices, NICs
  std::string library, flows;  ///< by name; CollectiveFlows by name
  int ranks = 1, ranks_per_node = 1, nodes = 1;
  ElementType type{"float32", "float", "fp32", 4};
  bool counts_per_rank = false;  ///< count is of one rank's part (all_gather, reduce_scatter, all_to_all)
  bool sums = false;             ///< the operation adds, so that the table has a column for what
  bool has_root = false;         ///< one rank sends to all or receives from all
  std::vector<std::string> notes;
  std::vector<CollectiveRow> rows;
  /// Mean over the rows, as nccl-tests ends its tables with.
  [[nodiscard]] BytesPerSecond average_bus_bandwidth() const;
};

/// Bus bandwidth over algorithm bandwidth, for n ranks: 2(n − 1)/n all_reduce, (n − 1)/n all_gather, reduce_scatter and
/// all_to_all, 1 others. Source: nccl-tests, doc/PERFORMANCE.md.
double bus_factor(CollectiveKind kind, int ranks);

/// The columns of nccl-tests (one set of them, for out-of-place and in-place are predicted alike), then algorithm and
/// protocol.
std::string collective_text(const CollectiveTable& table);
/// `{"rows": [{"size_bytes", "time_us", "algbw_GBps", "busbw_GBps", "algorithm", "protocol"}], …}`.
Json collective_json(const CollectiveTable& table);
/// Bus bandwidth and time against size, both axes logarithmic.
std::string collective_svg(const CollectiveTable& table);

}  // namespace stepcast
