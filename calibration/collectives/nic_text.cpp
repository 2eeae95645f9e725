#include "calibration/collectives/nic_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <vector>

#include "calibration/validation/stated_rate.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Names that stand for a rate in Gb/s; the first that the text holds decides. Generic adapters come last, for a text
/// that says more is more precise.
struct NamedRate {
  std::string_view name;
  double gbps;
};
constexpr std::array kRates{
    NamedRate{"xdr", 800},          NamedRate{"ndr200", 200},       NamedRate{"ndr", 400},
    NamedRate{"hdr100", 100},       NamedRate{"hdr", 200},          NamedRate{"edr", 100},
    NamedRate{"fdr", 56},           NamedRate{"qdr", 40},           NamedRate{"slingshot 11", 200},
    NamedRate{"slingshot-11", 200}, NamedRate{"slingshot 10", 100}, NamedRate{"slingshot-10", 100},
    NamedRate{"omni-path", 100},    NamedRate{"opa", 100},          NamedRate{"connectx-8", 800},
    NamedRate{"connectx-7", 400},   NamedRate{"bluefield-3", 400},  NamedRate{"connectx-6", 200},
    NamedRate{"bluefield-2", 200},  NamedRate{"connectx-5", 100},   NamedRate{"connectx-4", 100},
    NamedRate{"efa", 100},
};

struct NamedKind {
  std::string_view name;
  NetworkKind kind;
};
constexpr std::array kKinds{
    NamedKind{"tcp", NetworkKind::ethernet_tcp},
    NamedKind{"socket", NetworkKind::ethernet_tcp},
    NamedKind{"efa", NetworkKind::efa},
    NamedKind{"slingshot", NetworkKind::slingshot},
    NamedKind{"cassini", NetworkKind::slingshot},
    NamedKind{"roce", NetworkKind::ethernet_rdma},
    NamedKind{"rdma", NetworkKind::ethernet_rdma},
    NamedKind{"infiniband", NetworkKind::infiniband},
    NamedKind{"omni-path", NetworkKind::omni_path},
    NamedKind{"opa", NetworkKind::omni_path},
    NamedKind{"ndr", NetworkKind::infiniband},
    NamedKind{"hdr", NetworkKind::infiniband},
    NamedKind{"edr", NetworkKind::infiniband},
    NamedKind{"fdr", NetworkKind::infiniband},
    NamedKind{"xdr", NetworkKind::infiniband},
    NamedKind{" ib", NetworkKind::infiniband},
    NamedKind{"bluefield", NetworkKind::ethernet_rdma},
    NamedKind{"ethernet", NetworkKind::ethernet_tcp},
    NamedKind{"gbe", NetworkKind::ethernet_tcp},
};

/// A number that stands alone, behind a count at most, is no rate of NICs unless it is one in Gb/s that NICs or servers
/// have: "EFA 3200".
constexpr std::array kUsualGbps{10.0, 25.0, 40.0, 50.0, 56.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0};

/// Numbers of a text without a unit that are no count and no part of a name.
std::vector<double> bare_numbers(std::string text) {
  // "ConnectX-7", "BlueField-3", "Slingshot 11", "HDR200", "v2"; "8x", "x8" and the number that a text begins with.
  static const std::regex kNames(R"((?:connectx|bluefield|slingshot|cassini)[\s-]*\d+|[a-z]+\d+)");
  static const std::regex kCounts(
      R"((?:^|[^a-z\d.])\d+\s*(?:x|×)|(?:^|\s)(?:x|×)\s*\d+\b|^\s*(?:[12]?\d|3[0-2])\s+(?=[a-z]))");
  text = std::regex_replace(std::regex_replace(text, kNames, " "), kCounts, " ");
  static const std::regex kNumber(R"((?:^|[^\w.-])(\d+(?:\.\d+)?)(?![\w.]))");
  std::vector<double> out;
  for (std::sregex_iterator at(text.begin(), text.end(), kNumber), end; at != end; ++at)
    out.push_back(std::stod((*at)[1]));
  return out;
}

/// What numbers without a unit say: one usual rate, else nothing.
std::optional<double> usual_rate(const std::vector<double>& numbers) {
  if (numbers.size() != 1) return std::nullopt;
  const bool usual = std::find(kUsualGbps.begin(), kUsualGbps.end(), numbers.front()) != kUsualGbps.end();
  return usual ? std::optional(numbers.front()) : std::nullopt;
}

/// Without numbers in units that no rate of NICs has: "25 GB", "200 GBPS", "16 GT/s", and "900 GB/s" of NVLink.
std::string without_other_units(const std::string& text) {
  static const std::regex kOther(R"(\d+(?:\.\d+)?\s*(?:[kmgt]i?b(?:it|yte)?s?|gt)(?:ps|/s)?(?![a-z]))");
  return std::regex_replace(text, kOther, " ");
}

/// `text` is `stated` in lower case, in which bits and bytes look alike.
std::optional<double> stated_gbps(const std::string& stated, const std::string& text) {
  if (const auto rate = stated_rate(stated)) return rate->gbps;
  const std::string rest = without_other_units(text);
  if (rest != text && !names_device_links(stated)) return std::nullopt;
  if (const std::vector<double> numbers = bare_numbers(rest); !numbers.empty()) return usual_rate(numbers);
  const auto named = std::find_if(kRates.begin(), kRates.end(),
                                  [&](const NamedRate& r) { return text.find(r.name) != std::string::npos; });
  if (named == kRates.end()) return std::nullopt;
  return named->gbps;
}

/// NICs that a text counts: "8x" or "8 x" wherever it stands, "x8", and "8 ConnectX-7" up to 32, but no number before
/// its unit, which is a rate.
std::optional<int> stated_count(const std::string& text) {
  static const std::regex kBefore(R"((?:^|[^\w.])(\d{1,3})\s*(?:x|×))");
  static const std::regex kBehind(R"(\s(?:x|×)\s*(\d{1,3})(?!\s*[gt](?:i?b|be|bits?|i?bps)?(?:\W|$))\b)");
  static const std::regex kFirst(R"(^\s*([12]?\d|3[0-2])\s(?!\s*[gt](?:i?b|be|bits?|i?bps)?(?:\W|$)))");
  std::smatch match;
  for (const std::regex* pattern : {&kBefore, &kBehind, &kFirst})
    if (std::regex_search(text, match, *pattern)) return std::stoi(match[1]);
  return std::nullopt;
}

}  // namespace

StatedNics read_nics(std::string_view stated) {
  const std::string text = lower_case(stated);
  StatedNics out;
  const std::optional<int> count = stated_count(text);
  out.count = count.value_or(1);
  // "8x 400G (one per GPU)" has counted those of the node.
  out.per_device = contains(text, "per gpu") && !(count && contains(text, "one per gpu"));
  if (const auto gbps = stated_gbps(std::string(stated), text)) out.bandwidth = BytesPerSecond(*gbps * 1e9 / 8);
  const auto named = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const NamedKind& k) { return text.find(k.name) != std::string::npos; });
  if (named != kKinds.end()) {
    out.kind = named->kind;
    out.known_kind = true;
  }
  if (text.find("tcpx") != std::string::npos)
    out.direct_to_device_tcp = text.find("tcpxo") != std::string::npos ? "tcpxo" : "tcpx";
  out.per_tray = text.find("per tray") != std::string::npos;
  return out;
}

}  // namespace stepcast
