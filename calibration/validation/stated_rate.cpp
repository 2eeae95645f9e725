#include "calibration/validation/stated_rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <vector>

namespace stepcast {

namespace {

constexpr std::array kDeviceLinks{"NVLink", "NVSwitch", "Infinity", "PCIe", "ICI", "xGMI", "IPU-Link", "HCCS"};

/// What one of a unit is in Gb/s; first come those that go first.
struct RateUnit {
  const char* pattern;
  double gbps;
  bool bytes;
};
constexpr double kBitsInByte = 8, kBinaryGiga = 1.073741824;
constexpr std::array kUnits{
    RateUnit{R"([Gg](?:[Bb][Ee]|b(?:/s|ps)?|[Bb]its?(?:/s|ps)?)?)", 1, false},
    RateUnit{R"([Tt](?:b/s|bps|[Bb]its?/s))", 1000, false},
    RateUnit{R"([Gg](?:B|[Bb]ytes?)(?:/s|ps))", kBitsInByte, true},
    RateUnit{R"(GiB/s)", kBitsInByte* kBinaryGiga, true},
};

const std::regex& pattern_of(std::size_t unit) {
  static const std::vector<std::regex> kPatterns = [] {
    std::vector<std::regex> out;
    for (const RateUnit& one : kUnits)
      out.emplace_back(fmt::format(R"((\d+(?:\.\d+)?)\s*{}(?![A-Za-z]))", one.pattern));
    return out;
  }();
  return kPatterns[unit];
}

}  // namespace

bool names_device_links(const std::string& text) {
  return std::any_of(kDeviceLinks.begin(), kDeviceLinks.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

std::optional<StatedRate> stated_rate(const std::string& text) {
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    std::smatch match;
    if (kUnits[i].bytes && names_device_links(text)) continue;
    if (std::regex_search(text, match, pattern_of(i)))
      return StatedRate{std::stod(match[1]) * kUnits[i].gbps, match.prefix().str(), match.suffix().str()};
  }
  return std::nullopt;
}

}  // namespace stepcast
