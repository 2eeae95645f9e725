#include "calibration/fit/cluster/slower_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/fit/cluster/product_rows.hpp"
#include "calibration/fit/cluster/rate_fit.hpp"

namespace stepcast {

namespace {

// Of equal rows; healthy devices and hosts agree within a few per cent (kSlow, message_rates.hpp).
constexpr double kDisagrees = 1.3;
constexpr std::size_t kFewestEqual = 2;  // a launch has two rows: alone and of many

/// What a row measured, without where and how it came out; long samples are of settled clocks.
std::string what_of(Json row) {
  row["settled"] = median_us(row) * row.value("calls_per_sample", 1.0) >= kSettled_us;
  for (const char* outcome : {"samples_us", "calls_per_sample", "checked", "clocks", "mean_power_W", "note", "device"})
    row.erase(outcome);
  return row.dump();
}

/// Rows that the same fault slows: reads of small blocks do not meet the memory that large ones do.
std::string sort_of(const Json& row) {
  const std::string kind = row["kind"].get<std::string>();
  const bool cached = kind == "memory" && row["size_bytes"].get<double>() < kPastCaches;
  return cached ? "cached memory" : kind;
}

/// A device of a file, or what a file measured of no device.
struct Part {
  const ProbeResults* file;
  std::string device;                                             ///< empty: of none
  std::map<std::string, std::map<std::string, double>> times_us;  ///< medians by sort and by what was measured
};

std::vector<Part> parts_of(const ProbeResults& file) {
  std::map<std::string, Part> out;
  for (const Json& row : file.rows()) {
    if (!row.contains("samples_us")) continue;
    const std::string device = row.value("device", "");
    Part& part = out.try_emplace(device, Part{&file, device, {}}).first->second;
    part.times_us[sort_of(row)][what_of(row)] = median_us(row);
  }
  std::vector<Part> parts;
  for (auto& [device, part] : out) parts.push_back(std::move(part));
  return parts;
}

/// Times of all parts by what was measured, ascending.
using EqualTimes = std::map<std::string, std::vector<double>>;

EqualTimes equal_times(const std::vector<Part>& parts) {
  EqualTimes out;
  for (const Part& part : parts)
    for (const auto& [sort, times] : part.times_us)
      for (const auto& [what, time] : times) out[what].push_back(time);
  for (auto& [what, times] : out) std::sort(times.begin(), times.end());
  return out;
}

/// Times of rows over those of equal ones elsewhere.
using Ratios = std::vector<double>;

/// Ratios of each sort of a part's rows to the quick quarter of equal ones: most may be slow.
std::map<std::string, Ratios> ratios_of(const Part& part, const EqualTimes& all) {
  std::map<std::string, Ratios> out;
  for (const auto& [sort, times] : part.times_us)
    for (const auto& [what, time] : times)
      if (const std::vector<double>& equal = all.at(what); equal.size() > 1)
        out[sort].push_back(time / equal[(equal.size() - 1) / 4]);
  return out;
}

/// What half of the rows take at least; of two the lesser.
double usual(Ratios ratios) {
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

bool slow(const Ratios& ratios) { return ratios.size() >= kFewestEqual && usual(ratios) > kDisagrees; }

Ratios joined(const std::map<std::string, Ratios>& by_sort) {
  Ratios out;
  for (const auto& [sort, ratios] : by_sort) out.insert(out.end(), ratios.begin(), ratios.end());
  return out;
}

std::string times_as_long(const Ratios& ratios, const std::string& rows) {
  return fmt::format("{:.3g} times as long as others in {} equal {}", usual(ratios), ratios.size(), rows);
}

/// How much slower a part is, in words: in all of its rows, else in some sorts of them; empty: in none.
std::string slowness(const std::map<std::string, Ratios>& by_sort) {
  if (const Ratios all = joined(by_sort); slow(all)) return times_as_long(all, "rows");
  std::vector<std::string> out;
  for (const auto& [sort, ratios] : by_sort)
    if (slow(ratios)) out.push_back(times_as_long(ratios, fmt::format("{} rows", sort)));
  return fmt::format("{}", fmt::join(out, " and "));
}

std::string finding(const Part& part, const std::string& device, const std::string& slower) {
  return fmt::format("{} (host {}{}) takes {}: a slow host or device, or another setting; the fit has both",
                     part.file->file, part.file->host(), device, slower);
}

/// One finding of a file all of whose devices are slow, else one of each device that is.
void add_findings(std::vector<std::string>& out, const std::vector<Part>& parts, const EqualTimes& all) {
  std::vector<std::string> found;
  std::map<std::string, Ratios> of_all;
  std::size_t compared = 0;
  for (const Part& part : parts) {
    const std::map<std::string, Ratios> by_sort = ratios_of(part, all);
    if (by_sort.empty()) continue;
    ++compared;
    for (const auto& [sort, ratios] : by_sort) of_all[sort].insert(of_all[sort].end(), ratios.begin(), ratios.end());
    const std::string slower = slowness(by_sort);
    if (!slower.empty())
      found.push_back(finding(part, part.device.empty() ? "" : fmt::format(", {}", part.device), slower));
  }
  const std::string as_a_whole = slowness(of_all);
  if (found.size() > 1 && found.size() == compared && !as_a_whole.empty())
    found = {finding(parts.front(), "", as_a_whole)};
  out.insert(out.end(), found.begin(), found.end());
}

}  // namespace

void add_slower_parts(CalibrationProfile& profile, const std::vector<ProbeResults>& files) {
  std::vector<std::vector<Part>> by_file;
  std::vector<Part> parts;
  for (const ProbeResults& file : files) {
    by_file.push_back(parts_of(file));
    parts.insert(parts.end(), by_file.back().begin(), by_file.back().end());
  }
  const EqualTimes all = equal_times(parts);
  for (const std::vector<Part>& of_file : by_file) add_findings(profile.findings, of_file, all);
}

}  // namespace stepcast
