#include "calibration/fit/cluster/message_rates.hpp"

#include <algorithm>
#include <set>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/fit/cluster/rate_fit.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kFewestPairs = 3;

bool several_hosts(const std::vector<ProbeResults>& files) {
  std::set<std::string> hosts;
  for (const ProbeResults& file : files) hosts.insert(file.host());
  return hosts.size() > 1;
}

void take(MessageRates& rates, const Json& row, std::string how, MessageEnds ends) {
  const double size = row["size_bytes"].get<double>(), us = median_us(row);
  double& best = rates[{size, std::move(how)}][std::move(ends)];
  if (us > 0) best = std::max(best, size / us / 1e3);
}

/// What pairs reach that are not slow. One slow host of three makes most pairs slow, so the best are the measure.
double usual_rate(const PairRates& pairs) {
  std::vector<double> rates, sound;
  for (const auto& [ends, rate] : pairs) rates.push_back(rate);
  const double best = quantile_of(rates, kBestRows);
  for (const double rate : rates)
    if (rate >= kSlow * best) sound.push_back(rate);
  return quantile_of(std::move(sound), 0.5);
}

}  // namespace

MessageRates ping_pong_rates(const std::vector<ProbeResults>& files, const std::string& direction, Ways ways) {
  MessageRates out;
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (row["kind"] != "ping_pong" || !row.contains("from") || !row.contains("to")) continue;
      if (row.value("direction", "both") != direction) continue;
      if ((row.value("nodes", 1) > 1) != (ways == Ways::between)) continue;
      take(out, row, row.value("transport", ""), {row["from"].get<std::string>(), row["to"].get<std::string>()});
    }
  return out;
}

MessageRates copy_rates(const std::vector<ProbeResults>& files, const std::string& op) {
  MessageRates out;
  const bool named = several_hosts(files);
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (row["kind"] != "copy" || row["op"] != op || !row.contains("from") || !row.contains("to")) continue;
      const auto end = [&](const char* key) { return (named ? file.host() + ":" : "") + row[key].get<std::string>(); };
      take(out, row, row.value("pinned", true) ? "pinned" : "", {end("from"), end("to")});
    }
  return out;
}

std::map<MessageEnds, ComparedRate> compared_rates(const MessageRates& rates) {
  std::map<MessageEnds, ComparedRate> out;
  for (const auto& [message, pairs] : rates) {
    if (pairs.size() < kFewestPairs) continue;
    const double usual = usual_rate(pairs);
    for (const auto& [ends, rate] : pairs) out.try_emplace(ends, ComparedRate{rate, usual});
  }
  return out;
}

}  // namespace stepcast
