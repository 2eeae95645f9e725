#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/measured/rows.hpp"

namespace stepcast {

/// What tables, JSON and records of nccl-tests and rccl-tests have in common.
inline constexpr std::string_view kMeasuredOperations =
    "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, send_recv";

/// The program that a text or a file's name holds, by the longest of their names; null when none. `ours` is empty for
/// programs of no collective here.
const NamePair* nccl_program_in(std::string_view text);
const NamePair* nccl_program_of_file(const std::string& file);

/// The collective of a file, by what names it (its program, else its name) or else by `--op`. A fault where both are
/// there and differ; empty then, and where neither is.
std::string nccl_operation(const NamePair* named, const char* what, const MeasuredHints& hints, const std::string& at,
                           Diagnostics& diagnostics);

/// Type of elements by nccl-tests' name of it; a fault for others.
std::string nccl_type(std::string_view name, Diagnostics& diagnostics, const std::string& at);

/// One time of one size.
struct NcclRow {
  double size = 0;  ///< bytes
  std::string type;
  bool in_place = false;
  double time_us = 0;
  std::optional<double> wrong;  ///< elements; empty where they were not counted
  bool checked = false;
  std::vector<double> samples;  ///< us, of each iteration, where they are told
};

/// Checks what a row says and adds it. Wrong elements, and sizes and times of no collective, are faults.
void add_nccl_row(const NcclRow& row, const std::string& op, const MeasuredPlaces& places, int iterations,
                  const std::string& at, ResultsBuilder& results, Diagnostics& diagnostics);

/// The host of each rank, by the group that it was in (NCCL_TESTS_SPLIT).
using HostsOfGroups = std::map<int, std::vector<std::string>>;

/// Places of the ranks of one group. Groups that ran side by side share one time, so they must be alike.
MeasuredPlaces places_of_group(const HostsOfGroups& groups, const MeasuredHints& hints, const std::string& at,
                               ResultsBuilder& results, Diagnostics& diagnostics);

/// Bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(const std::string& op, int ranks);

/// Whether two rates in GB/s, of two digits behind the point, are those of a collective on so many ranks.
bool rates_of_ranks(const std::string& op, int ranks, double algbw_GBps, double busbw_GBps);

/// Whether a rate in GB/s is that of the size and the time beside it, as they are rounded.
bool rate_of_time(double size_bytes, double time_us, double algbw_GBps);

/// Whether both rates are those of the first versions of all_gather and reduce_scatter: (n - 1) / n of the buffer ÷
/// time (nccl-tests before the column `root`).
bool rates_of_old_version(const std::string& op, int ranks, double size_bytes, double time_us, double algbw_GBps,
                          double busbw_GBps);

/// The JSON of nccl-tests (`-J`).
void read_nccl_json(const Json& document, const std::string& file, const MeasuredHints& hints, ResultsBuilder& results,
                    Diagnostics& diagnostics);

/// Whether a text is what rccl-tests writes with `-x`: JSON records in a list or one a line, or CSV.
bool is_rccl_records(std::string_view text);
/// The records of rccl-tests, each of one size in or out of place, with its collective and its ranks.
void read_rccl_records(std::string_view text, const MeasuredHints& hints, ResultsBuilder& results,
                       Diagnostics& diagnostics);

}  // namespace stepcast
