#include "calibration/collectives/device_text.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <utility>

#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Runs of letters and digits.
std::set<std::string> distinct_words(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : lower_case(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The word by which an entry's model is known, the first with a digit: "h100" of h100-sxm-80gb, "6000" of
/// rtx-pro-6000-blackwell-server.
std::string model_word(const std::string& id) {
  std::string word;
  for (const char c : id + "-") {
    if (c != '-') {
      word += c;
    } else if (std::any_of(word.begin(), word.end(), [](unsigned char d) { return std::isdigit(d) != 0; })) {
      return word;
    } else {
      word.clear();
    }
  }
  return id;
}

/// Words of an entry's name that the text has too; "sxm" and "sxm4" are one word.
int common_words(const std::set<std::string>& stated, const std::string& id) {
  int common = 0;
  for (const std::string& word : distinct_words(id))
    for (const std::string& other : stated)
      if (other == word || (word.substr(0, 3) == "sxm" && other.substr(0, 3) == "sxm")) ++common;
  return common;
}

bool over_pcie(std::string_view text) { return has(text, "pcie") || has(text, "pci-e"); }

/// Devices of a node of which a run uses `used`: stated ("4 of 8 GPUs"), or the board they come on.
int devices_of(const Accelerator& accelerator, const StatedNode& stated) {
  const std::string remarks(stated.remarks);
  static const std::regex kOf(R"((\d+) of (\d+) GPUs)", std::regex::icase);
  std::smatch match;
  if (std::regex_search(remarks, match, kOf)) return std::max(stated.devices_used, std::stoi(match[2]));
  if (stated.devices_used > 8) return stated.devices_used;
  const bool boards_of_four = has(accelerator.id, "a100") || has(accelerator.id, "v100");
  const bool switch_named = has(lower_case(stated.links), "nvswitch");
  if (stated.devices_used == 4 && boards_of_four && !switch_named) return 4;
  return accelerator.interconnect ? 8 : std::max(stated.devices_used, 1);
}

/// Whether a node's devices and their links are those of an accelerator, whatever its memory.
bool same_board(const Node& node, const Accelerator& accelerator, const Catalog& catalog) {
  if (node.accelerator == accelerator.id) return true;
  const auto* other = catalog.find<Accelerator>(node.accelerator);
  return other != nullptr && other->family == accelerator.family && other->interconnect && accelerator.interconnect &&
         model_word(other->id) == model_word(accelerator.id);
}

/// The catalogue's node of so many of these devices: the maker's own board, whose links are all there, before servers
/// that leave some out. Null when there is none.
const Node* catalogue_node(const Accelerator& accelerator, int devices, const Catalog& catalog) {
  const Node* best = nullptr;
  for (const std::string& id : catalog.ids("nodes")) {
    const Node* node = catalog.find<Node>(id);
    if (node->accelerator_count != devices || !same_board(*node, accelerator, catalog)) continue;
    const auto rate = [&](const Node& n) { return n.interconnect.bandwidth_per_accelerator(devices); };
    if (best == nullptr || rate(*node) > rate(*best)) best = node;
  }
  return best;
}

NodeInterconnect switch_of(const Accelerator& accelerator) {
  NodeInterconnect out;
  out.kind = NodeTopology::nvswitch;
  out.per_link = accelerator.interconnect->per_link;
  out.links_per_accelerator = accelerator.interconnect->links;
  return out;
}

NodeInterconnect pcie_of(const Accelerator& accelerator) {
  NodeInterconnect out;
  out.kind = NodeTopology::pcie;
  out.pcie_gen = accelerator.pcie_gen;
  return out;
}

/// A pair over a bridge, or the two ends of "4 links per pair = 100 GB/s".
NodeInterconnect pair_of(const Accelerator& accelerator, const std::string& links) {
  NodeInterconnect out;
  out.kind = NodeTopology::pair;
  static const std::regex kRate(R"((\d+) links per pair = (\d+) gb/s)");
  std::smatch match;
  if (std::regex_search(links, match, kRate)) {
    out.links_per_pair = std::stoi(match[1]);
    out.per_link = BytesPerSecond(std::stod(match[2]) * 1e9 / out.links_per_pair);
  } else if (accelerator.interconnect) {
    out.links_per_pair = accelerator.interconnect->links;
    out.per_link = accelerator.interconnect->per_link;
  }
  return out;
}

// NVLink bridges of Ampere's workstation and server cards: 4 links of 14.06 GB/s (NVIDIA A40 datasheet, 112.5 GB/s both
// ways together), where the catalogue's card lists none.
constexpr int kBridgeLinks = 4;
constexpr BytesPerSecond kBridgeLink = 14.0625_GBps;

}  // namespace

const Accelerator* stated_accelerator(std::string_view text, const Catalog& catalog) {
  const std::set<std::string> stated = distinct_words(text);
  const bool pcie = over_pcie(lower_case(text));
  std::string best;
  double most = 0;
  for (const std::string& id : catalog.ids("accelerators")) {
    // "RTX 6000" of other generations is no "RTX PRO 6000".
    if (stated.count(model_word(id)) == 0 || (has(id, "-pro-") && stated.count("pro") == 0)) continue;
    const bool pcie_entry = has(id, "pcie");
    double score = 1 + common_words(stated, id);
    if (pcie != pcie_entry) score -= 0.5;
    if (has(id, "nvl") != (stated.count("nvl") > 0)) score -= 0.5;
    if (score > most) {
      most = score;
      best = id;
    }
  }
  return best.empty() ? nullptr : catalog.find<Accelerator>(best);
}

Node stated_node(const Accelerator& accelerator, const StatedNode& stated, const Catalog& catalog) {
  const std::string links = lower_case(stated.links);
  const bool pairs = has(links, "bridge") || has(links, "links per pair");
  Node node;
  node.id = "as-measured";
  node.accelerator = accelerator.id;
  node.accelerator_count = devices_of(accelerator, stated);
  if (pairs && stated.devices_used == 2) {
    node.accelerator_count = 2;
    node.interconnect = pair_of(accelerator, links);
    if (node.interconnect.links_per_pair == 0) {
      node.interconnect.links_per_pair = kBridgeLinks;
      node.interconnect.per_link = kBridgeLink;
    }
    return node;
  }
  const bool by_pcie = pairs || over_pcie(links) || !accelerator.interconnect || has(accelerator.id, "pcie");
  if (by_pcie) {
    node.interconnect = pcie_of(accelerator);
    return node;
  }
  if (!has(links, "nvswitch"))
    if (const Node* known = catalogue_node(accelerator, node.accelerator_count, catalog)) {
      node.interconnect = known->interconnect;
      return node;
    }
  node.interconnect = switch_of(accelerator);
  return node;
}

}  // namespace stepcast
