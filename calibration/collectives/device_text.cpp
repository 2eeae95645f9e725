#include "calibration/collectives/device_text.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <utility>

#include "calibration/validation/accelerator_names.hpp"
#include "calibration/validation/stated_words.hpp"
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

/// A card, which has no links to others but bridges, unlike boards of a platform (SXM, OAM).
bool is_card(const Accelerator& accelerator) {
  return has(accelerator.form_factor, "PCIe") || !accelerator.interconnect;
}

/// Forms in which one model comes, whose links are others.
std::string_view form_of(const std::string& id) {
  for (const std::string_view form : {"sxm", "pcie", "nvl"})
    if (has(id, form)) return form;
  return {};
}

/// Whether a node's devices and their links are those of an accelerator, whatever its memory.
bool same_board(const Node& node, const Accelerator& accelerator, const Catalog& catalog) {
  const auto* other = catalog.find<Accelerator>(node.accelerator);
  return other != nullptr && other->family == accelerator.family && other->interconnect && accelerator.interconnect &&
         model_word(other->id) == model_word(accelerator.id) && form_of(other->id) == form_of(accelerator.id);
}

/// What a device sends to its peers over native links; 0: none.
BytesPerSecond native_rate(const Node& node) {
  return node.interconnect.bandwidth_per_accelerator(node.accelerator_count);
}

/// The catalogue's node of so many of these devices: of this very accelerator before those of boards with other memory,
/// and the maker's own board, whose links are all there, before servers that leave some out. Null when there is none.
const Node* catalogue_node(const Accelerator& accelerator, int devices, const Catalog& catalog) {
  const Node *own = nullptr, *alike = nullptr;
  for (const std::string& id : catalog.ids("nodes")) {
    // Of a part of a server (dgx-a100-40gb-4-of-8) a row says so, and is given the server itself.
    if (has(id, "-of-")) continue;
    const Node* node = catalog.find<Node>(id);
    if (node->accelerator_count != devices) continue;
    const bool is_own = node->accelerator == accelerator.id;
    if (!is_own && !same_board(*node, accelerator, catalog)) continue;
    const Node*& best = is_own ? own : alike;
    if (best == nullptr || native_rate(*node) > native_rate(*best)) best = node;
  }
  return own != nullptr ? own : alike;
}

/// Devices of the smallest node of the catalogue that joins so many of this accelerator by links; else that many.
int devices_joined(const Accelerator& accelerator, int used, const Catalog& catalog) {
  int least = 0;
  for (const std::string& id : catalog.ids("nodes")) {
    const Node* node = catalog.find<Node>(id);
    if (node->accelerator != accelerator.id || node->accelerator_count < used) continue;
    if (native_rate(*node) <= BytesPerSecond(0)) continue;
    if (least == 0 || node->accelerator_count < least) least = node->accelerator_count;
  }
  return least > 0 ? least : used;
}

/// Devices of a node of which a run uses `used`: stated ("4 of 8 GPUs"), or the board they come on.
int devices_of(const Accelerator& accelerator, const StatedNode& stated, const Catalog& catalog) {
  const std::string remarks(stated.remarks);
  static const std::regex kOf(R"((\d+) of (\d+) GPUs)", std::regex::icase);
  std::smatch match;
  if (std::regex_search(remarks, match, kOf)) return std::max(stated.devices_used, std::stoi(match[2]));
  if (stated.devices_used > 8) return stated.devices_used;
  const bool boards_of_four = has(accelerator.id, "a100") || has(accelerator.id, "v100");
  const bool switch_named = has(lower_case(stated.links), "nvswitch");
  if (stated.devices_used == 4 && boards_of_four && !switch_named) return 4;
  return is_card(accelerator) ? devices_joined(accelerator, std::max(stated.devices_used, 1), catalog) : 8;
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

// NVLink bridges of Ampere's workstation and server cards: 4 links of 14.06 GB/s (NVIDIA A40 datasheet, 112.5 GB/s both
// ways together), where the catalogue's card lists none.
constexpr int kBridgeLinks = 4;
constexpr BytesPerSecond kBridgeLink = 14.0625_GBps;

/// Pairs over bridges, or the two ends of "4 links per pair = 100 GB/s".
NodeInterconnect pairs_of(const Accelerator& accelerator, const std::string& links) {
  NodeInterconnect out;
  out.kind = NodeTopology::pair;
  out.links_per_pair = kBridgeLinks;
  out.per_link = kBridgeLink;
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

/// What a text says of the links between a node's devices.
struct LinkWords {
  bool bridges = false;  ///< joins cards in pairs, or in fours where the maker has such a bridge
  bool pcie = false;     ///< and nothing else
  bool nvswitch = false;
};

LinkWords link_words(const std::string& links, const Accelerator& accelerator) {
  LinkWords out;
  const bool fabric = has(links, "xgmi") || has(links, "infinity fabric");
  out.bridges = has(links, "bridge") || has(links, "links per pair") ||
                (is_card(accelerator) && (fabric || has(links, "nvlink")));
  out.pcie = !fabric && !out.bridges && (over_pcie(links) || has(accelerator.id, "pcie"));
  out.nvswitch = has(links, "nvswitch");
  return out;
}

}  // namespace

StatedProcessors stated_processors(std::string_view text, const Catalog& catalog) {
  const std::string wanted = squashed(text);
  StatedProcessors out;
  std::size_t longest = 0;
  for (const std::string& id : catalog.ids("cpus")) {
    const std::string name = squashed(id);
    if (name.size() <= longest || !has(wanted, name)) continue;
    longest = name.size();
    out.cpu = catalog.find<Cpu>(id);
  }
  if (out.cpu == nullptr) return out;
  static const std::regex kCount(R"(^\s*(\d{1,2})\s*x\b)", std::regex::icase);
  std::match_results<std::string_view::const_iterator> match;
  out.sockets = std::regex_search(text.begin(), text.end(), match, kCount) ? std::stoi(match[1]) : 1;
  return out;
}

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
  // Ranks are devices that software sees: of boards of two dies, the dies; of chips of several cores, the cores.
  for (const char* part : {"-gcd", "-core"})
    if (const auto* device = catalog.find<Accelerator>(best + part)) return device;
  // A name without a number is known by all of its words, as runs name it: "TITAN Xp".
  return catalog.find<Accelerator>(best.empty() ? accelerator_of(text) : best);
}

Node stated_node(const Accelerator& accelerator, const StatedNode& stated, const Catalog& catalog) {
  const std::string links = lower_case(stated.links);
  const LinkWords words = link_words(links, accelerator);
  Node node;
  node.id = "as-measured";
  node.accelerator = accelerator.id;
  node.accelerator_count = devices_of(accelerator, stated, catalog);
  node.interconnect = pcie_of(accelerator);
  if (words.pcie) return node;
  // Two ends of a bridge, whatever servers hold more of them.
  if (words.bridges && stated.devices_used == 2 && (accelerator.interconnect || has(links, "nvlink"))) {
    node.accelerator_count = 2;
    node.interconnect = pairs_of(accelerator, links);
    return node;
  }
  const bool platform_switch = words.nvswitch && !is_card(accelerator);
  const Node* known = platform_switch ? nullptr : catalogue_node(accelerator, node.accelerator_count, catalog);
  if (known != nullptr && !(words.bridges && native_rate(*known) <= BytesPerSecond(0)))
    node.interconnect = known->interconnect;
  else if (words.bridges)
    node.interconnect = pairs_of(accelerator, links);
  else if (!is_card(accelerator))
    node.interconnect = switch_of(accelerator);
  return node;
}

}  // namespace stepcast
