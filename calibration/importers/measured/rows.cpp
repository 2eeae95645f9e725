#include "calibration/importers/measured/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {
constexpr int kMostRanks = 1 << 20;
}

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::size_t decimals_of(std::string_view word) {
  const auto point = word.find('.');
  return point == std::string_view::npos ? 0 : word.size() - point - 1;
}

bool is_cut(const std::vector<std::string_view>& row) {
  return row.size() > 1 && decimals_of(row.back()) < decimals_of(row[row.size() - 2]);
}

bool is_prose(const std::vector<std::string_view>& words) {
  constexpr std::array<std::string_view, 7> kCells{"Pass", "Fail", "nan", "-nan", "inf", "-inf", "N/A"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    const bool letter = std::isalpha(static_cast<unsigned char>(word.front())) != 0;
    return letter && std::find(kCells.begin(), kCells.end(), word) == kCells.end();
  });
}

MeasuredPlaces places_of(const std::vector<std::string>& host_of_rank, const MeasuredHints& hints,
                         const std::string& at, Diagnostics& diagnostics) {
  std::map<std::string, int> on_host;
  for (const std::string& host : host_of_rank) ++on_host[host];
  MeasuredPlaces listed{static_cast<int>(host_of_rank.size()), static_cast<int>(on_host.size()), 0};
  for (const auto& [host, ranks] : on_host) listed.per_node = std::max(listed.per_node, ranks);
  if (listed.ranks > 0) {
    if ((hints.ranks > 0 && hints.ranks != listed.ranks) || (hints.per_node > 0 && hints.per_node != listed.per_node)) {
      diagnostics.error(at,
                        fmt::format("its list of devices has {} ranks, {} a node, and the options say others",
                                    listed.ranks, listed.per_node),
                        "leave out --ranks and --ranks-per-node");
      return {};
    }
    return listed;
  }
  if (hints.ranks < 1 || hints.ranks > kMostRanks) {
    diagnostics.error(at, "the file lists no ranks", "say how many took part: --ranks 16 --ranks-per-node 8");
    return {};
  }
  const int per_node = hints.per_node > 0 ? hints.per_node : hints.ranks;
  if (hints.ranks % per_node != 0) {
    diagnostics.error("--ranks-per-node", fmt::format("{} ranks do not fill nodes of {}", hints.ranks, per_node),
                      "a number that --ranks is a multiple of");
    return {};
  }
  return {hints.ranks, hints.ranks / per_node, per_node};
}

Json collective_row(const std::string& op, double size, const MeasuredPlaces& places, bool in_place,
                    const std::string& type, std::vector<double> samples) {
  return {{"kind", "collective"},
          {"op", op},
          {"size_bytes", static_cast<std::int64_t>(size)},
          {"ranks", places.ranks},
          {"nodes", places.nodes},
          {"ranks_per_node", places.per_node},
          {"in_place", in_place},
          {"algorithm", "auto"},
          {"protocol", "auto"},
          {"data_type", type},
          {"samples_us", std::move(samples)},
          {"checked", false}};
}

Json ping_pong_row(double size, int nodes, double time_us) {
  return {{"kind", "ping_pong"},     {"size_bytes", static_cast<std::int64_t>(size)},
          {"nodes", nodes},          {"transport", "mpi"},
          {"samples_us", {time_us}}, {"checked", false}};
}

double figure(const Json& object, const char* key, double otherwise) {
  return object.is_object() && object.contains(key) && object[key].is_number() ? object[key].get<double>() : otherwise;
}

std::string words(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

}  // namespace stepcast
