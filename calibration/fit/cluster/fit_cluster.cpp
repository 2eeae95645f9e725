#include "calibration/fit/cluster/fit_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/collectives/library_text.hpp"
#include "calibration/fit/cluster/findings.hpp"
#include "calibration/fit/cluster/fit_devices.hpp"
#include "calibration/fit/cluster/measured_device.hpp"
#include "calibration/fit/cluster/profile_entry.hpp"
#include "calibration/fit/cluster/unlikely_rows.hpp"
#include "fields/rounded.hpp"
#include "report/collective_cluster.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

HostLibrary host_library_of(const std::vector<ProbeResults>& files, const ClusterFitRequest& request) {
  if (!request.library.empty()) {
    const auto named = host_library_named(request.library);
    if (!named)
      throw InputError(
          {{"--library", "", fmt::format("found \"{}\"", request.library), expected_one_of(names_of<HostLibrary>())}});
    return named->rules;
  }
  for (const ProbeResults& file : files) {
    const Json& versions = file.document["versions"];
    if (!versions.contains("mpi")) continue;
    if (const auto stated = stated_host_library(versions["mpi"].get<std::string>())) return *stated;
  }
  return kDefaultHostLibrary;
}

void refuse_stand_ins(const std::vector<ProbeResults>& files, const ClusterFitRequest& request) {
  if (request.stand_in) return;
  std::vector<Fault> faults;
  for (const ProbeResults& file : files)
    if (file.stand_in())
      faults.push_back({file.file, "/environment/stand_in", "a test library stood in for the hardware",
                        "measure the hardware, or --stand-in to fit it all the same"});
  if (!faults.empty()) throw InputError(std::move(faults));
}

/// Where the results come from. Different versions on the same machine are said, for they are one fit.
CalibratedMachine machine_of_files(const std::vector<ProbeResults>& files, const ClusterFitRequest& request,
                                   std::vector<std::string>& notes) {
  CalibratedMachine out;
  out.node = request.node;
  out.overrides = request.overrides;
  std::set<std::string> hosts, differing;
  for (const ProbeResults& file : files) {
    const Json& environment = file.document["environment"];
    if (environment.contains("hosts"))
      for (const Json& host : environment["hosts"]) hosts.insert(host.get<std::string>());
    if (file.host() != kUnknownHost) hosts.insert(file.host());
    out.stand_in = out.stand_in || file.stand_in();
    for (const auto& [software, version] : file.document["versions"].items()) {
      const auto [known, fresh] = out.versions.emplace(software, version.get<std::string>());
      if (!fresh && known->second != version.get<std::string>()) differing.insert(software);
    }
    if (environment.contains("variables"))
      for (const auto& [name, value] : environment["variables"].items())
        out.variables.emplace(name, value.get<std::string>());
  }
  out.hosts.assign(hosts.begin(), hosts.end());
  for (const std::string& software : differing)
    notes.push_back(fmt::format("the results were measured with different versions of {}", software));
  return out;
}

std::string newest_day(const std::vector<ProbeResults>& files) {
  std::string out;
  for (const ProbeResults& file : files) out = std::max(out, file.day());
  return out;
}

void check_places(const std::vector<ClusterRow>& rows, const CollectiveCluster& cluster) {
  for (const ClusterRow& row : rows) {
    if (row.place.per_node > cluster.most_per_node)
      throw InputError({{"--node", "",
                         fmt::format("{} has {} places for ranks, but the results have {} on a node", cluster.name,
                                     cluster.most_per_node, row.place.per_node),
                         "name the node that was measured"}});
    if (row.nodes() > 1 && cluster.machine.nics == 0)
      throw InputError({{"--node", "", fmt::format("{} has no NIC, but the results have several nodes", cluster.name),
                         "--set cluster.fabric.nics_per_node=1 --set cluster.fabric.nic_bandwidth_Gbps=100"}});
  }
}

Calibrated facts_of(const CalibrationProfile& profile, const CollectiveMachine& machine) {
  Calibrated out;
  out.name = profile.name;
  out.date = profile.created;
  out.accelerator = machine.accelerator != nullptr ? machine.accelerator->id : "";
  out.devices_per_node = machine.devices_per_node;
  out.nics = machine.nics;
  out.nic_bandwidth = machine.nic_bandwidth;
  out.jitter = Seconds(profile.jitter_us * 1e-6);
  return out;
}

/// Puts an entry with its constants of the fit and their intervals, or with measured curves, if it has either.
template <class Entry>
void put_fitted(CalibrationProfile& profile, Entry entry, bool curves = false) {
  const std::string path = fmt::format("{}/{}", kFolderOf<Entry>, entry.id);
  std::vector<std::string> keys;
  for (const FittedConstant& constant : profile.constants) {
    const bool own = constant.profile == path && constant.key.find('.') == std::string::npos;
    if (!own || constant.rows == 0) continue;
    if (constant.low < constant.high) entry.intervals[constant.key] = {constant.low, constant.high};
    keys.push_back(constant.key);
  }
  if (curves || !keys.empty()) put_entry(profile, std::move(entry), keys);
}

