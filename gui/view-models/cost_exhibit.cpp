#include <QObject>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/studies.hpp"
#include "models/power/facility.hpp"
#include "models/scenario/scenario.hpp"
#include "report/cluster_cost.hpp"

namespace stepcast {

namespace {

/// A price kind of the node's, for the whole cluster.
struct Way {
  const char* name;
  std::optional<DollarsPerSecond> NodePrice::*rate;
};
constexpr std::array kWays{Way{"On demand", &NodePrice::on_demand},
                           Way{"Monthly rent", &NodePrice::monthly},
                           Way{"Capacity block", &NodePrice::capacity_block},
                           Way{"Reserved, one year", &NodePrice::reserved_one_year},
                           Way{"Reserved, three years", &NodePrice::reserved_three_years},
                           Way{"Spot, low", &NodePrice::spot_low},
                           Way{"Spot, high", &NodePrice::spot_high}};

/// What an hour's cost is made of. Rented servers have no other parts.
struct CostPart {
  const char* name;
  Hue hue;
  DollarsPerSecond rate;
};

/// Empty where nothing has a price. Together they are the prediction's.
std::vector<CostPart> cost_parts(const ConfigurationModel& configuration, const Prediction& p) {
  if (!p.cost_rate) return {};
  const Scenario& scenario = *configuration.scenario();
  const Catalog& catalog = configuration.catalog();
  const auto cost = cluster_cost(scenario, catalog, helper_nodes(scenario, catalog, p.updates), p.average_power,
                                 fabric_bill(scenario, catalog).price);
  if (!cost) return {};
  const CostRate& own = cost->own;
  std::vector<CostPart> out{{"Servers", Hue::blue, own.servers},
                            {"Network", Hue::green, own.network},
                            {"Electricity", Hue::orange, own.electricity},
                            {"Upkeep", Hue::purple, own.upkeep}};
  for (const ClusterCost::Helper& helper : cost->helpers)
    out.push_back({helper.role == HelperRole::actors ? "Actors" : "Parameter servers", Hue::sky, helper.rate.total()});
  std::erase_if(out, [](const CostPart& part) { return part.hue != Hue::blue && !(part.rate > DollarsPerSecond(0)); });
  return out;
}

/// As forecast, then every other way to pay for the servers.
ChartData hourly_chart(const Scenario& scenario, const std::vector<CostPart>& parts) {
  ChartData out;
  out.kind = ChartData::Kind::bars;
  out.y_title = tr("$ an hour");
  out.y_from = 0;
  for (const CostPart& part : parts)
    out.series.push_back({.name = tr(part.name), .hue = part.hue, .values = {}, .points = {}, .tips = {}});
  const auto bar = [&](const QString& name, const std::vector<DollarsPerSecond>& rates) {
    out.categories << name;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Dollars hour = (i < rates.size() ? rates[i] : DollarsPerSecond(0)) * 1_h;
      out.series[i].values.push_back(hour.value());
      out.series[i].tips << tr("%1, %2: %3 an hour").arg(name, tr(parts[i].name), shown(hour));
    }
  };
  std::vector<DollarsPerSecond> forecast;
  forecast.reserve(parts.size());
  for (const CostPart& part : parts) forecast.push_back(part.rate);
  bar(tr("As forecast"), forecast);
  if (!scenario.node->price) return out;
  for (const Way& way : kWays)
    if (const auto& price = *scenario.node->price.*way.rate)
      bar(tr(way.name), {*price * static_cast<double>(scenario.spec.cluster.nodes)});
  return out;
}

}  // namespace

Exhibit cost_exhibit(const ConfigurationModel& configuration, const Prediction& p) {
  Exhibit out;
  out.title = tr("What it costs");
  const Scenario& scenario = *configuration.scenario();
  const std::vector<CostPart> parts = cost_parts(configuration, p);
  if (parts.empty()) {
    out.remark = tr("The catalogue lacks a price: what is assumed says of which server.");
    return out;
  }
  out.remark = qt(p.cost_basis);
  out.table.headings = {tr("Per")};
  for (const CostPart& part : parts) out.table.headings << tr(part.name);
  out.table.headings << tr("Together");
  const auto row = [&](const QString& per, Seconds time) {
    std::vector<FigureCell> cells{{.text = per}};
    for (const CostPart& part : parts) cells.push_back(figure_cell(part.rate * time));
    cells.push_back(figure_cell(*p.cost_rate * time, FigureCell::Tone::strong));
    out.table.rows.push_back(std::move(cells));
  };
  const double millions = (p.tokens_per_s > 0 ? p.tokens_per_s : p.samples_per_s) * p.step_time.value() / 1e6;
  row(tr("hour"), 1_h);
  row(tr("day"), 1_days);
  row(tr("step"), p.step_time);
  row(p.tokens_per_s > 0 ? tr("million tokens") : tr("million samples"), p.step_time / millions);
  // Phases may run on part of the cluster: what counts is the time that all of it would be paid for.
  if (p.run_cost) row(tr("whole training"), *p.run_cost / *p.cost_rate);
  out.chart = hourly_chart(scenario, parts);
  if (!scenario.node->price) return out;
  for (const Way& way : kWays)
    if (const auto& price = *scenario.node->price.*way.rate) {
      const Dollars hour = *price * static_cast<double>(scenario.spec.cluster.nodes) * 1_h;
      std::vector<FigureCell> cells{{.text = tr("%1, an hour").arg(tr(way.name))}, figure_cell(hour)};
      for (std::size_t i = 1; i < parts.size(); ++i) cells.push_back(figure_cell(Dollars(0)));
      cells.push_back(figure_cell(hour, FigureCell::Tone::strong));
      out.table.rows.push_back(std::move(cells));
    }
  return out;
}

}  // namespace stepcast
