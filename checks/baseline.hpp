#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fields/field_table.hpp"
#include "report/prediction.hpp"

namespace stepcast {

inline constexpr int kBaselineFormatVersion = 1;
/// Forecasts do not scatter: what is tolerated is change that nobody wants to talk about.
inline constexpr double kBaselineTolerance = 1;  // %

/// A tolerated change for the worse by metric, in percent.
using Tolerances = std::map<std::string, double>;

/// Reads `metric=2%` (the sign may be left out). What is none, and a name that is not among `known`, is a fault.
Tolerances parse_tolerances(const std::vector<std::string>& given, const std::vector<std::string>& known,
                            Diagnostics& diagnostics);

/// The forecast of one scenario as it was accepted.
struct BaselineEntry {
  std::string fidelity, version, catalog_hash;
  bool memory_fits = true;
  std::map<std::string, double> metrics;  ///< by name of check_metrics()
  static const FieldTable<BaselineEntry>& fields();
};

/// Accepted forecasts, kept in the repository beside the scenarios (docs/guide/ci.md).
struct Baseline {
  int format_version = kBaselineFormatVersion;
  Tolerances tolerances;
  std::map<std::string, BaselineEntry> scenarios;  ///< by file, as it was named
  static const FieldTable<Baseline>& fields();
};

/// Throws InputError with every fault of the file.
Baseline read_baseline(const std::filesystem::path& file);
/// Throws InputError where a check against the baseline would compare nothing, and so pass whatever changes.
void require_guards(const Baseline& baseline, const std::filesystem::path& file);
/// The whole file or nothing; the same baseline gives the same bytes. Throws InputError when it cannot be written.
void write_baseline(const std::filesystem::path& file, const Baseline& baseline);

BaselineEntry baseline_entry(const Prediction& prediction);

}  // namespace stepcast