void add_constants(CalibrationProfile& profile, ClusterFit& fit, const std::vector<ClusterRow>& rows, int refits) {
  const std::vector<FitInterval> intervals = bootstrap(fit, rows, refits);
  const std::vector<std::size_t> telling = rows_telling(fit, rows);
  for (std::size_t i = 0; i < fit.constants.size(); ++i) {
    const ClusterConstant& c = fit.constants[i];
    if (telling[i] == 0) fit.values[i] = c.prior;
    const double value = rounded(fit.values[i], 5);
    c.set(fit.model, telling[i] == 0 ? c.prior : value);
    profile.constants.push_back({c.profile, c.key, rounded(c.prior, 5), value, rounded(intervals[i].low, 5),
                                 rounded(intervals[i].high, 5), telling[i]});
  }
}

void add_entries(CalibrationProfile& profile, const ClusterFit& fit) {
  Calibrated inside = facts_of(profile, fit.model.machine), across = inside;
  inside.curves = fit.inside.curves;
  across.curves = fit.across.curves;
  LinkProfile links = fit.model.links;
  NetworkProfile network = fit.model.network;
  if (fit.model.host) {
    inside.host = message_costs_of(*fit.model.host, fit.model.host_library);
    across.host = inside.host;
  }
  const bool one = !inside.curves.empty(), several = !across.curves.empty();
  if (one) links.calibration = std::move(inside);
  if (several) network.calibration = std::move(across);
  put_fitted(profile, std::move(links), one);
  put_fitted(profile, std::move(network), several);
  if (!fit.model.host) put_fitted(profile, fit.model.library);
}

void add_points(CalibrationProfile& profile, const ClusterFit& fit, const std::vector<ClusterRow>& rows) {
  std::vector<double> times;
  fit.model.predict(rows, times);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ClusterRow& row = rows[i];
    MeasuredPoint point;
    point.op = row.ping_pong ? "ping_pong" : std::string(name_of(row.kind));
    point.size_bytes = row.place.size.value();
    point.ranks = row.place.ranks;
    point.nodes = row.nodes();
    point.ranks_per_node = row.place.per_node;
    const auto blank = row.asked.find(' ');
    point.algorithm = row.asked.empty() ? "auto" : row.asked.substr(0, blank);
    point.protocol = row.asked.empty() ? "auto" : row.asked.substr(blank + 1);
    point.median_us = rounded(row.median_us, 5);
    point.low_us = rounded(row.low_us, 5);
    point.high_us = rounded(row.high_us, 5);
    point.samples = row.samples_us.size();
    point.model_us = rounded(times[i], 5);
    profile.points.push_back(std::move(point));
  }
}

void note_coverage(CalibrationProfile& profile, const ClusterFit& fit, const std::vector<ClusterRow>& rows) {
  const std::vector<int> counts = node_counts(rows);
  if (counts.size() == 1)
    profile.notes.push_back(fmt::format(
        "measured on {} nodes alone besides single ones: start and hop of the network cannot be told apart, "
        "so what grows with nodes keeps the catalogue's values; measure two numbers of nodes",
        counts.front()));
  if (counts.empty())
    profile.notes.emplace_back("measured inside nodes alone: the network keeps the catalogue's constants");
  const auto any = [&](const auto& what) { return std::any_of(rows.begin(), rows.end(), what); };
  if (any([](const ClusterRow& row) { return row.place.per_node > 1; }) &&
      !any([](const ClusterRow& row) { return row.nodes() == 1 && row.weight > 0; }))
    profile.notes.emplace_back(
        "measured between nodes alone: what is inside of them keeps the catalogue's constants; measure one node, too");
  if (profile.held_out.empty())
    profile.notes.push_back(fmt::format("{}: {} row{}", kTooFewToTest, rows.size(), rows.size() == 1 ? "" : "s"));
  if (!fit.model.host) return;
  const Bytes limit = fit.model.host->eager_limit;
  const bool told = rows.size() >= kRowsForLimit &&
                    any([&](const ClusterRow& row) { return row.weight > 0 && row.place.size <= limit; }) &&
                    any([&](const ClusterRow& row) { return row.weight > 0 && row.place.size > limit; });
  profile.notes.push_back(fmt::format("messages above {:.0f} bytes ask before they are sent (eager limit, {})",
                                      limit.value(), told ? "found by fit" : "the catalogue's"));
}

