#include "report/systems_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/humane.hpp"
#include "report/json.hpp"

namespace stepcast {

namespace {

const std::vector<std::string>& headings() {
  static const std::vector<std::string> kHeadings{"system",         "updates",         "samples/s, 1 device",
                                                  "samples/s, all", "scaling",         "not hidden",
                                                  "staleness",      "energy a sample", "$ a million samples"};
  return kHeadings;
}

std::string staleness_of(const Prediction& p) {
  if (!p.updates || !p.updates->staleness) return "–";
  return fmt::format("{:.1f} (95 %: {:.0f})", p.updates->staleness->mean, p.updates->staleness->p95);
}

std::string cost_of(const Prediction& p) {
  if (!p.cost_rate || !(p.samples_per_s > 0)) return "–";
  return significant((*p.cost_rate * Seconds(1e6 / p.samples_per_s)).in(1_usd));
}

std::string first_fault(const SystemRow& row) {
  return row.faults.empty() ? "does not run" : row.faults.front().message;
}

std::string optional_percent(const std::optional<double>& share) { return share ? percent(*share) : "–"; }

/// Cells of a row behind its name.
std::vector<std::string> cells(const SystemRow& row) {
  if (!row.all) return {first_fault(row)};
  const Prediction& p = *row.all;
  return {p.updates ? p.updates->mode : "collectives",
          row.one ? humane_count(row.one->samples_per_s) : "–",
          humane_count(p.samples_per_s),
          optional_percent(scaling_efficiency(row)),
          optional_percent(communication_share(row)),
          staleness_of(p),
          humane(p.energy_per_sample),
          cost_of(p)};
}

}  // namespace

std::optional<double> scaling_efficiency(const SystemRow& row) {
  if (!row.one || !row.all) return std::nullopt;
  return row.all->samples_per_s / (row.all->devices * row.one->samples_per_s);
}

std::optional<double> communication_share(const SystemRow& row) {
  if (!row.all) return std::nullopt;
  return (row.all->communication.exposed + row.all->synchronization_wait) / row.all->step_time;
}

std::string systems_text(const std::vector<SystemRow>& rows, const std::string& intro) {
  std::vector<std::vector<std::string>> table{headings()};
  for (const SystemRow& row : rows) {
    std::vector<std::string> line{row.scenario};
    for (std::string& cell : cells(row)) line.push_back(std::move(cell));
    table.push_back(std::move(line));
  }
  std::vector<int> widths(headings().size(), 0);
  for (const auto& line : table)
    if (line.size() == widths.size())
      for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns_of(line[i]));
  std::string out = intro + "\n\n";
  for (const auto& line : table) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i)
      text += i < 2 ? pad_right(line[i], widths[i] + 2) : pad_left(line[i], widths[i]) + "  ";
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string systems_markdown(const std::vector<SystemRow>& rows, const std::string& intro) {
  std::string out =
      "# Ways of training, on one cluster and model\n\n"
      "Printed by `stepcast systems --markdown`; `scripts/docs-update.sh` writes it anew. Each row is a scenario of\n"
      "`scenarios/systems` with its strategy as it is, on the same machines and the same model, so that the ways can "
      "be\n"
      "compared; the scenarios themselves have clusters and models that suit them.\n\n" +
      intro + "\n\n|";
  for (const std::string& heading : headings()) out += fmt::format(" {} |", heading);
  out += "\n|";
  for (std::size_t i = 0; i < headings().size(); ++i) out += "---|";
  out += "\n";
  for (const SystemRow& row : rows) {
    out += fmt::format("| [{}](systems/{}.md) |", row.name, row.scenario);
    for (const std::string& cell : cells(row)) out += fmt::format(" {} |", cell);
    out += "\n";
  }
  return out +
         "\n*Scaling*: the rate on all devices over that many times the rate of one by itself, without servers or "
         "anybody "
         "else\nto exchange with, with the batch of a device the same.\n"
         "*Not hidden*: communication that nothing hides and waiting for others, as a share of the step. *Staleness*: "
         "updates\nof others that a gradient had missed, mean and 95th percentile; – where every step ends together. "
         "Energy at the meter.\nRates count samples, not progress: stale gradients and local steps need more samples "
         "to the same loss\n([steps to train](models/convergence.md)).\n";
}

Json systems_json(const std::vector<SystemRow>& rows) {
  Json out = Json::array();
  for (const SystemRow& row : rows) {
    Json entry{{"scenario", row.scenario},
               {"name", row.name},
               {"framework", row.framework},
               {"node", row.node},
               {"nodes", row.nodes}};
    entry["one_device"] = row.one ? to_json(*row.one) : Json(nullptr);
    entry["all_nodes"] = row.all ? to_json(*row.all) : Json(nullptr);
    const auto share = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
    entry["scaling"] = share(scaling_efficiency(row));
    entry["communication_share"] = share(communication_share(row));
    Json faults = Json::array();
    for (const Fault& fault : row.faults) faults.push_back(fault.text());
    entry["faults"] = std::move(faults);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace stepcast
