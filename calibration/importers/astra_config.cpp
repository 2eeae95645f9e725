#include "calibration/importers/astra_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

namespace {

/// "The simulator deems 1 GB as 2^30 B" (astra-network-analytical, input format); ASTRA-sim 1.0: "GB/s or B/ns".
constexpr double kGigabyte2 = 1073741824.0, kGigabyte1 = 1e9;
constexpr std::size_t kMostDimensions = 10;  // as ASTRA-sim's involved dimensions

/// Lists of a network file that have one entry a dimension.
class DimensionReader {
 public:
  DimensionReader(const Json& keys, Diagnostics& diagnostics) : keys_(keys), diagnostics_(diagnostics) {}

  std::vector<Json> list(const char* key, bool required) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) {
      if (required) diagnostics_.error(child_pointer("", key), "missing: a network has one for each dimension");
      return {};
    }
    std::vector<Json> out =
        found->is_array() ? std::vector<Json>(found->begin(), found->end()) : std::vector<Json>{*found};
    if (out.empty() || out.size() > kMostDimensions)
      diagnostics_.error(child_pointer("", key),
                         fmt::format("{} dimensions, expected 1 to {}", out.size(), kMostDimensions));
    if (dimensions_ == 0) dimensions_ = out.size();
    if (out.size() != dimensions_)
      diagnostics_.error(child_pointer("", key),
                         fmt::format("{} entries, but the other lists have {}", out.size(), dimensions_));
    return out;
  }

  double number(const Json& value, const char* key, std::size_t i, double least, double most) {
    const std::string at = fmt::format("/{}/{}", key, i);
    if (!value.is_number())
      return diagnostics_.error(at, fmt::format("found {}, expected a number", describe(value))), least;
    const double out = value.get<double>();
    if (out >= least && out <= most) return out;
    diagnostics_.error(at, fmt::format("found {}, expected {:g} to {:g}", describe(value), least, most));
    return least;
  }

  int count(const Json& value, const char* key, std::size_t i) {
    const double out = number(value, key, i, 1, kMostRanks);
    if (out != std::floor(out))
      diagnostics_.error(fmt::format("/{}/{}", key, i),
                         fmt::format("found {}, expected a whole number", describe(value)));
    return static_cast<int>(out);
  }

  AstraTopology topology(const Json& value, const char* key, std::size_t i) {
    static const std::vector<std::string> names{"Ring", "FullyConnected", "Switch"};
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    // 1.0 called a fully connected dimension AllToAll at first.
    const auto found = std::find(names.begin(), names.end(), name == "AllToAll" ? "FullyConnected" : name);
    if (found != names.end()) return static_cast<AstraTopology>(found - names.begin());
    diagnostics_.error(fmt::format("/{}/{}", key, i),
                       fmt::format("found {}, {}", describe(value), expected_one_of(names)), did_you_mean(name, names));
    return AstraTopology::ring;
  }

 private:
  const Json& keys_;
  Diagnostics& diagnostics_;
  std::size_t dimensions_ = 0;
};

struct KeyNames {
  const char *topology, *npus, *bandwidth, *latency, *links;
  double gigabyte;
};

std::vector<AstraDimension> read_dimensions(const Json& keys, const KeyNames& names, Diagnostics& diagnostics) {
  DimensionReader reader(keys, diagnostics);
  const std::vector<Json> topology = reader.list(names.topology, true), npus = reader.list(names.npus, true),
                          bandwidth = reader.list(names.bandwidth, true), latency = reader.list(names.latency, true);
  const std::vector<Json> links = names.links ? reader.list(names.links, false) : std::vector<Json>{};
  std::vector<AstraDimension> out;
  if (!diagnostics.ok()) return out;
  for (std::size_t i = 0; i < topology.size(); ++i) {
    AstraDimension one;
    one.topology = reader.topology(topology[i], names.topology, i);
    one.npus = reader.count(npus[i], names.npus, i);
    one.bandwidth = BytesPerSecond(names.gigabyte * reader.number(bandwidth[i], names.bandwidth, i, 1e-6, 1e6));
    one.latency = 1_ns * reader.number(latency[i], names.latency, i, 0, 1e9);
    if (!links.empty()) one.links = reader.count(links[i], names.links, i);
    out.push_back(one);
  }
  return out;
}

/// 1.0's networks of one name for all their dimensions, as samples in its repository have them.
Json with_topologies(Json keys) {
  struct Whole {
    std::string_view name, dimension;
  };
  constexpr std::array kWholes{Whole{"Torus2D", "Ring"},  Whole{"Torus3D", "Ring"},
                               Whole{"Ring", "Ring"},     Whole{"AllToAll", "FullyConnected"},
                               Whole{"Switch", "Switch"}, Whole{"FullyConnected", "FullyConnected"}};
  if (keys.contains("topologies-per-dim") || !keys.contains("topology-name") || !keys.contains("units-count"))
    return keys;
  for (const Whole& one : kWholes)
    if (keys.at("topology-name") == one.name)
      keys["topologies-per-dim"] = std::vector<std::string>(
          keys.at("units-count").is_array() ? keys.at("units-count").size() : 1, std::string(one.dimension));
  return keys;
}

