#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checks/check_report.hpp"
#include "fields/field_table.hpp"

namespace stepcast {

inline constexpr int kTimingsFormatVersion = 1;

/// Times by name, each over the time of a reference that ran beside it, so that machines compare.
using Ratios = std::map<std::string, double>;

/// Accepted ratios of benchmarks (docs/guide/ci.md). Written by `stepcast check --timings … --update`.
struct TimingsBaseline {
  int format_version = kTimingsFormatVersion;
  std::string reference;          ///< name of the benchmark that others are counted in
  double tolerance_percent = 30;  ///< slower by no more; a ratio of two short times scatters by some ten percent
  std::map<std::string, double> tolerances;  ///< the same for single benchmarks
  Ratios ratios;
  static const FieldTable<TimingsBaseline>& fields();
};

/// Reads the JSON that Google Benchmark writes (--benchmark_out), of one program or several, and counts each
/// benchmark's processor time (or what it measures itself) in that of `reference`, which every file has to hold. Of
/// repetitions the shortest counts, since what disturbs a benchmark makes it longer. Throws InputError with every
/// fault.
Ratios read_timings(const std::vector<std::filesystem::path>& files, const std::string& reference);

/// Throws InputError with every fault of the file.
TimingsBaseline read_timings_baseline(const std::filesystem::path& file);
/// The whole file or nothing. Throws InputError when it cannot be written.
void write_timings_baseline(const std::filesystem::path& file, const TimingsBaseline& baseline);

/// Ratios beside the accepted ones; a benchmark that is gone is an error, a new one a note.
ScenarioCheck check_timings(const std::string& name, const Ratios& now, const TimingsBaseline& accepted,
                            const Tolerances& given);

}  // namespace stepcast
