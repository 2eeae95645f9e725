#include <fmt/format.h>

#include "calibration/collectives/collective_score.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

std::string cell(const ErrorFigures& figures) {
  if (figures.rows == 0) return "–";
  return fmt::format("{:.0f} / {:.0f}  {}", *figures.mean, *figures.median, figures.rows);
}

std::string line_text(const CollectiveLine& line) {
  const bool place = line.operation == "all";
  std::string out = pad_right(place ? line.where : "  " + line.operation, 32);
  for (const ErrorFigures& range : line.ranges) out += pad_left(cell(range), 15);
  return out + pad_left(cell(line.all), 16) + "\n";
}

std::string set_text(const CollectiveScore& set) {
  std::string out = fmt::format("\n{}: {} of {} rows covered\n", set.name, set.covered, set.rows);
  out += pad_right("  mean / median error %, rows", 32);
  for (const std::string_view range : kSizeRangeNames) out += pad_left(std::string(range), 15);
  out += pad_left("all", 16) + "\n";
  for (const CollectiveLine& line : set.lines) out += line_text(line);
  for (const auto& [accelerator, figures] : set.accelerators)
    out += fmt::format("  {}{}\n", pad_right(accelerator, 90), pad_left(cell(figures), 16));
  if (set.unhealthy > 0) out += fmt::format("  not healthy by its source, {} rows\n", set.unhealthy);
  for (const auto& [reason, rows] : set.reasons) out += fmt::format("  not covered, {} rows: {}\n", rows, reason);
  if (!set.worst.empty())
    out += fmt::format("  {} {} {} {}\n", pad_right("worst rows", 60), pad_left("predicted", 12),
                       pad_left("measured", 12), pad_left("off", 8));
  for (const PredictedCollective& worst : set.worst) {
    const std::string what = fmt::format("line {}: {}, {} of {} on {} ranks", worst.row.line, worst.row.system,
                                         name_of(worst.row.kind), humane(worst.row.size), worst.row.group.size);
    out += fmt::format("  {} {} {} {}\n", pad_right(what, 60), pad_left(humane(Seconds(worst.predicted_us * 1e-6)), 12),
                       pad_left(humane(Seconds(worst.row.time_us * 1e-6)), 12),
                       pad_left(fmt::format("{:+.0f} %", 100 * (worst.ratio() - 1)), 8));
  }
  return out;
}

Json json_figures(const ErrorFigures& figures) {
  return {{"rows", figures.rows},
          {"mape_pct", json_figure(figures.mean)},
          {"median_ape_pct", json_figure(figures.median)},
          {"p90_ape_pct", json_figure(figures.p90)},
          {"max_ape_pct", json_figure(figures.max)},
          {"bias_pct", json_figure(figures.bias)}};
}

Json json_line(const CollectiveLine& line) {
  Json ranges = Json::array();
  for (std::size_t range = 0; range < kSizeRanges; ++range) {
    Json entry = json_figures(line.ranges[range]);
    entry["size"] = kSizeRangeNames[range];
    ranges.push_back(std::move(entry));
  }
  return {{"where", line.where}, {"operation", line.operation}, {"all", json_figures(line.all)}, {"ranges", ranges}};
}

}  // namespace

std::string collective_validation_text(const std::vector<CollectiveScore>& sets) {
  std::string out;
  for (const CollectiveScore& set : sets) out += set_text(set);
  return out;
}

Json collective_validation_json(const CollectiveScore& set) {
  Json out{{"name", set.name}};
  out.update(figures_json(accuracy_of(set)));
  out["unhealthy"] = set.unhealthy;
  Json reasons = Json::array();
  for (const auto& [reason, rows] : set.reasons) reasons.push_back({{"reason", reason}, {"rows", rows}});
  out["not_covered"] = std::move(reasons);
  out["accelerators"] = Json::array();
  for (const auto& [accelerator, figures] : set.accelerators) {
    Json one{{"accelerator", accelerator}};
    one.update(json_figures(figures));
    out["accelerators"].push_back(std::move(one));
  }
  out["collectives"] = Json::array();
  for (const CollectiveLine& line : set.lines) out["collectives"].push_back(json_line(line));
  out["worst"] = Json::array();
  for (const PredictedCollective& worst : set.worst)
    out["worst"].push_back({{"id", worst.row.system},
                            {"line", worst.row.line},
                            {"predicted", json_figure(worst.predicted_us)},
                            {"measured", worst.row.time_us},
                            {"metric", "time_us"},
                            {"error_pct", json_figure(100 * std::abs(worst.ratio() - 1))}});
  return out;
}

}  // namespace stepcast
