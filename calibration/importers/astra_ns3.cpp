#include "calibration/importers/astra_ns3.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "calibration/importers/text_file.hpp"
#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

namespace {

constexpr int kMostLinks = 100000;

std::vector<std::string_view> first_words(std::string_view text) {
  for (const std::string_view line : lines_of(text))
    if (std::vector<std::string_view> words = words_of(line); !words.empty()) return words;
  return {};
}

/// A number that is not below zero, and what follows it.
std::optional<double> leading_number(std::string_view word, std::string_view& unit) {
  double out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error != std::errc{} || !std::isfinite(out) || out < 0) return std::nullopt;
  unit = word.substr(static_cast<std::size_t>(end - word.data()));
  return out;
}

struct Unit {
  std::string_view name;
  double factor;
};

template <std::size_t N>
std::optional<double> in_units(std::string_view word, const std::array<Unit, N>& units) {
  std::string_view unit;
  const std::optional<double> number = leading_number(word, unit);
  const auto found = std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.name == unit; });
  if (!number || found == units.end()) return std::nullopt;
  return *number * found->factor;
}

/// In bit/s, as ns-3's DataRate takes it.
std::optional<double> bits_per_second(std::string_view word) {
  static constexpr std::array kUnits{Unit{"bps", 1},     Unit{"b/s", 1},     Unit{"Kbps", 1e3}, Unit{"kbps", 1e3},
                                     Unit{"Mbps", 1e6},  Unit{"Mb/s", 1e6},  Unit{"Gbps", 1e9}, Unit{"Gb/s", 1e9},
                                     Unit{"Tbps", 1e12}, Unit{"Tb/s", 1e12}, Unit{"Kb/s", 1e3}, Unit{"kb/s", 1e3},
                                     Unit{"GB/s", 8e9},  Unit{"MB/s", 8e6},  Unit{"GBps", 8e9}};
  return in_units(word, kUnits);
}

/// In seconds, as ns-3's Time takes it.
std::optional<double> seconds(std::string_view word) {
  static constexpr std::array kUnits{Unit{"s", 1},     Unit{"ms", 1e-3},  Unit{"us", 1e-6},
                                     Unit{"ns", 1e-9}, Unit{"ps", 1e-12}, Unit{"", 1}};
  return in_units(word, kUnits);
}

class Ns3Reader {
 public:
  Ns3Reader(std::string_view text, Diagnostics& diagnostics) : lines_(lines_of(text)), diagnostics_(diagnostics) {}

  Ns3Topology read() {
    const std::vector<std::string_view> head = next();
    if (head.size() != 3)
      return fault(fmt::format("has {} numbers in its first line, expected those of vertices, switches and links",
                               head.size()),
                   head.size() == 6 ? "it is a topology of SimAI, with its GPUs per server" : ""),
             Ns3Topology{};
    out_.vertices = number(head[0], "vertices", 1, kMostRanks);
    const int switches = number(head[1], "switches", 0, std::max(0, out_.vertices - 1));
    const int links = number(head[2], "links", 0, kMostLinks);
    read_switches(switches);
    for (int i = 0; i < links && diagnostics_.faults().size() < 10; ++i) read_link(i, links);
    if (diagnostics_.ok() && !next().empty()) fault(fmt::format("{} links are announced, more are there", links));
    return std::move(out_);
  }

 private:
  std::vector<std::string_view> next() {
    while (line_ < lines_.size()) {
      std::vector<std::string_view> words = words_of(lines_[line_++]);
      if (!words.empty()) return words;
    }
    return {};
  }

  void read_switches(int count) {
    std::vector<std::string_view> words = count > 0 ? next() : std::vector<std::string_view>{};
    if (static_cast<int>(words.size()) != count)
      return fault(fmt::format("{} switches are announced, {} are listed", count, words.size()));
    for (const std::string_view word : words) out_.switches.push_back(vertex(word));
    std::sort(out_.switches.begin(), out_.switches.end());
    if (std::adjacent_find(out_.switches.begin(), out_.switches.end()) != out_.switches.end())
      fault("a switch is listed twice");
  }

  void read_link(int i, int links) {
    const std::vector<std::string_view> words = next();
    if (words.empty()) return fault(fmt::format("{} links are announced, {} are there", links, i));
    if (words.size() < 4 || words.size() > 5)
      return fault(fmt::format("{} words, expected two vertices, a rate, a delay and an error rate", words.size()));
    Ns3Link link;
    link.line = static_cast<int>(line_);
    link.from = vertex(words[0]);
    link.to = vertex(words[1]);
    if (link.from == link.to) fault(fmt::format("vertex {} is linked to itself", link.from));
    const std::optional<double> rate = bits_per_second(words[2]), delay = seconds(words[3]);
    if (!rate || *rate <= 0) fault(fmt::format("{} is no rate, expected one as 400Gbps", shown(words[2])));
    if (!delay) fault(fmt::format("{} is no delay, expected one as 0.005ms", shown(words[3])));
    std::string_view rest;
    if (words.size() == 5 && leading_number(words[4], rest).value_or(0) > 0) out_.lossy = true;
    link.rate = BytesPerSecond(rate.value_or(8) / 8);
    link.delay = Seconds(delay.value_or(0));
    out_.links.push_back(link);
  }

  int vertex(std::string_view word) { return number(word, "a vertex", 0, out_.vertices - 1); }

