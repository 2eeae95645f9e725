#include "calibration/probes/common/slow_links.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace stepcast::probes {
namespace {

constexpr double kSlow = 1.4;  // twice the spread of healthy pairs in the published tables of ping-pongs
constexpr std::size_t kLeastPairs = 4;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Measured {
  std::string from, to;
  double us;
};

/// What pairs take that are not slow. One slow host of three makes most pairs slow, so the best are the measure.
double usual_time(const std::vector<Measured>& pairs) {
  std::vector<double> times, sound;
  for (const Measured& pair : pairs) times.push_back(pair.us);
  std::sort(times.begin(), times.end());
  const double best = times[times.size() / 10];
  for (const double us : times)
    if (us <= kSlow * best) sound.push_back(us);
  return median(std::move(sound));
}

std::string rate(double bytes, double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB/s", bytes / us / 1e3);
  return text;
}

}  // namespace

void name_slow_links(ResultFile& file) {
  // Messages one way alone: a round cannot tell which of its two ways is slow.
  std::map<std::pair<int, long>, std::vector<Measured>> kinds;
  for (const Json& row : file.results())
    if (row["kind"] == "ping_pong" && row.value("direction", "both") == "one_way")
      kinds[{row["nodes"].get<int>(), row["size_bytes"].get<long>()}].push_back(
          {row["from"], row["to"], median(row["samples_us"].get<std::vector<double>>())});
  for (const auto& [kind, pairs] : kinds) {
    if (pairs.size() < kLeastPairs) continue;
    const double usual = usual_time(pairs);
    const auto bytes = static_cast<double>(kind.second);
    for (const Measured& pair : pairs)
      if (pair.us > kSlow * usual)
        file.warn("slow link: " + pair.from + " to " + pair.to + " moves " + rate(bytes, pair.us) + ", others " +
                  rate(bytes, usual));
  }
}

}  // namespace stepcast::probes
