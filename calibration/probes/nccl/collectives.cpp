#include "calibration/probes/nccl/collectives.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/common/slow_links.hpp"

namespace stepcast::probes {
namespace {

constexpr double kSample_us = 1000;  // long against the gaps between launches
constexpr int kMostCalls = 50;

std::vector<EventTimer> timers_on(const std::vector<LocalRank>& ranks) {
  std::vector<EventTimer> out;
  out.reserve(ranks.size());
  for (const LocalRank& rank : ranks) out.emplace_back(*rank.device);
  return out;
}

Json row_of(const Ranks& ranks, const std::string& op, std::int64_t size, bool in_place, const NcclMeasured& measured) {
  Json row{{"kind", "collective"},
           {"op", op},
           {"size_bytes", size},
           {"ranks", ranks.size()},
           {"nodes", ranks.hosts().size()},
           {"ranks_per_node", ranks.ranks_per_node()},
           {"in_place", in_place},
           {"algorithm", "auto"},
           {"protocol", "auto"},
           {"data_type", "float32"},
           {"samples_us", samples_json(measured.samples_us)}};
  if (measured.calls > 1) row["calls_per_sample"] = measured.calls;
  row["across_ranks"] = "max";
  row["checked"] = true;
  return row;
}

/// All sizes and places of one op with the communicators as they are.
void probe_op(Ranks& ranks, const std::string& op, const NcclRequest& request, const std::string& algorithm,
              const std::string& protocol, const PowerSampler& power, ResultFile& file) {
  for (const bool in_place : {false, true}) {
    const bool other_only = !NcclCall::has_place(op, !in_place);
    if (!NcclCall::has_place(op, in_place) || !(other_only || (in_place ? request.in_place : request.out_of_place)))
      continue;
    std::int64_t last = 0;
    for (const std::int64_t size : request.sizes) {
      const NcclCall call(ranks, op, size, in_place);
      if (call.size_bytes() == last) continue;
      last = call.size_bytes();
      call.fill();
      call.run(ranks.local());
      ranks.wait(ranks.local());
      call.require_right();
      const double since = now_us();
      const NcclMeasured measured = measure_on(ranks, ranks.local(), request.samples, [&] { call.run(ranks.local()); });
      Json row = row_of(ranks, op, last, in_place, measured);
      row["algorithm"] = algorithm;
      row["protocol"] = protocol;
      power.describe(row, since);
      file.add(std::move(row));
    }
  }
}

}  // namespace

NcclMeasured measure_on(Ranks& ranks, const std::vector<LocalRank>& on, int samples,
                        const std::function<void()>& enqueue) {
  std::vector<EventTimer> timers = timers_on(on);
  const auto timed = [&](int calls) {
    ranks.barrier();
    ranks.wait(ranks.local());
    for (std::size_t i = 0; i < on.size(); ++i) timers[i].begin((on[i].device->use(), on[i].stream));
    for (int i = 0; i < calls; ++i) enqueue();
    for (std::size_t i = 0; i < on.size(); ++i) timers[i].end((on[i].device->use(), on[i].stream));
    double longest = 0;
    for (std::size_t i = 0; i < on.size(); ++i) {
      on[i].device->use();
      longest = std::max(longest, timers[i].elapsed_us());
    }
    return longest / calls;
  };
  timed(2);
  std::vector<double> once{timed(1)};
  ranks.largest(once);
  NcclMeasured out;
  out.calls = static_cast<int>(std::clamp(std::ceil(kSample_us / std::max(once[0], 0.1)), 1.0, double{kMostCalls}));
  for (int i = 0; i < samples; ++i) out.samples_us.push_back(timed(out.calls));
  ranks.largest(out.samples_us);
  return out;
}

void probe_nccl_collectives(Ranks& ranks, const NcclRequest& request, const PowerSampler& power, ResultFile& file) {
  for (const std::string& algorithm : request.algorithms)
    for (const std::string& protocol : request.protocols) {
      const bool chosen = algorithm != "auto" || protocol != "auto";
      if (chosen || request.algorithms.size() * request.protocols.size() > 1) ranks.reconnect(algorithm, protocol);
      for (const std::string& op : request.ops) {
        // Messages between ranks have no algorithm; they are measured once.
        if (chosen && (op == "all_to_all" || op == "send_recv")) continue;
        const std::size_t rows = file.results().size();
        try {
          probe_op(ranks, op, request, algorithm, protocol, power, file);
        } catch (const Fault& fault) {
          const bool refused = chosen && std::string(fault.what()).find("NCCL error") != std::string::npos &&
                               file.results().size() == rows;
          if (!refused) throw;
          std::string refusal = op;
          refusal.append(" with algorithm ").append(algorithm).append(", protocol ").append(protocol);
          if (ranks.first()) file.warn(refusal.append(" is left out: ").append(fault.what()));
          ranks.reconnect(algorithm, protocol);
        }
      }
    }
}

void probe_nccl_pairs(Ranks& ranks, std::int64_t size_bytes, int samples, ResultFile& file) {
  constexpr int kMostRanks = 16;
  const NcclLibrary& nccl = ranks.nccl();
  std::vector<DeviceBuffer> buffers;
  for (const LocalRank& rank : ranks.local()) buffers.emplace_back(*rank.device, static_cast<std::size_t>(size_bytes));
  for (int from = 0; from < std::min(ranks.size(), kMostRanks); ++from)
    for (int to = 0; to < std::min(ranks.size(), kMostRanks); ++to) {
      if (from == to) continue;
      const NcclMeasured measured = measure_on(ranks, ranks.local(), samples, [&] {
        std::size_t index = 0;
        ranks.each(
            ranks.local(),
            [&](const LocalRank& rank) {
              void* bytes = buffers[index++].pointer();
              constexpr int kByte = static_cast<int>(NcclType::int8);
              if (rank.rank == from)
                return nccl.send(bytes, static_cast<std::size_t>(size_bytes), kByte, to, rank.communicator,
                                 rank.stream);
              if (rank.rank == to)
                return nccl.receive(bytes, static_cast<std::size_t>(size_bytes), kByte, from, rank.communicator,
                                    rank.stream);
              return 0;
            },
            "a message between two ranks");
      });
      Json row{{"kind", "ping_pong"},
               {"size_bytes", size_bytes},
               {"nodes", ranks.node_of(from) == ranks.node_of(to) ? 1 : 2},
               {"from", ranks.name_of(from)},
               {"to", ranks.name_of(to)},
               {"direction", "one_way"},
               {"transport", "nccl"},
               {"samples_us", samples_json(measured.samples_us)},
               {"calls_per_sample", measured.calls},
               {"checked", false}};
      file.add(std::move(row));
    }
  if (ranks.first()) name_slow_links(file);
}

}  // namespace stepcast::probes
