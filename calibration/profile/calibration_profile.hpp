#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fields/field_table.hpp"
#include "hardware-catalog/communication_profiles.hpp"

namespace stepcast {

inline constexpr int kCalibrationFormatVersion = 1;

/// Where a calibration was measured, as its result files say.
struct CalibratedMachine {
  std::string node;                    ///< catalogue id, or the scenario file that the fit was given
  std::vector<std::string> overrides;  ///< --set of the fit
  std::vector<std::string> hosts;
  std::map<std::string, std::string> versions;   ///< software by name
  std::map<std::string, std::string> variables;  ///< of the environment, those that steer the library
  bool stand_in = false;                         ///< a test library stood in for the hardware
  static const FieldTable<CalibratedMachine>& fields();
};

/// A constant that the fit moved.
struct FittedConstant {
  std::string profile;          ///< kind and id of the catalogue entry, as network-profiles/infiniband
  std::string key;              ///< unit included
  double prior = 0, value = 0;  ///< before the fit and after it, in the key's unit
  double low = 0, high = 0;     ///< 68 % of the bootstrap's refits
  std::size_t rows = 0;         ///< that tell it; 0: it stays the catalogue's
  static const FieldTable<FittedConstant>& fields();
};

/// "8.6 to 11", "none" of too few refits or samples, or that no row tells the constant.
std::string interval_text(const FittedConstant& constant);

/// How well rows were predicted that the fit had not seen.
struct HeldOutScore {
  std::string what;  ///< "other sizes from 1 MiB", "4 nodes from the others" …
  std::size_t rows = 0;
  /// Errors without sign; bias: mean with sign.
  double mean_percent = 0, median_percent = 0, p90_percent = 0, bias_percent = 0;
  static const FieldTable<HeldOutScore>& fields();
};

/// A measured row that does not count, for it lies far from the others.
struct FitOutlier {
  std::string row;
  double measured = 0, expected = 0;  ///< in `unit`; expected: by its neighbours or the fit
  std::string unit;
  static const FieldTable<FitOutlier>& fields();
};

/// What a row of a collective measured and what the fitted model says, for the report.
struct MeasuredPoint {
  std::string op;
  double size_bytes = 0;
  int ranks = 1, nodes = 1, ranks_per_node = 1;
  std::string algorithm, protocol;
  double median_us = 0, low_us = 0, high_us = 0;  ///< low and high: tenth and ninetieth percentile of the samples
  std::size_t samples = 0;
  double model_us = 0;  ///< by the fitted constants
  static const FieldTable<MeasuredPoint>& fields();
};

/// A figure of a device or a disk that was measured, beside the fitted or the catalogue's.
struct MeasuredFigure {
  std::string name;                ///< "gemm bf16 4096 × 4096 × 4096"
  std::string group;               ///< gemm, memory, copy, launch, storage, power, ping_pong
  double measured = 0, model = 0;  ///< in `unit`
  std::string unit;
  static const FieldTable<MeasuredFigure>& fields();
};

/// What `stepcast calibrate fit` writes: catalogue entries with fitted constants and measured curves, and how far to
/// trust them. As a whole it stands before the catalogue (`--calibration`, or anywhere that takes a directory of
/// entries).
struct CalibrationProfile {
  int format_version = kCalibrationFormatVersion;
  std::string name;
  std::string created;  ///< date of the newest measurement, YYYY-MM-DD
  std::string tool_version;
  CalibratedMachine machine;
  std::map<std::string, std::map<std::string, Json>> catalogue;  ///< entries by kind and id
  std::vector<FittedConstant> constants;
  std::vector<HeldOutScore> held_out;
  std::vector<FitOutlier> outliers;
  std::vector<std::string> notes;     ///< what the fit could not know
  std::vector<std::string> findings;  ///< what is wrong with the cluster, in words
  double jitter_us = 0;               ///< mean lateness of a rank, as calls' samples tell it
  std::vector<MeasuredPoint> points;
  std::vector<MeasuredFigure> figures;
  static const FieldTable<CalibrationProfile>& fields();
};

/// Reads and checks a profile, its catalogue entries included. Throws InputError with every fault; a file of a later
/// format is refused as a whole.
CalibrationProfile read_calibration(const std::filesystem::path& file);

/// Whether a text is a day of the calendar, YYYY-MM-DD.
bool is_date(const std::string& text);

/// Refuses a profile to be written to `file` that reading would refuse: throws InputError with every fault of its
/// catalogue entries.
void require_readable(const CalibrationProfile& profile, const std::filesystem::path& file);

/// Days since which a profile counts as old: drivers and libraries change a few times a year.
inline constexpr int kOldAfterDays = 180;

/// Warnings about profiles that are used together, first one first: what is hidden by an earlier one, versions that
/// differ, stand-ins, and ages at `today` (YYYY-MM-DD; empty: not checked).
std::vector<std::string> warnings_of(const std::vector<CalibrationProfile>& profiles, const std::string& today);

}  // namespace stepcast
