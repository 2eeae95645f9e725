#include "gui/view-models/trace_exhibits.hpp"

#include <QObject>
#include <algorithm>
#include <cmath>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "models/power/power.hpp"
#include "models/scenario/scenario.hpp"
#include "report/run_outlook.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kWindows = 240;

/// Mean of the device power counters in equal windows, weighted by how many devices each stands for.
std::vector<double> mean_device_power(const TimelineData& timeline) {
  std::vector<double> out(kWindows, 0.0);
  const double window = static_cast<double>(std::max<std::int64_t>(1, timeline.end)) / kWindows;
  double devices = 0;
  for (const TimelineCounter& counter : timeline.counters) {
    if (counter.unit != QLatin1String("W")) continue;
    const auto process = static_cast<std::size_t>(counter.process);
    const double weight = process < timeline.multiplicity.size() ? timeline.multiplicity[process] : 1;
    devices += weight;
    for (std::size_t i = 0; i < counter.samples.size(); ++i) {
      const auto from = static_cast<double>(counter.samples[i].time);
      const auto to = static_cast<double>(i + 1 < counter.samples.size() ? counter.samples[i + 1].time : timeline.end);
      for (auto w = static_cast<std::size_t>(std::min(from / window, kWindows - 1.0)); w < kWindows; ++w) {
        const double overlap =
            std::min(to, static_cast<double>(w + 1) * window) - std::max(from, static_cast<double>(w) * window);
        if (overlap <= 0) break;
        out[w] += weight * counter.samples[i].value * overlap / window;
      }
    }
  }
  for (double& value : out) value /= std::max(1.0, devices);
  return out;
}

void add_row(Figures2D& table, const QString& name, FigureCell value, const QString& tip = {}) {
  value.tip = tip;
  table.rows.push_back({{.text = name, .tip = tip}, std::move(value)});
}

FigureCell carbon_cell(double kilograms) {
  const double grams = kilograms * 1e3;
  const QString mass = grams >= 1e6   ? tr("%1 t").arg(shown_number(grams / 1e6))
                       : grams >= 1e3 ? tr("%1 kg").arg(shown_number(grams / 1e3))
                                      : tr("%1 g").arg(shown_number(grams));
  return {.text = tr("%1 CO₂").arg(mass), .number = kilograms, .unit = tr("kg CO₂")};
}

/// Carbon, and what the whole run takes with its phases, failures and restarts.
void add_run_rows(Figures2D& table, const RunOutlook& outlook) {
  const CarbonOutlook& carbon = outlook.carbon;
  const QString basis = sentence(qt(carbon.basis));
  add_row(table, tr("Grid carbon"), number_cell(carbon.grid_g_per_kWh, tr(" g/kWh")), basis);
  add_row(table, tr("Carbon of a step"), carbon_cell(carbon.per_step_g / 1e3), basis);
  if (outlook.run) add_row(table, tr("Energy of the training"), figure_cell(outlook.run->energy));
  if (carbon.run_kg) add_row(table, tr("Carbon of the training"), carbon_cell(*carbon.run_kg), basis);
}