  int number(std::string_view word, std::string_view what, int least, int most) {
    const std::optional<int> out = whole_number(word);
    if (out && *out >= least && *out <= most) return *out;
    fault(fmt::format("{} as {}, expected a whole number from {} to {}", shown(word), what, least, most));
    return least;
  }

  void fault(const std::string& message, std::string suggestion = {}) {
    diagnostics_.error("", fmt::format("line {}: {}", std::max<std::size_t>(line_, 1), message), std::move(suggestion));
  }

  std::vector<std::string_view> lines_;
  Diagnostics& diagnostics_;
  std::size_t line_ = 0;
  Ns3Topology out_;
};

/// Numbers of the NPUs among the vertices; −1 for switches.
std::vector<int> npu_numbers(const Ns3Topology& topology) {
  std::vector<int> out(static_cast<std::size_t>(topology.vertices));
  for (const int one : topology.switches) out[static_cast<std::size_t>(one)] = -1;
  int next = 0;
  for (int& one : out)
    if (one >= 0) one = next++;
  return out;
}

/// NPUs that are joined to one another alone.
AstraCluster one_node(const Ns3Topology& topology, Diagnostics& diagnostics) {
  AstraCluster out;
  out.npus_per_node = topology.npus();
  std::map<std::pair<int, int>, int> pairs;
  for (const Ns3Link& link : topology.links) {
    if (link.rate != topology.links.front().rate)
      diagnostics.error("", fmt::format("line {}: links of different rates join NPUs without a switch", link.line),
                        "a node's links have one rate");
    ++pairs[std::minmax(link.from, link.to)];
  }
  if (topology.links.empty()) return out;
  out.interior.kind = NodeTopology::hybrid_cube_mesh;
  out.interior.generation = "links of ns-3";
  out.interior.per_link = topology.links.front().rate;
  for (const auto& [pair, count] : pairs) out.interior.links.push_back({pair.first, pair.second, count});
  out.notes.emplace_back(
      "NPUs are joined without switches: taken as one node, whose links have no delay of their own, as the collective "
      "library's hold there");
  return out;
}

AstraCluster nodes_below_switches(const Ns3Topology& topology, Diagnostics& diagnostics) {
  AstraCluster out;
  out.nodes = topology.npus();
  const std::vector<int> npu = npu_numbers(topology);
  const auto npu_of = [&](int vertex) { return npu[static_cast<std::size_t>(vertex)]; };
  std::vector<int> nics(static_cast<std::size_t>(out.nodes));
  Json switches = Json::array(), cables = Json::array();
  for (const int one : topology.switches) switches.push_back(Json{{"name", fmt::format("switch{}", one)}});
  const auto end = [&](int vertex) {
    const int node = npu_of(vertex);
    if (node < 0) return fmt::format("switch{}", vertex);
    return fmt::format("node{}:nic{}", node, nics[static_cast<std::size_t>(node)]++);
  };
  for (const Ns3Link& link : topology.links) {
    if (npu_of(link.from) >= 0 && npu_of(link.to) >= 0)
      diagnostics.error("", fmt::format("line {}: joins two NPUs, though the topology has switches", link.line),
                        "no fabric has both");
    if (npu_of(link.from) >= 0 || npu_of(link.to) >= 0) out.nic_bandwidth = std::max(out.nic_bandwidth, link.rate);
    std::string from = end(link.from), to = end(link.to);
    cables.push_back(Json{{"from", std::move(from)},
                          {"to", std::move(to)},
                          {"bandwidth_Gbps", link.rate.in(1_Gbps)},
                          {"latency_us", std::round(link.delay.in(1_us) * 1e6) / 1e6}});
  }
  out.nics = *std::max_element(nics.begin(), nics.end());
  const auto apart = std::find(nics.begin(), nics.end(), 0);
  if (apart != nics.end())
    diagnostics.error("", fmt::format("NPU {} has no link", apart - nics.begin()), "every one needs a link");
  out.fabric = {{"preset", "custom"}, {"switches", std::move(switches)}, {"cables", std::move(cables)}};
  out.notes.emplace_back("every NPU is a node of its own, with a NIC for each of its links");
  return out;
}

}  // namespace

bool is_ns3_topology(std::string_view text) {
  const std::vector<std::string_view> words = first_words(text);
  const auto numbers =
      std::count_if(words.begin(), words.end(), [](auto word) { return whole_number(word).has_value(); });
  return numbers >= 3 && (words.size() == 3 || (words.size() == 6 && numbers >= 5));
}

bool is_ns3_config(std::string_view text) {
  const std::vector<std::string_view> words = first_words(text);
  return words.size() == 2 &&
         words[0].find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string::npos &&
         text.find("PACKET_PAYLOAD_SIZE") != std::string_view::npos;
}

Ns3Topology read_ns3_topology(std::string_view text, Diagnostics& diagnostics) {
  return Ns3Reader(text, diagnostics).read();
}

AstraCluster cluster_of(const Ns3Topology& topology, Diagnostics& diagnostics) {
  AstraCluster out =
      topology.switches.empty() ? one_node(topology, diagnostics) : nodes_below_switches(topology, diagnostics);
  if (topology.lossy) out.notes.emplace_back("error rates of links have no counterpart: none of them loses anything");
  return out;
}

}  // namespace stepcast