std::string key_and_value(const std::string& key, const Json& value) {
  return fmt::format("{} {}", key, value.is_string() ? value.get<std::string>() : value.dump());
}

/// An algorithm for each dimension: a list, or one word with `_` between (1.0).
std::string algorithm(const Json& keys, const char* key, Diagnostics& diagnostics) {
  static const std::vector<std::string> names{"ring",    "direct",    "halvingDoubling",    "doubleBinaryTree",
                                              "oneRing", "oneDirect", "oneHalvingDoubling", "oneDoubleBinaryTree"};
  const auto found = keys.find(key);
  if (found == keys.end()) return {};
  std::vector<std::string> words;
  for (const Json& value : found->is_array() ? *found : Json::array({*found})) {
    std::string text = value.is_string() ? value.get<std::string>() : describe(value);
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('_', at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  std::string out;
  for (const std::string& word : words) {
    // `direct4`: so many messages in flight at a time.
    std::string bare = word;
    while (!bare.empty() && bare.back() >= '0' && bare.back() <= '9') bare.pop_back();
    if (std::find(names.begin(), names.end(), bare) == names.end())
      diagnostics.error(child_pointer("", key), fmt::format("found \"{}\", {}", word, expected_one_of(names)),
                        did_you_mean(word, names));
    out += (out.empty() ? "" : "_") + bare;
  }
  return out;
}

/// Keys that a network does not have: misspelt ones are faults, others (of 1.0's simulator, of forks) go unused.
void sort_out_unknown(Json& keys, const std::vector<std::string>& known, AstraNetwork& out, Diagnostics& diagnostics) {
  std::vector<std::string> unknown;
  for (const auto& item : keys.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) unknown.push_back(item.key());
  for (const std::string& key : unknown) {
    const std::string* meant = nearest(key, known);
    if (meant && !keys.contains(*meant)) {
      diagnostics.error(child_pointer("", key), "unknown key", did_you_mean(key, known));
    } else {
      out.unused.push_back(key_and_value(key, keys.at(key)));
    }
    keys.erase(key);
  }
}

}  // namespace

int AstraNetwork::npus() const {
  double out = 1;
  for (const AstraDimension& one : dimensions) out *= one.npus;
  return out > kMostRanks ? 0 : static_cast<int>(out);
}

AstraNetwork read_astra_network(const Json& given, Diagnostics& diagnostics) {
  static const std::vector<std::string> known2{"topology", "npus_count", "bandwidth", "latency"};
  static const std::vector<std::string> known1{
      "topology-name", "topologies-per-dim", "dimension-type", "dimensions-count", "units-count",
      "links-count",   "link-latency",       "link-bandwidth", "nic-latency",      "router-latency",
      "hbm-latency",   "hbm-bandwidth",      "hbm-scale"};
  Json keys = with_topologies(given);
  const bool second = keys.contains("topology") || keys.contains("npus_count");
  AstraNetwork out;
  sort_out_unknown(keys, second ? known2 : known1, out, diagnostics);
  out.dimensions =
      second
          ? read_dimensions(keys, {"topology", "npus_count", "bandwidth", "latency", nullptr, kGigabyte2}, diagnostics)
          : read_dimensions(
                keys,
                {"topologies-per-dim", "units-count", "link-bandwidth", "link-latency", "links-count", kGigabyte1},
                diagnostics);
  if (diagnostics.ok() && out.npus() == 0)
    diagnostics.error(second ? "/npus_count" : "/units-count", fmt::format("more than {} NPUs in all", kMostRanks));
  return out;
}

AstraSystem read_astra_system(const Json& keys, Diagnostics& diagnostics) {
  AstraSystem out;
  out.all_reduce = algorithm(keys, "all-reduce-implementation", diagnostics);
  out.all_gather = algorithm(keys, "all-gather-implementation", diagnostics);
  out.reduce_scatter = algorithm(keys, "reduce-scatter-implementation", diagnostics);
  out.all_to_all = algorithm(keys, "all-to-all-implementation", diagnostics);
  // Others end alike: all-reduce-implementation-custom names a trace of its own.
  const std::vector<std::string> read{"all-reduce-implementation", "all-gather-implementation",
                                      "reduce-scatter-implementation", "all-to-all-implementation"};
  for (const auto& item : keys.items()) {
    if (std::find(read.begin(), read.end(), item.key()) != read.end()) continue;
    if (item.key() == "local-mem-bw" && item.value().is_number())
      out.local_memory_GBps = item.value().get<double>();
    else
      out.unused.push_back(key_and_value(item.key(), item.value()));
  }
  return out;
}

}  // namespace stepcast
