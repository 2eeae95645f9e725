#include <QObject>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/studies.hpp"
#include "models/cost/cost.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

QString tr(const char* text) { return QObject::tr(text); }

FigureCell money(Dollars amount, FigureCell::Tone tone = FigureCell::Tone::plain) {
  return {.text = shown(amount), .number = amount.value(), .tone = tone};
}

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

}  // namespace

Exhibit cost_exhibit(const ConfigurationModel& configuration, const Prediction& p) {
  Exhibit out;
  out.title = tr("What it costs");
  const Scenario& scenario = *configuration.scenario();
  const auto rate = cost_rate(scenario, configuration.catalog(), p.average_power);
  if (!rate) {
    out.remark = tr("The catalogue has no price of this server, nor of one like it.");
    return out;
  }
  out.remark = qt(rate->basis);
  const double steps = p.time_to_train ? *p.time_to_train / p.step_time : 0;
  const double units = (p.tokens_per_s > 0 ? p.tokens_per_s / 1e6 : p.samples_per_s / 1e3) * p.step_time.value();
  out.table.headings = {tr("Per"), tr("Servers"), tr("Electricity"), tr("Together")};
  const auto row = [&](const QString& per, Seconds time) {
    out.table.rows.push_back({{.text = per},
                              money(rate->servers * time),
                              money(rate->electricity * time),
                              money(rate->total() * time, FigureCell::Tone::strong)});
  };
  row(tr("hour"), 1_h);
  row(tr("day"), 1_days);
  row(tr("step"), p.step_time);
  row(p.tokens_per_s > 0 ? tr("million tokens") : tr("thousand samples"), p.step_time / units);
  if (steps > 0) row(tr("whole training"), *p.time_to_train);
  out.chart.kind = ChartData::Kind::bars;
  out.chart.y_title = tr("$ an hour");
  out.chart.y_from = 0;
  ChartData::Series servers{.name = tr("servers"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  ChartData::Series electricity{.name = tr("electricity"), .hue = Hue::orange, .values = {}, .points = {}, .tips = {}};
  const auto bar = [&](const QString& name, DollarsPerSecond of_servers, DollarsPerSecond of_electricity) {
    out.chart.categories << name;
    servers.values.push_back((of_servers * 1_h).value());
    electricity.values.push_back((of_electricity * 1_h).value());
    servers.tips << tr("%1, servers: %2 an hour").arg(name, shown(of_servers * 1_h));
    electricity.tips << tr("%1, electricity: %2 an hour").arg(name, shown(of_electricity * 1_h));
  };
  bar(tr("As forecast"), rate->servers, rate->electricity);
  if (scenario.node->price)
    for (const Way& way : kWays)
      if (const auto& price = *scenario.node->price.*way.rate) {
        const DollarsPerSecond all = *price * static_cast<double>(scenario.spec.cluster.nodes);
        bar(tr(way.name), all, DollarsPerSecond(0));
        out.table.rows.push_back({{.text = tr("%1, an hour").arg(tr(way.name))},
                                  money(all * 1_h),
                                  money(Dollars(0)),
                                  money(all * 1_h, FigureCell::Tone::strong)});
      }
  out.chart.series = {std::move(servers), std::move(electricity)};
  return out;
}

}  // namespace stepcast
