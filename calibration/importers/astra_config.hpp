#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// How the NPUs of one dimension of ASTRA-sim's network are joined.
enum class AstraTopology { ring, fully_connected, network_switch };

struct AstraDimension {
  AstraTopology topology = AstraTopology::ring;
  int npus = 1;
  BytesPerSecond bandwidth;  ///< of each link, per direction
  Seconds latency;           ///< of each link
  int links = 0;             ///< of an NPU, where the file says (ASTRA-sim 1.0); else 0
};

struct AstraNetwork {
  std::vector<AstraDimension> dimensions;  ///< innermost first
  std::vector<std::string> unused;         ///< keys that have no counterpart, with their values
  [[nodiscard]] int npus() const;
};

struct AstraSystem {
  std::string all_reduce, all_gather, reduce_scatter, all_to_all;  ///< one algorithm, or several joined by `_`
  double local_memory_GBps = 0;
  std::vector<std::string> unused;  ///< keys that have no counterpart, with their values
};

/// Keys of a file, whether it is JSON, YAML (flat, with lists in either style) or lines of `key: value`. Faults: what
/// is none of them, a key given twice.
Json read_astra_keys(std::string_view text, Diagnostics& diagnostics);

/// What a file of ASTRA-sim is, by its keys.
enum class AstraFile { network, garnet, system, memory, logical, groups, unknown };
AstraFile astra_file_kind(const Json& keys);

/// Network files of the analytical backends: `topology, npus_count, bandwidth, latency` of ASTRA-sim 2, where 1 GB is
/// 2^30 bytes; `topologies-per-dim, units-count, links-count, link-bandwidth, link-latency` of 1.0. Faults: lists of
/// different lengths, unknown topologies, misspelt keys, numbers out of range. Source: the input formats of
/// astra-sim.github.io/astra-network-analytical-docs and of the 1.0 documentation.
AstraNetwork read_astra_network(const Json& keys, Diagnostics& diagnostics);

/// System files: which algorithm each collective has in each dimension; what else they say goes to `unused`.
AstraSystem read_astra_system(const Json& keys, Diagnostics& diagnostics);

}  // namespace stepcast
