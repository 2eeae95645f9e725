#include "calibration/collectives/nic_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

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

std::optional<double> stated_gbps(const std::string& text) {
  static const std::regex kFigure(R"((\d+(?:\.\d+)?)\s*(?:gbit/s|gb/s|gbps|gbe|g)(?![a-z]))");
  std::smatch match;
  if (std::regex_search(text, match, kFigure)) return std::stod(match[1]);
  const auto named = std::find_if(kRates.begin(), kRates.end(),
                                  [&](const NamedRate& r) { return text.find(r.name) != std::string::npos; });
  if (named == kRates.end()) return std::nullopt;
  return named->gbps;
}

}  // namespace

StatedNics read_nics(std::string_view stated) {
  const std::string text = lower_case(stated);
  StatedNics out;
  // "8x", "8 x", and "8 ConnectX-7": a number before its unit is a rate.
  static const std::regex kCount(R"(^\s*(\d+)\s*(?:x|×|\s(?!\s*(?:g|gb|gbe|gbit|gbps)(?:\W|$))))");
  std::smatch match;
  if (std::regex_search(text, match, kCount)) out.count = std::stoi(match[1]);
  if (const auto gbps = stated_gbps(text)) out.bandwidth = BytesPerSecond(*gbps * 1e9 / 8);
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
