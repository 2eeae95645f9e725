#include "calibration/importers/measured/nccl_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

// Programs of nccl-tests by name, without `_perf`; the longer first, for `all_reduce` holds `reduce`. Those of no
// collective here have none.
constexpr std::array kNcclPrograms{NamePair{"all_reduce", "all_reduce"},
                                   NamePair{"all_gather", "all_gather"},
                                   NamePair{"reduce_scatter", "reduce_scatter"},
                                   NamePair{"alltoallv", ""},
                                   NamePair{"alltoall", "all_to_all"},
                                   NamePair{"all_to_all", "all_to_all"},
                                   NamePair{"broadcast", "broadcast"},
                                   NamePair{"sendrecv", "send_recv"},
                                   NamePair{"send_recv", "send_recv"},
                                   NamePair{"hypercube", ""},
                                   NamePair{"gather", ""},
                                   NamePair{"scatter", ""},
                                   NamePair{"reduce", "reduce"}};
// Types of nccl-tests' and rccl-tests' tables.
constexpr std::array kNcclTypes{
    NamePair{"float", "float32"},     NamePair{"half", "float16"}, NamePair{"double", "float64"},
    NamePair{"bfloat16", "bfloat16"}, NamePair{"int8", "int8"},    NamePair{"uint8", "uint8"},
    NamePair{"int32", "int32"},       NamePair{"uint32", "int32"}, NamePair{"int64", "int64"},
    NamePair{"uint64", "int64"},      NamePair{"fp8_e4m3", "fp8"}, NamePair{"fp8_e5m2", "fp8"},
    NamePair{"f8e4m3", "fp8"},        NamePair{"f8e5m2", "fp8"}};

// Rates are printed with two digits behind the point, times with three in all, of short ones two behind it (common.cu).
constexpr double kRoundedRate = 0.0051, kRoundedTime = 0.01, kRoundedTime_us = 0.0051;

/// How many ranks each host has of a group, the most first: what groups must have in common.
std::vector<int> spread_of(const std::vector<std::string>& hosts) {
  std::map<std::string, int> on_host;
  for (const std::string& host : hosts) ++on_host[host];
  std::vector<int> out;
  out.reserve(on_host.size());
  for (const auto& [host, ranks] : on_host) out.push_back(ranks);
  std::sort(out.rbegin(), out.rend());
  return out;
}

}  // namespace

const NamePair* nccl_program_in(std::string_view text) {
  for (const NamePair& program : kNcclPrograms)
    if (text.find(program.theirs) != std::string_view::npos) return &program;
  return nullptr;
}

const NamePair* nccl_program_of_file(const std::string& file) {
  return nccl_program_in(std::string_view(file).substr(file.find_last_of('/') + 1));
}

std::string nccl_type(std::string_view name, Diagnostics& diagnostics, const std::string& at) {
  for (const NamePair& type : kNcclTypes)
    if (type.theirs == name) return std::string(type.ours);
  diagnostics.error(at, fmt::format("found the type {}, which nccl-tests does not have", shown(name)));
  return "float32";
}

void add_nccl_row(const NcclRow& row, const std::string& op, const MeasuredPlaces& places, int iterations,
                  const std::string& at, ResultsBuilder& results, Diagnostics& diagnostics) {
  if (row.size < 0 || row.size > kLargestBuffer)
    return diagnostics.error(at, fmt::format("a size of {} bytes", row.size));
  if (row.time_us < 0 || row.time_us > kLongestTime_us)
    return diagnostics.error(at, fmt::format("a time of {} us", row.time_us));
  if (row.wrong && *row.wrong > 0)
    return diagnostics.error(at,
                             fmt::format("{} wrong elements in {} of {} bytes: the data that came out was wrong, so "
                                         "its time means nothing",
                                         *row.wrong, op, row.size),
                             "find the fault before measuring");
  // Empty buffers, which nccl-tests prints where a size does not divide over the ranks.
  if (row.size == 0 || row.time_us == 0) return;
  Json out = collective_row(op, row.size, places, row.in_place, row.type,
                            row.samples.empty() ? std::vector{row.time_us} : row.samples);
  if (row.samples.empty() && iterations > 1) out["calls_per_sample"] = iterations;
  out["checked"] = row.checked;
  results.add(std::move(out));
}

MeasuredPlaces places_of_group(const HostsOfGroups& groups, const MeasuredHints& hints, const std::string& at,
                               ResultsBuilder& results, Diagnostics& diagnostics) {
  if (groups.empty()) return places_of({}, hints, at, diagnostics);
  const std::vector<std::string>& first = groups.begin()->second;
  const MeasuredPlaces out = places_of(first, hints, at, diagnostics);
  if (groups.size() == 1 || out.ranks < 1) return out;
  for (const auto& [group, hosts] : groups)
    if (spread_of(hosts) != spread_of(first)) {
      diagnostics.error(at,
                        fmt::format("the ranks ran in {} groups, which are not alike: group {} has {} ranks, group {} "
                                    "{}, or other hosts",
                                    groups.size(), groups.begin()->first, first.size(), group, hosts.size()),
                        "measure groups of one shape: NCCL_TESTS_SPLIT");
      return {};
    }
  results.warn(fmt::format("{} groups of {} ranks ran side by side: times are of one while the others load the links",
                           groups.size(), out.ranks));
  return out;
}

double bus_factor(const std::string& op, int ranks) {
  const double others = (ranks - 1.0) / ranks;
  if (op == "all_reduce") return 2 * others;
  return op == "all_gather" || op == "reduce_scatter" || op == "all_to_all" ? others : 1;
}

bool rates_of_ranks(const std::string& op, int ranks, double algbw_GBps, double busbw_GBps) {
  const double factor = bus_factor(op, ranks);
  return std::abs(busbw_GBps - factor * algbw_GBps) <= kRoundedRate * (1 + factor) + 1e-3 * busbw_GBps;
}

std::string nccl_operation(const NamePair* named, const char* what, const MeasuredHints& hints, const std::string& at,
                           Diagnostics& diagnostics) {
  if (named == nullptr) return hints.op;
  if (hints.op.empty() || hints.op == named->ours) return std::string(named->ours);
  diagnostics.error(at, fmt::format("--op says {}, and {} {}", hints.op, what, named->theirs), "leave out --op");
  return {};
}

bool rate_of_time(double size_bytes, double time_us, double algbw_GBps) {
  if (time_us <= 0) return true;
  const double rate = size_bytes / time_us * 1e-3;
  return std::abs(rate - algbw_GBps) <= kRoundedRate + std::max(kRoundedTime, kRoundedTime_us / time_us) * rate;
}

bool rates_of_old_version(const std::string& op, int ranks, double size_bytes, double time_us, double algbw_GBps,
                          double busbw_GBps) {
  if (op != "all_gather" && op != "reduce_scatter") return false;
  return algbw_GBps == busbw_GBps && rate_of_time(size_bytes * bus_factor(op, ranks), time_us, algbw_GBps);
}

}  // namespace stepcast
