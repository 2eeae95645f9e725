#include "calibration/fit/cluster/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "calibration/fit/cluster/place_findings.hpp"
#include "calibration/fit/cluster/rate_fit.hpp"

namespace stepcast {

namespace {

// A pair or a device is slow when it gets so little of what the others get; healthy ones agree within a few per cent
// (VLT-B200's own NICs: 42.5 to 48.4 GB/s, collectives-multinode.csv).
constexpr double kSlow = 0.8;
// Directions of one link differ by so much.
constexpr double kAsymmetric = 0.85;
// Of the expected rate that the cluster as a whole reaches.
constexpr double kFarBelow = 0.6;
// Of the library's own choice that a forced one takes.
constexpr double kBetterForced = 0.75;
// LL is at least twice as quick to start as Simple (NCCL's tables, docs/sources.md).
constexpr double kLlMissing = 2.0;
constexpr double kBulk = 16 << 20;
constexpr double kSmall = 4096;

struct Variable {
  std::string_view name, value, says;
};
// Documented in NCCL's and Open MPI's manuals. An empty value: any that is set.
constexpr std::array kVariables{
    Variable{"NCCL_P2P_DISABLE", "1", "direct copies between the GPUs of a node are off (NCCL_P2P_DISABLE=1)"},
    Variable{"NCCL_SHM_DISABLE", "1", "shared memory between GPUs of a node is off (NCCL_SHM_DISABLE=1)"},
    Variable{"NCCL_IB_DISABLE", "1", "InfiniBand and RoCE are off (NCCL_IB_DISABLE=1): traffic takes TCP sockets"},
    Variable{"NCCL_NVLS_ENABLE", "0", "sums in the NVLink switch are off (NCCL_NVLS_ENABLE=0)"},
    Variable{"NCCL_NET", "Socket", "the network is forced to TCP sockets (NCCL_NET=Socket)"},
    Variable{"NCCL_PROTO", "", "the protocol is restricted (NCCL_PROTO)"},
    Variable{"NCCL_ALGO", "", "the algorithm is restricted (NCCL_ALGO)"},
    Variable{"NCCL_NET_GDR_LEVEL", "0", "GPUs do not meet NICs directly (NCCL_NET_GDR_LEVEL=0)"},
};

double bandwidth_GBps(const Json& row) {
  const double median = median_us(row);
  return median > 0 ? row["size_bytes"].get<double>() / median / 1e3 : 0;
}

/// Rates of the largest messages between named ends, GB/s.
using Pairs = std::map<std::pair<std::string, std::string>, double>;

/// Which of them: inside of a node or between nodes, where a row says it.
enum class Ways { any, inside, between };

Pairs largest_messages(const std::vector<ProbeResults>& files, const char* kind, const char* op,
                       const char* direction = nullptr, Ways ways = Ways::any) {
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> largest;
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (row["kind"] != kind || (op != nullptr && row["op"] != op) || !row.contains("from") || !row.contains("to"))
        continue;
      if (direction != nullptr && row.value("direction", "both") != direction) continue;
      if (ways != Ways::any && (row.value("nodes", 1) > 1) != (ways == Ways::between)) continue;
      auto& [size, rate] = largest[{row["from"].get<std::string>(), row["to"].get<std::string>()}];
      if (row["size_bytes"].get<double>() < size) continue;
      size = row["size_bytes"].get<double>();
      rate = bandwidth_GBps(row);
    }
  Pairs out;
  for (const auto& [ends, found] : largest) out[ends] = found.second;
  return out;
}

/// What pairs reach that are not slow. One slow host of three makes most pairs slow, so the best are the measure.
double usual_rate(const Pairs& pairs) {
  std::vector<double> rates, sound;
  for (const auto& [ends, rate] : pairs) rates.push_back(rate);
  const double best = quantile_of(rates, kBestRows);
  for (const double rate : rates)
    if (rate >= kSlow * best) sound.push_back(rate);
  return quantile_of(std::move(sound), 0.5);
}

/// The best rate and the number of messages from, to, or from and to each end.
struct EndRates {
  double best = 0;
  int pairs = 0;
  void take(double rate) {
    best = std::max(best, rate);
    ++pairs;
  }
  [[nodiscard]] bool slow(double usual) const { return pairs > 1 && best < kSlow * usual; }
};

/// Names ends of which every message is slow, or every one that they send or receive, and removes their pairs.
void add_slow_ends(std::vector<std::string>& out, Pairs& pairs, double usual, const char* where) {
  std::map<std::string, EndRates> sent, received, all;
  for (const auto& [ends, rate] : pairs) {
    sent[ends.first].take(rate);
    received[ends.second].take(rate);
    for (const std::string& end : {ends.first, ends.second}) all[end].take(rate);
  }
  std::set<std::string> slow, slow_to_send, slow_to_receive;
  const auto name = [&](const std::string& end, const char* which, const EndRates& rates, std::set<std::string>& to) {
    to.insert(end);
    out.push_back(fmt::format(
        "{} is slow: no message {} it {} passes {:.3g} GB/s, others reach {:.3g}: a slow NIC, link or port, or its "
        "slot or cable",
        end, which, where, rates.best, usual));
  };
  for (const auto& [end, rates] : all)
    if (rates.slow(usual)) name(end, "to or from", rates, slow);
  for (const auto& [end, rates] : sent)
    if (rates.slow(usual) && !slow.contains(end)) name(end, "from", rates, slow_to_send);
  for (const auto& [end, rates] : received)
    if (rates.slow(usual) && !slow.contains(end)) name(end, "to", rates, slow_to_receive);
  std::erase_if(pairs, [&](const auto& pair) {
    const auto& [from, to] = pair.first;
    return slow.contains(from) || slow.contains(to) || slow_to_send.contains(from) || slow_to_receive.contains(to);
  });
}

std::string host_of(const std::string& end) { return end.substr(0, end.find(':')); }

/// The best rate between each two hosts.
Pairs between_hosts(const Pairs& pairs) {
  Pairs out;
  for (const auto& [ends, rate] : pairs) {
    double& best = out[{host_of(ends.first), host_of(ends.second)}];
    best = std::max(best, rate);
  }
  return out;
}

/// Hosts that are slow as a whole, then their devices, then single ways: each fault once.
void add_slow_pairs(std::vector<std::string>& out, Pairs pairs, Ways ways) {
  if (pairs.size() < 3) return;
  const double usual = usual_rate(pairs);
  const char* where = ways == Ways::between ? "between nodes" : "inside its node";
  if (ways == Ways::between) {
    Pairs left = between_hosts(pairs);
    add_slow_ends(out, left, usual, where);
    std::erase_if(pairs, [&](const auto& pair) {
      return !left.contains({host_of(pair.first.first), host_of(pair.first.second)});
    });
  }
  add_slow_ends(out, pairs, usual, where);
  for (const auto& [ends, rate] : pairs)
    if (rate < kSlow * usual)
      out.push_back(fmt::format("the way from {} to {} is slow: {:.3g} GB/s, others reach {:.3g}", ends.first,
                                ends.second, rate, usual));
}

void add_asymmetric_pairs(std::vector<std::string>& out, const Pairs& pairs) {
  for (const auto& [ends, rate] : pairs) {
    const auto back = pairs.find({ends.second, ends.first});
    if (back == pairs.end() || ends.first > ends.second) continue;
    if (std::min(rate, back->second) < kAsymmetric * std::max(rate, back->second))
      out.push_back(fmt::format("asymmetric link: {:.3g} GB/s from {} to {}, {:.3g} back", rate, ends.first,
                                ends.second, back->second));
  }
}

/// Copies between host and devices: a device that is slow from every part of the host has a bad slot, one that is slow
/// from its own and quick from another is bound to the wrong one.
void add_copy_findings(std::vector<std::string>& out, const Pairs& pairs, const char* direction, bool to_device) {
  if (pairs.size() < 2) return;
  std::map<std::string, std::map<std::string, double>> by_device;
  std::vector<double> best_rates;
  for (const auto& [ends, rate] : pairs)
    by_device[to_device ? ends.second : ends.first][to_device ? ends.first : ends.second] = rate;
  for (const auto& [device, rates] : by_device) {
    double best = 0;
    for (const auto& [part, rate] : rates) best = std::max(best, rate);
    best_rates.push_back(best);
  }
  const double usual = quantile_of(best_rates, 0.5);
  for (const auto& [device, rates] : by_device) {
    const auto near =
        std::max_element(rates.begin(), rates.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (near->second < kSlow * usual) {
      out.push_back(
          fmt::format("{} {} at {:.3g} GB/s, other devices at {:.3g}: a narrow slot, or memory of the wrong "
                      "NUMA node",
                      device, direction, near->second, usual));
      continue;
    }
    for (const auto& [part, rate] : rates)
      if (rate < kSlow * near->second)
        out.push_back(
            fmt::format("{} {} at {:.3g} GB/s from {} and {:.3g} from {}: bind its process to {} (wrong NUMA "
                        "binding otherwise)",
                        device, direction, rate, part, near->second, near->first, near->first));
  }
}

void add_variables(std::vector<std::string>& out, const std::vector<ProbeResults>& files) {
  std::set<std::string> said;
  for (const ProbeResults& file : files) {
    const Json& environment = file.document["environment"];
    if (!environment.contains("variables")) continue;
    for (const Variable& variable : kVariables) {
      const auto set = environment["variables"].find(variable.name);
      if (set == environment["variables"].end() || set->get<std::string>().empty()) continue;
      const std::string value = set->get<std::string>();
      if (!variable.value.empty() && value != variable.value) continue;
      std::string text = fmt::format("protocol or path disabled: {}", variable.says);
      if (variable.value.empty()) text += " to " + value;
      if (said.insert(text).second) out.push_back(std::move(text));
    }
  }
}

/// Rows by place, collective and size, asked for in different ways.
void add_forced_findings(std::vector<std::string>& out, const std::vector<ClusterRow>& rows) {
  std::map<std::tuple<CollectiveKind, int, int, double>, const ClusterRow*> own;
  for (const ClusterRow& row : rows)
    if (row.chosen()) own[{row.kind, row.place.ranks, row.place.per_node, row.place.size.value()}] = &row;
  std::map<std::string, std::vector<const ClusterRow*>> better;
  for (const ClusterRow& row : rows) {
    if (row.asked.empty()) continue;
    const auto found = own.find({row.kind, row.place.ranks, row.place.per_node, row.place.size.value()});
    if (found != own.end() && row.median_us < kBetterForced * found->second->median_us)
      better[fmt::format("{} on {} ranks by {}", name_of(row.kind), row.place.ranks, row.asked)].push_back(&row);
  }
  for (const auto& [words, found] : better)
    out.push_back(
        fmt::format("{} beats the library's own choice by a quarter and more at {} size{} from {:.0f} bytes on: "
                    "the library chooses badly, or may not choose it",
                    words, found.size(), found.size() == 1 ? "" : "s", found.front()->place.size.value()));
}

}  // namespace

void add_collective_findings(CalibrationProfile& profile, const ClusterFit& fit, const std::vector<ClusterRow>& rows) {
  add_forced_findings(profile.findings, rows);
  for (std::size_t i = 0; i < fit.constants.size(); ++i) {
    const ClusterConstant& c = fit.constants[i];
    const bool rate = c.key == "wire_share" || c.key == "ring_share" || c.key.ends_with("rail_GBps");
    if (rate && fit.values[i] < kFarBelow * c.prior)
      profile.findings.push_back(
          fmt::format("{} is {:.3g}, the catalogue expects {:.3g}: links far below their rate (a slow or missing NIC, "
                      "sockets instead of RDMA, or another rate than the node's)",
                      c.key, fit.values[i], c.prior));
  }
  for (std::string& finding : place_findings(fit, rows)) profile.findings.push_back(std::move(finding));
  if (fit.model.host) return;
  // Small messages against what the catalogue's constants say of the quick protocol.
  std::vector<double> ratios;
  std::vector<ClusterRow> small;
  for (const ClusterRow& row : rows)
    if (row.chosen() && row.place.size.value() <= kSmall && row.kind != CollectiveKind::send_recv) small.push_back(row);
  ClusterModel kind = fit.model;
  for (const ClusterConstant& constant : fit.constants) constant.set(kind, constant.prior);
  std::vector<double> times;
  kind.predict(small, times);
  for (std::size_t i = 0; i < small.size(); ++i) ratios.push_back(small[i].median_us / times[i]);
  if (ratios.size() >= 3 && quantile_of(ratios, 0.5) > kLlMissing)
    profile.findings.push_back(
        fmt::format("small messages take {:.1f} times what such machines take: the LL protocol may be disabled, or the "
                    "host is slow to launch",
                    quantile_of(ratios, 0.5)));
}

void add_file_findings(CalibrationProfile& profile, const std::vector<ProbeResults>& files) {
  std::vector<std::string>& out = profile.findings;
  add_variables(out, files);
  // Links inside of nodes are many times as quick as those between them: each is measured against its own kind.
  for (const Ways ways : {Ways::inside, Ways::between}) {
    const Pairs both = largest_messages(files, "ping_pong", nullptr, "both", ways);
    const Pairs one_way = largest_messages(files, "ping_pong", nullptr, "one_way", ways);
    add_slow_pairs(out, one_way.size() > both.size() ? one_way : both, ways);
    add_asymmetric_pairs(out, one_way);
  }
  add_copy_findings(out, largest_messages(files, "copy", "host_to_device"), "is written", true);
  add_copy_findings(out, largest_messages(files, "copy", "device_to_host"), "is read", false);
  const Pairs peers = largest_messages(files, "copy", "peer");
  add_slow_pairs(out, peers, Ways::inside);
  add_asymmetric_pairs(out, peers);
}

}  // namespace stepcast
