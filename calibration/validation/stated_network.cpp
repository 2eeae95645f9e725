#include "calibration/validation/stated_network.hpp"

#include <algorithm>
#include <array>
#include <regex>

#include "calibration/validation/stated_rate.hpp"

namespace stepcast {

namespace {

std::string_view network_kind(const std::string& text) {
  struct Word {
    std::string_view word, kind;
  };
  constexpr std::array kWords{Word{"InfiniBand", "infiniband"},
                              Word{"HDR", "infiniband"},
                              Word{"NDR", "infiniband"},
                              Word{"EDR", "infiniband"},
                              Word{"Omni-Path", "omni_path"},
                              Word{"Slingshot", "slingshot"},
                              Word{"EFA", "efa"},
                              Word{"RoCE", "ethernet_rdma"},
                              Word{"RDMA", "ethernet_rdma"},
                              Word{"TCP", "ethernet_tcp"},
                              Word{"Ethernet", "ethernet_tcp"},
                              Word{"GbE", "ethernet_tcp"}};
  for (const Word& word : kWords)
    if (text.find(word.word) != std::string::npos) return word.kind;
  return "infiniband";
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// One sign for "times", and digits for the counts that servers have of NICs.
std::string plain(std::string text) {
  replace_all(text, "×", "x");
  replace_all(text, "*", "x");
  for (const auto& [word, digits] : {std::pair{"two ", "2 "}, std::pair{"four ", "4 "}, std::pair{"eight ", "8 "},
                                     std::pair{"Two ", "2 "}, std::pair{"Four ", "4 "}, std::pair{"Eight ", "8 "}})
    replace_all(text, word, digits);
  return text;
}

template <std::size_t N>
bool names_any(const std::string& text, const std::array<const char*, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

constexpr std::array kPerDevice{"per GPU", "per device", "per accelerator", "a GPU", "/GPU", "each GPU", "per chip"};

/// The rate with its unit, or a usual one behind a count: "4 x 200".
std::optional<StatedRate> rate_of(const std::string& text) {
  if (auto rate = stated_rate(text)) return rate;
  if (names_device_links(text)) return std::nullopt;
  static const std::regex kBare(R"(\d+\s*x\s*(10|25|40|50|56|100|200|400|800)(?![\w.]))");
  std::smatch match;
  if (!std::regex_search(text, match, kBare)) return std::nullopt;
  const std::size_t digits = static_cast<std::size_t>(match.position(1));
  return StatedRate{std::stod(match[1]), text.substr(0, digits), match.suffix().str()};
}

/// InfiniBand's generations, four lanes but where they say otherwise (InfiniBand Trade Association's roadmap). Only
/// with a count, or as many as GPUs, do they tell what a server has.
std::optional<StatedRate> generation(const std::string& text) {
  struct Generation {
    std::string_view name;
    double rate;
  };
  constexpr std::array kGenerations{Generation{"HDR100", 100}, Generation{"HDR200", 200}, Generation{"NDR200", 200},
                                    Generation{"NDR400", 400}, Generation{"FDR", 56},     Generation{"EDR", 100},
                                    Generation{"HDR", 200},    Generation{"NDR", 400},    Generation{"XDR", 800}};
  for (const Generation& one : kGenerations) {
    const std::size_t at = text.find(one.name);
    if (at == std::string::npos) continue;
    return StatedRate{one.rate, text.substr(0, at), text.substr(at + one.name.size())};
  }
  return std::nullopt;
}

std::optional<int> first_number(const std::string& text, const std::regex& pattern) {
  std::smatch match;
  if (!std::regex_search(text, match, pattern) || match[1].length() > 3) return std::nullopt;
  return std::stoi(match[1]);
}

/// "8 x", "8x ConnectX-7", "8 NICs of" before a rate; "x 8", "(8 per node)", "(1 NIC)" after it; "8 400 Gb/s NICs".
std::optional<int> stated_count(const StatedRate& rate) {
  static const std::regex kTimesBefore(R"((\d+)\s*x\s*(?:[A-Za-z][\w-]*\s+){0,3}$)");
  static const std::regex kNicsBefore(
      R"((\d+)\s+(?:[A-Za-z][\w-]*\s+){0,2}NICs?\s+(?:of|at|with|,)?\s*(?:[A-Za-z][\w-]*\s+){0,2}$)");
  static const std::regex kNumberBefore(R"((\d+)\s+(?:[A-Za-z][\w-]*\s+)?$)");
  static const std::regex kNicsAfter(R"(^[^0-9;,]{0,30}NICs?\b)");
  static const std::regex kTimesAfter(R"(^[^0-9;]{0,40}?\bx\s*(\d+)\b)");
  static const std::regex kCountAfter(
      R"(^[^0-9;]{0,40}?\(?(\d+)\s*(?:NICs?\b|(?:NICs?\s+)?(?:per|a|/)\s*(?:node|server|host|instance)))");
  if (const auto count = first_number(rate.before, kTimesBefore)) return count;
  if (const auto count = first_number(rate.before, kNicsBefore)) return count;
  if (std::regex_search(rate.after, kNicsAfter))
    if (const auto count = first_number(rate.before, kNumberBefore)) return count;
  if (const auto count = first_number(rate.after, kTimesAfter)) return count;
  return first_number(rate.after, kCountAfter);
}

}  // namespace

std::optional<StatedNetwork> network_of(const std::string& text, long gpus_per_node) {
  const bool rack = text.find("NVL") == 0 && text.find("NVLink") != 0;
  if (rack || text.find("DGX") == 0 || text.find("ICI") == 0) return std::nullopt;
  const std::string words = plain(text);
  const std::string_view kind = network_kind(words);
  if (const std::optional<StatedRate> rate = rate_of(words)) {
    if (rate->before.find(" or ") != std::string::npos) return std::nullopt;
    const std::optional<int> count = stated_count(*rate);
    const bool each = names_any(rate->after, kPerDevice) && !count;
    return StatedNetwork{each ? static_cast<int>(gpus_per_node) : count.value_or(1), rate->gbps, kind};
  }
  const std::optional<StatedRate> named = generation(words);
  if (!named) return std::nullopt;
  static const std::regex kBefore(R"((\d+)\s*x?\s*$)");
  std::optional<int> count = first_number(named->before, kBefore);
  if (!count) count = stated_count(*named);
  if (!count && names_any(named->after, kPerDevice)) count = static_cast<int>(gpus_per_node);
  if (!count) return std::nullopt;
  return StatedNetwork{*count, named->gbps, kind};
}

}  // namespace stepcast