/// The cluster's power in each window of the step, and its mean.
void draw_power(Exhibit& out, const PowerModel& power, const Prediction& p, const TimelineData& timeline) {
  const std::vector<double> device = mean_device_power(timeline);
  const double step_s = static_cast<double>(timeline.end) / 1e9;
  // Network and helpers draw the same at all times: what the mean has beside the servers.
  const Watts beside = p.average_power - power.cluster_at_meter(p.device_average_power);
  const auto cluster = [&](double watts) { return power.cluster_at_meter(Watts(watts)) + beside; };
  const double highest = cluster(*std::max_element(device.begin(), device.end())).value();
  const double unit = highest > 2e6 ? 1e6 : highest > 2e3 ? 1e3 : 1;
  const bool milliseconds = step_s < 2;
  out.chart.kind = ChartData::Kind::lines;
  out.chart.x_title = milliseconds ? tr("time, ms") : tr("time, s");
  out.chart.y_title = unit == 1e6 ? tr("MW") : unit == 1e3 ? tr("kW") : tr("W");
  out.chart.y_from = 0;
  ChartData::Series line{
      .name = tr("cluster at the meter"), .hue = Hue::vermillion, .values = {}, .points = {}, .tips = {}};
  ChartData::Series mean{.name = tr("mean"), .hue = Hue::grey, .values = {}, .points = {}, .dashed = true, .tips = {}};
  for (std::size_t w = 0; w < kWindows; ++w) {
    const double at = (static_cast<double>(w) + 0.5) / kWindows * step_s * (milliseconds ? 1e3 : 1);
    const Watts watts = cluster(device[w]);
    line.points.emplace_back(at, watts.value() / unit);
    line.tips << tr("%1 at %2").arg(shown(watts), shown(Seconds((static_cast<double>(w) + 0.5) / kWindows * step_s)));
    mean.points.emplace_back(at, p.average_power.value() / unit);
    mean.tips << tr("mean %1").arg(shown(p.average_power));
  }
  out.chart.series = {std::move(line), std::move(mean)};
}

}  // namespace

Exhibit power_exhibit(const ConfigurationModel& configuration, const Prediction& p, const TimelineData* timeline,
                      const QString& why_not) {
  Exhibit out;
  out.title = timeline ? tr("Power over the step") : tr("Power");
  const PowerModel power = power_model(*configuration.scenario());
  out.remark = timeline
                   ? tr("%1 windows over one step; the whole cluster at the meter, cooling included.").arg(kWindows)
                   : tr("The whole cluster at the meter, cooling included. Not drawn over the step: %1").arg(why_not);
  if (timeline) draw_power(out, power, p, *timeline);
  out.table.headings = {tr("Figure"), tr("Value")};
  add_row(out.table, tr("Mean power"), figure_cell(p.average_power));
  add_row(out.table, tr("Peak power"), figure_cell(p.peak_power));
  add_row(out.table, tr("Mean of a device"), figure_cell(p.device_average_power));
  add_row(out.table, tr("Energy of a step"), figure_cell(p.energy_per_step));
  add_row(out.table, tr("Energy of a sample"), figure_cell(p.energy_per_sample));
  add_row(out.table, tr("PUE"), number_cell(power.pue));
  if (p.outlook) add_run_rows(out.table, *p.outlook);
  return out;
}

Exhibit links_exhibit(const TimelineData& timeline) {
  Exhibit out;
  out.title = tr("Traffic by link");
  out.remark =
      tr("Mean over the step and highest rate, of the representative links that the simulation knows; busiest first.");
  struct Link {
    QString name;
    double mean, peak;
  };
  std::vector<Link> links;
  for (const TimelineCounter& counter : timeline.counters)
    if (counter.unit != QLatin1String("W") && counter.highest() > 0)
      links.push_back({counter.name, counter.mean(timeline.end), counter.highest()});
  std::stable_sort(links.begin(), links.end(), [](const Link& a, const Link& b) { return a.mean > b.mean; });
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("GB/s, mean over the step");
  out.chart.y_from = 0;
  out.chart.legend = false;
  ChartData::Series mean{.name = tr("mean"), .hue = Hue::sky, .values = {}, .points = {}, .tips = {}};
  out.table.headings = {tr("Link"), tr("Mean, GB/s"), tr("Highest, GB/s"), tr("Busy")};
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    out.table.rows.push_back({{.text = link.name},
                              {.text = shown_number(link.mean), .number = link.mean},
                              {.text = shown_number(link.peak), .number = link.peak},
                              share_cell(link.mean / link.peak)});
    if (i >= kMostBars) continue;
    out.chart.categories << link.name;
    mean.values.push_back(link.mean);
    mean.tips
        << tr("%1: %2 GB/s on average, %3 at most").arg(link.name, shown_number(link.mean), shown_number(link.peak));
  }
  out.chart.series = {std::move(mean)};
  return out;
}

}  // namespace stepcast
