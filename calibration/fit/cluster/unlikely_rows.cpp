#include "calibration/fit/cluster/unlikely_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibration/fit/cluster/product_rows.hpp"

namespace stepcast {

namespace {

// Shaped links let short messages through at once, and a rate may be a little above its name.
constexpr double kBulk = 65536, kQuicker = 0.7;
// Times vary by some per cent, never over a factor of four in size.
constexpr double kFalls = 0.9, kWide = 4;
// Of equal rows; healthy devices and hosts agree within a few per cent (findings.cpp, kSlow).
constexpr double kDisagrees = 1.3;
constexpr std::size_t kFewestEqual = 3;

/// Bytes that at least one node must take in or send over its NICs.
double least_bytes(const ClusterRow& row) {
  const double size = row.place.size.value(), others = 1 - 1.0 / row.nodes();
  switch (row.kind) {
    case CollectiveKind::all_to_all:
      return size * row.place.per_node * others;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
      return size;
    default:
      return size * others;
  }
}

void add_quicker_than_nics(std::vector<std::string>& out, const std::vector<ClusterRow>& rows,
                           BytesPerSecond of_a_node) {
  const ClusterRow* first = nullptr;
  std::size_t count = 0;
  for (const ClusterRow& row : rows) {
    if (row.nodes() < 2 || row.place.size.value() < kBulk) continue;
    if (row.median_us >= kQuicker * (Bytes(least_bytes(row)) / of_a_node).in(1_us)) continue;
    if (first == nullptr) first = &row;
    ++count;
  }
  if (first == nullptr) return;
  out.push_back(
      fmt::format("{} time{} faster than the NICs of a node ({:.3g} GB/s), first of them {} in {:.4g} us: loopback or "
                  "shared memory "
                  "instead of the network, or --node names another",
                  count, count == 1 ? " is" : "s are", of_a_node.in(1_GBps), first->words(), first->median_us));
}

void add_falling(std::vector<std::string>& out, const std::vector<ClusterRow>& rows) {
  std::string first_words;
  std::size_t count = 0;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t last = first;
    while (last + 1 < rows.size() && curve_key(rows[last + 1]) == curve_key(rows[first])) ++last;
    const ClusterRow &small = rows[first], &large = rows[last];
    first = last + 1;
    if (large.place.size < kWide * small.place.size || large.median_us >= kFalls * small.median_us) continue;
    if (++count == 1)
      first_words =
          fmt::format("{} in {:.4g} us, {} in {:.4g}", small.words(), small.median_us, large.words(), large.median_us);
  }
  if (count > 0)
    out.push_back(fmt::format("times fall with size in {} curve{}, first of them {}: columns or units mixed up", count,
                              count == 1 ? "" : "s", first_words));
}

double median_us(const Json& row) { return quantile_of(row["samples_us"].get<std::vector<double>>(), 0.5); }

/// What a row measured, without how it came out; long samples are of settled clocks.
std::string what_of(Json row) {
  row["settled"] = median_us(row) * row.value("calls_per_sample", 1.0) >= kSettled_us;
  for (const char* outcome : {"samples_us", "calls_per_sample", "checked", "clocks", "mean_power_W", "note"})
    row.erase(outcome);
  return row.dump();
}

/// Median times of the rows of a file, by what they measured.
std::map<std::string, double> times_of(const ProbeResults& file) {
  std::map<std::string, double> out;
  for (const Json& row : file.rows())
    if (row.contains("samples_us")) out[what_of(row)] = median_us(row);
  return out;
}

void add_slower_files(std::vector<std::string>& out, const std::vector<ProbeResults>& files) {
  std::vector<std::map<std::string, double>> times;
  std::map<std::string, std::vector<double>> all;
  for (const ProbeResults& file : files) {
    times.push_back(times_of(file));
    for (const auto& [what, time] : times.back()) all[what].push_back(time);
  }
  for (auto& [what, found] : all) std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<double> ratios;
    for (const auto& [what, time] : times[i])
      if (const std::vector<double>& equal = all.at(what); equal.size() > 1)
        ratios.push_back(time / equal[(equal.size() - 1) / 4]);
    const double slower = quantile_of(ratios, 0.5);
    if (ratios.size() >= kFewestEqual && slower > kDisagrees)
      out.push_back(fmt::format(
          "{} (host {}) takes {:.3g} times as long as other files in {} equal rows: a slow host or device, or another "
          "setting; the fit has both",
          files[i].file, files[i].host(), slower, ratios.size()));
  }
}

void add_differing_words(std::vector<std::string>& out, const std::vector<ProbeResults>& files, const char* key,
                         const char* says) {
  std::set<std::string> found;
  for (const ProbeResults& file : files)
    if (const Json& environment = file.document["environment"]; environment.contains(key))
      found.insert(fmt::format("\"{}\"", environment[key].get<std::string>()));
  if (found.size() > 1) out.push_back(fmt::format("the files {}: {}", says, fmt::join(found, ", ")));
}

}  // namespace

void refuse_repeated_files(const std::vector<ProbeResults>& files) {
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t before = 0; before < i; ++before)
      if (files[before].document == files[i].document) {
        faults.push_back({files[i].file, "", fmt::format("holds the same as {}", files[before].file),
                          "give it once: its samples would count twice"});
        break;
      }
  if (!faults.empty()) throw InputError(std::move(faults));
}

void add_unlikely_rows(CalibrationProfile& profile, const std::vector<ClusterRow>& rows,
                       const CollectiveMachine& machine) {
  if (machine.nics > 0) add_quicker_than_nics(profile.findings, rows, machine.nic_bandwidth * machine.nics);
  add_falling(profile.findings, rows);
}

void add_disagreements(CalibrationProfile& profile, const std::vector<ProbeResults>& files) {
  add_slower_files(profile.findings, files);
  add_differing_words(profile.findings, files, "network", "were measured on networks of different names");
  add_differing_words(profile.findings, files, "label", "carry different labels");
}

}  // namespace stepcast
