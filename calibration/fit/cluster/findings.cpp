#include "calibration/fit/cluster/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "calibration/fit/cluster/message_rates.hpp"
#include "calibration/fit/cluster/place_findings.hpp"

namespace stepcast {

namespace {

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

using Pairs = std::map<MessageEnds, ComparedRate>;

/// The best rate and the number of messages from, to, or from and to each end.
struct EndRates {
  ComparedRate best;
  int pairs = 0;
  void take(const ComparedRate& rate) {
    if (pairs++ == 0 || rate.share() > best.share()) best = rate;
  }
  [[nodiscard]] bool slow() const { return pairs > 1 && best.share() < kSlow; }
};

/// Names ends of which every message is slow, or every one that they send or receive, and removes their pairs.
void add_slow_ends(std::vector<std::string>& out, Pairs& pairs, const char* where) {
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
        end, which, where, rates.best.rate, rates.best.usual));
  };
  for (const auto& [end, rates] : all)
    if (rates.slow()) name(end, "to or from", rates, slow);
  for (const auto& [end, rates] : sent)
    if (rates.slow() && !slow.contains(end)) name(end, "from", rates, slow_to_send);
  for (const auto& [end, rates] : received)
    if (rates.slow() && !slow.contains(end)) name(end, "to", rates, slow_to_receive);
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
    const auto [best, fresh] = out.try_emplace({host_of(ends.first), host_of(ends.second)}, rate);
    if (!fresh && rate.share() > best->second.share()) best->second = rate;
  }
  return out;
}

/// Hosts that are slow as a whole, then their devices, then single ways: each fault once.
void add_slow_pairs(std::vector<std::string>& out, Pairs pairs, Ways ways) {
  const char* where = ways == Ways::between ? "between nodes" : "inside its node";
  if (ways == Ways::between) {
    Pairs left = between_hosts(pairs);
    add_slow_ends(out, left, where);
    std::erase_if(pairs, [&](const auto& pair) {
      return !left.contains({host_of(pair.first.first), host_of(pair.first.second)});
    });
  }
  add_slow_ends(out, pairs, where);
  for (const auto& [ends, rate] : pairs)
    if (rate.share() < kSlow)
      out.push_back(fmt::format("the way from {} to {} is slow: {:.3g} GB/s, others reach {:.3g}", ends.first,
                                ends.second, rate.rate, rate.usual));
}

/// Ways and their ways back, each two at the largest messages that went both.
void add_asymmetric_pairs(std::vector<std::string>& out, const MessageRates& rates) {
  std::set<MessageEnds> compared;
  for (const auto& [message, pairs] : rates)
    for (const auto& [ends, rate] : pairs) {
      const auto back = pairs.find({ends.second, ends.first});
      if (back == pairs.end() || ends.first > ends.second || !compared.insert(ends).second) continue;
      if (std::min(rate, back->second) < kAsymmetric * std::max(rate, back->second))
        out.push_back(fmt::format("asymmetric link: {:.3g} GB/s from {} to {}, {:.3g} back", rate, ends.first,
                                  ends.second, back->second));
    }
}

/// Copies of each device by the part of the host that they come from or go to, GB/s.
using DeviceCopies = std::map<std::string, std::map<std::string, double>>;

DeviceCopies copies_by_device(const PairRates& pairs, bool to_device) {
  DeviceCopies out;
  for (const auto& [ends, rate] : pairs)
    out[to_device ? ends.second : ends.first][to_device ? ends.first : ends.second] = rate;
  return out;
}

/// The part that a device's copies are quickest from or to, and their rate.
const std::pair<const std::string, double>& nearest_part(const std::map<std::string, double>& rates) {
  return *std::max_element(rates.begin(), rates.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

/// Names devices that are slow from every part of the host against others, each at its largest copies that others had.
std::set<std::string> add_slow_copies(std::vector<std::string>& out, const MessageRates& rates, const char* direction,
                                      bool to_device) {
  std::set<std::string> compared, slow;
  for (const auto& [message, pairs] : rates) {
    const DeviceCopies devices = copies_by_device(pairs, to_device);
    if (devices.size() < 2) continue;
    std::vector<double> best;
    for (const auto& [device, parts] : devices) best.push_back(nearest_part(parts).second);
    const double usual = quantile_of(best, 0.5);
    for (const auto& [device, parts] : devices) {
      const double rate = nearest_part(parts).second;
      if (!compared.insert(device).second || rate >= kSlow * usual) continue;
      slow.insert(device);
      out.push_back(
          fmt::format("{} {} at {:.3g} GB/s, other devices at {:.3g}: a narrow slot, or memory of the wrong "
                      "NUMA node",
                      device, direction, rate, usual));
    }
  }
  return slow;
}

/// Copies between host and devices: a device that is slow from every part of the host has a bad slot, one that is slow
/// from its own and quick from another is bound to the wrong one.
void add_copy_findings(std::vector<std::string>& out, const MessageRates& rates, const char* direction,
                       bool to_device) {
  std::set<std::string> done = add_slow_copies(out, rates, direction, to_device);
  for (const auto& [message, pairs] : rates)
    for (const auto& [device, parts] : copies_by_device(pairs, to_device)) {
      if (parts.size() < 2 || !done.insert(device).second) continue;
      const auto& [near, best] = nearest_part(parts);
      for (const auto& [part, rate] : parts)
        if (rate < kSlow * best)
          out.push_back(
              fmt::format("{} {} at {:.3g} GB/s from {} and {:.3g} from {}: bind its process to {} (wrong NUMA "
                          "binding otherwise)",
                          device, direction, rate, part, best, near, near));
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
    const MessageRates one_way = ping_pong_rates(files, "one_way", ways);
    Pairs both = compared_rates(ping_pong_rates(files, "both", ways)), single = compared_rates(one_way);
    add_slow_pairs(out, single.size() > both.size() ? std::move(single) : std::move(both), ways);
    add_asymmetric_pairs(out, one_way);
  }
  add_copy_findings(out, copy_rates(files, "host_to_device"), "is written", true);
  add_copy_findings(out, copy_rates(files, "device_to_host"), "is read", false);
  const MessageRates peers = copy_rates(files, "peer");
  add_slow_pairs(out, compared_rates(peers), Ways::inside);
  add_asymmetric_pairs(out, peers);
}

}  // namespace stepcast