void fit_rows(CalibrationProfile& profile, std::vector<ClusterRow> rows, const std::vector<ProbeResults>& files,
              const ClusterFitRequest& request, const CollectiveCluster& cluster, int refits) {
  check_places(rows, cluster);
  std::optional<HostLibrary> library;
  if (!cluster.has_accelerators() || !request.library.empty()) library = host_library_of(files, request);
  const ClusterModel model = cluster_model(cluster.machine, library);
  for (const Spike& spike : spikes_of(rows)) {
    ClusterRow& row = rows[spike.row];
    profile.outliers.push_back({row.words(), rounded(row.median_us, 5), rounded(spike.expected_us, 5), "us"});
    row.weight = 0;
  }
  profile.jitter_us = rounded(jitter_us(rows), 5);
  ClusterFit fit = fit_collectives(model, rows);
  add_constants(profile, fit, rows, refits);
  profile.held_out = held_out_scores(model, rows);
  add_entries(profile, fit);
  add_points(profile, fit, rows);
  note_coverage(profile, fit, rows);
  add_unlikely_rows(profile, rows, cluster.machine);
  add_collective_findings(profile, fit, rows);
}

}  // namespace

CalibrationProfile fit_cluster(const std::vector<ProbeResults>& files, const ClusterFitRequest& request,
                               const Catalog& catalog) {
  refuse_stand_ins(files, request);
  refuse_repeated_files(files);
  CollectiveQuestion question;
  question.cluster = request.node;
  question.overrides = request.overrides;
  const CollectiveCluster cluster = find_cluster(question, catalog);
  if (cluster.raw)
    throw InputError({{"--node", "", fmt::format("found \"{}\", a preset of raw hosts", request.node),
                       "name a node of the catalogue, or a scenario file"}});
  if (cluster.machine.accelerator != nullptr && !request.stand_in)
    refuse_other_devices(files, request.node, *cluster.machine.accelerator, catalog);
  CalibrationProfile profile;
  profile.name = request.name;
  profile.created = newest_day(files);
  profile.tool_version = kVersion;
  profile.machine = machine_of_files(files, request, profile.notes);
  const int refits = request.refits < kFewestRefits ? 0 : request.refits;
  if (refits == 0)
    profile.notes.push_back(
        fmt::format("{} refits give no intervals, {} at least do (--refits)", request.refits, kFewestRefits));
  std::vector<ClusterRow> rows = cluster_rows(files, profile.notes);
  if (!rows.empty()) fit_rows(profile, std::move(rows), files, request, cluster, refits);
  fit_devices(profile, files, cluster.machine, catalog, refits);
  add_file_findings(profile, files);
  add_disagreements(profile, files);
  if (profile.catalogue.empty())
    throw InputError({{files.front().file, "/results",
                       profile.findings.empty() ? "nothing here that a fit can use" : profile.findings.front(),
                       "collectives, ping_pong over mpi, gemm, memory, launch, copy, storage and power rows are"}});
  return profile;
}

namespace {

/// Hosts by name, or as many as a collective took: imported files seldom name them all.
std::size_t host_count(const CalibrationProfile& profile) {
  std::size_t out = std::max<std::size_t>(profile.machine.hosts.size(), 1);
  for (const MeasuredPoint& point : profile.points) out = std::max(out, static_cast<std::size_t>(point.nodes));
  return out;
}

}  // namespace

std::string fit_summary(const CalibrationProfile& profile) {
  std::string out =
      fmt::format("calibration {} of {}, measured on {}\n", profile.name, profile.created, profile.machine.node);
  const std::size_t hosts = host_count(profile);
  out += fmt::format("  {} collectives, {} other figures, from {} host{}\n", profile.points.size(),
                     profile.figures.size(), hosts, hosts == 1 ? "" : "s");
  if (profile.jitter_us > 0) out += fmt::format("  ranks come late by {:.3g} us in the mean\n", profile.jitter_us);
  if (!profile.constants.empty())
    out += fmt::format("\n{:<48}{:>12}{:>12}   68 % interval\n", "constant", "catalogue", "fitted");
  for (const FittedConstant& c : profile.constants)
    out += fmt::format("{:<48}{:>12.4g}{:>12.4g}   {}\n",
                       fmt::format("{} {}", c.profile.substr(c.profile.find('/') + 1), c.key), c.prior, c.value,
                       interval_text(c));
  if (!profile.held_out.empty())
    out +=
        fmt::format("\n{:<48}{:>6}{:>9}{:>9}{:>9}\n", "held out and predicted", "rows", "mean %", "median %", "bias %");
  for (const HeldOutScore& score : profile.held_out)
    out += fmt::format("{:<48}{:>6}{:>9.1f}{:>9.1f}{:>+9.1f}\n", score.what, score.rows, score.mean_percent,
                       score.median_percent, score.bias_percent);
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (!lines.empty()) out += fmt::format("\n{}\n", title);
    for (const std::string& line : lines) out += "  " + line + "\n";
  };
  std::vector<std::string> outliers;
  for (const FitOutlier& outlier : profile.outliers)
    outliers.push_back(fmt::format("{}: {:.4g} {}, the others say {:.4g}", outlier.row, outlier.measured, outlier.unit,
                                   outlier.expected));
  list("outliers, left out", outliers);
  list("findings", profile.findings);
  list("notes", profile.notes);
  return out;
}

}  // namespace stepcast
