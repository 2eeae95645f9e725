#include "calibration/fit/cluster/check_measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibration/fit/cluster/place_findings.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kRowsForCheck = 5;

std::vector<std::string> parts_of(const std::string& call) {
  std::vector<std::string> out(1);
  for (const char c : call) {
    if (c == '|')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

/// All that the rows of one system share: what the call says but nodes, operation and size (measured_collective.cpp).
std::string system_of(const MeasuredCollective& row) {
  if (row.host_network) return fmt::format("{}, {} processes a node", row.system, row.host.ranks_per_node);
  const std::vector<std::string> parts = parts_of(row.call);
  if (parts.size() < 10) return row.system + " " + row.node.accelerator;
  std::string out = parts[0];
  for (const std::size_t i : {1, 2, 4, 5, 7}) out += "|" + parts[i];
  for (std::size_t i = 8; i + 1 < parts.size(); ++i) out += "|" + parts[i];
  return out;
}

using Call = std::tuple<CollectiveKind, int, int, double>;

struct System {
  const MeasuredCollective* first = nullptr;
  std::map<Call, ClusterRow> rows;
};

ClusterModel model_of(const MeasuredCollective& row) {
  if (!row.host_network) {
    CollectiveMachine machine = row.machine;
    machine.node = &row.node;
    return cluster_model(machine, std::nullopt);
  }
  ClusterModel out;
  out.host = row.host_network;
  out.host_library = row.host.library;
  return out;
}

/// Rows nearest to three sizes.
std::vector<bool> three_sizes(const std::vector<double>& sizes) {
  std::vector<bool> out(sizes.size());
  for (const double wanted : {64.0, 1048576.0, 1073741824.0}) {
    const auto nearest = std::min_element(sizes.begin(), sizes.end(), [&](double a, double b) {
      return std::abs(std::log(a / wanted)) < std::abs(std::log(b / wanted));
    });
    out[static_cast<std::size_t>(nearest - sizes.begin())] = true;
  }
  return out;
}

/// Two and eight where there are, else the smallest and the one in the middle.
std::vector<int> two_counts(const std::vector<int>& counts) {
  if (counts.size() < 3) return {};
  const auto eight = std::find(counts.begin(), counts.end(), 8);
  return {counts.front(), eight != counts.end() && eight != counts.begin() ? 8 : counts[counts.size() / 2]};
}

void append(std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

SystemCheck check(const std::string& name, const System& system) {
  SystemCheck out;
  out.system = name;
  std::vector<ClusterRow> rows;
  for (const auto& [call, row] : system.rows) {
    rows.push_back(row);
    summarise(rows.back());
    rows.back().weight = 1;
  }
  out.rows = rows.size();
  const ClusterModel model = model_of(*system.first);
  const SizeRatios sizes = size_ratios(model, rows, every_other);
  out.large = sizes.large;
  out.small = sizes.small;
  const SizeRatios three = size_ratios(model, rows, three_sizes);
  append(out.three, three.large);
  append(out.three, three.small);
  const std::vector<int> all_counts = node_counts(rows);
  if (all_counts.size() > 1) out.findings = place_findings(fit_collectives(model, rows), rows);
  const std::vector<int> counts = two_counts(all_counts);
  if (counts.empty()) return out;
  out.seen_nodes = fmt::format("{} and {} nodes", counts[0], counts[1]);
  out.nodes = node_ratios(model, rows, counts);
  return out;
}

/// All of these systems are healthy: what is found in them is a false alarm, or a fault of a table.
std::string findings_text(const std::vector<SystemCheck>& systems) {
  std::size_t several = 0, found = 0;
  std::string lines;
  for (const SystemCheck& one : systems) {
    if (!one.findings) continue;
    ++several;
    if (!one.findings->empty()) ++found;
    for (const std::string& finding : *one.findings) lines += fmt::format("  {}: {}\n", one.system, finding);
  }
  return fmt::format("\nnumbers of nodes found far slower than others: in {} of {} systems\n{}", found, several, lines);
}

}  // namespace

std::vector<SystemCheck> check_measured(const std::vector<MeasuredCollective>& rows) {
  std::map<std::string, System> systems;
  for (const MeasuredCollective& row : rows) {
    if (!row.refusal.empty() || !row.healthy || row.group.size < 2) continue;
    System& system = systems[system_of(row)];
    if (system.first == nullptr) system.first = &row;
    const Call call{row.kind, row.group.size, row.group.per_node, row.size.value()};
    ClusterRow& to = system.rows[call];
    to.kind = row.kind;
    to.place = {row.size, row.group.size, row.group.per_node};
    to.width = row.width;
    to.samples_us.push_back(row.time_us);
  }
  std::vector<SystemCheck> out;
  for (const auto& [name, system] : systems)
    if (system.rows.size() >= kRowsForCheck) out.push_back(check(name, system));
  return out;
}

std::vector<HeldOutScore> scores_of(const std::vector<SystemCheck>& systems) {
  std::vector<double> large, small, nodes, three;
  for (const SystemCheck& one : systems) {
    append(large, one.large);
    append(small, one.small);
    append(nodes, one.nodes);
    append(three, one.three);
  }
  return {score_of("every other size, from 1 MiB", large), score_of("every other size, below 1 MiB", small),
          score_of("other node counts than two", nodes), score_of("all sizes but three of each operation", three)};
}

std::string check_text(const std::vector<SystemCheck>& systems) {
  std::string out = "Fits of a part of each system's collectives, and the mean error on the rest (%, rows)\n\n";
  out += fmt::format("{:<58}{:>6}{:>13}{:>13}{:>13}{:>13}\n", "system", "rows", ">= 1 MiB", "< 1 MiB", "3 sizes",
                     "other nodes");
  const auto cell = [](const std::vector<double>& ratios) {
    return ratios.empty() ? std::string("–")
                          : fmt::format("{:.1f} ({})", score_of("", ratios).mean_percent, ratios.size());
  };
  for (const SystemCheck& one : systems) {
    std::string name = one.system.substr(0, 57);
    out += pad_right(name, 58) + fmt::format("{:>6}", one.rows);
    for (const auto* ratios : {&one.large, &one.small, &one.three, &one.nodes}) out += pad_left(cell(*ratios), 13);
    out += one.seen_nodes.empty() ? "\n" : "  seen: " + one.seen_nodes + "\n";
  }
  out += fmt::format("\n{:<48}{:>6}{:>9}{:>9}{:>9}{:>9}\n", "all systems", "rows", "mean %", "median %", "p90 %",
                     "bias %");
  for (const HeldOutScore& score : scores_of(systems))
    out += fmt::format("{:<48}{:>6}{:>9.1f}{:>9.1f}{:>9.1f}{:>+9.1f}\n", score.what, score.rows, score.mean_percent,
                       score.median_percent, score.p90_percent, score.bias_percent);
  return out + findings_text(systems);
}

Json check_json(const std::vector<SystemCheck>& systems) {
  Json all = Json::array(), each = Json::array();
  for (const HeldOutScore& score : scores_of(systems)) all.push_back(HeldOutScore::fields().write(score));
  for (const SystemCheck& one : systems) {
    Json scores = Json::array();
    for (const HeldOutScore& score : scores_of({one}))
      if (score.rows > 0) scores.push_back(HeldOutScore::fields().write(score));
    each.push_back({{"system", one.system}, {"rows", one.rows}, {"seen_nodes", one.seen_nodes}, {"scores", scores}});
    if (one.findings) each.back()["findings"] = *one.findings;
  }
  return {{"all", std::move(all)}, {"systems", std::move(each)}};
}

}  // namespace stepcast
