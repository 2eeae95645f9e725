#include "calibration/fit/cluster/unlikely_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibration/fit/cluster/slower_parts.hpp"

namespace stepcast {

namespace {

// Shaped links let short messages through at once, and a rate may be a little above its name.
constexpr double kBulk = 65536, kQuicker = 0.7;
// Times vary by some per cent, never over a factor of four in size.
constexpr double kFalls = 0.9, kWide = 4;

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
  add_slower_parts(profile, files);
  add_differing_words(profile.findings, files, "network", "were measured on networks of different names");
  add_differing_words(profile.findings, files, "label", "carry different labels");
}

}  // namespace stepcast
