#include "gui/view-models/run_exhibits.hpp"

#include <QObject>
#include <utility>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "report/humane.hpp"
#include "report/outlook_text.hpp"
#include "report/run_outlook.hpp"
#include "report/updates_text.hpp"

namespace stepcast {

namespace {

using Tone = FigureCell::Tone;

QString in_words(const std::string& text) { return localized(sentence(qt(text))); }

FigureCell words_cell(const std::string& text, Tone tone = Tone::plain) {
  return {.text = localized(qt(text)), .tone = tone};
}

/// One bar a row, of one colour but where a row says otherwise.
class OneBarEach {
 public:
  OneBarEach(Exhibit& out, const QString& axis) : out_(out) {
    out.chart.kind = ChartData::Kind::horizontal_bars;
    out.chart.x_title = axis;
    out.chart.y_from = 0;
    out.chart.legend = false;
  }
  void add(const QString& name, double value, Hue hue, const QString& text) {
    const auto place = static_cast<std::size_t>(out_.chart.categories.size());
    out_.chart.categories << name;
    std::vector<double> values(place, 0.0);
    values.push_back(value);
    QStringList tips;
    for (std::size_t i = 0; i <= place; ++i) tips << QStringLiteral("%1: %2").arg(name, text);
    out_.chart.series.push_back({.name = name, .hue = hue, .values = values, .points = {}, .tips = tips});
  }
  /// Series have a value for every category.
  void finish() {
    for (ChartData::Series& series : out_.chart.series)
      series.values.resize(static_cast<std::size_t>(out_.chart.categories.size()), 0.0);
  }

 private:
  Exhibit& out_;
};

/// A figure and its interval.
std::vector<FigureCell> row_of_figure(const QString& name, FigureCell value, const std::string& interval = {}) {
  return {{.text = name}, std::move(value), words_cell(interval, Tone::muted)};
}

void add_totals(Figures2D& table, const RunOutlook& o) {
  const auto range = [](const auto& low, const auto& high) { return humane(low) + " to " + humane(high); };
  if (o.run) {
    const RunTotals& run = *o.run;
    table.rows.push_back(row_of_figure(tr("Time"), figure_cell(run.time), range(run.time_low, run.time_high)));
    if (run.cost)
      table.rows.push_back(row_of_figure(tr("Cost"), figure_cell(*run.cost), range(*run.cost_low, *run.cost_high)));
    table.rows.push_back(row_of_figure(
        tr("Device-hours"), {.text = shown_count(run.device_hours), .number = run.device_hours, .unit = tr("h")}));
    if (run.work_factor != 1)
      table.rows.push_back(
          row_of_figure(tr("Work by the batch"),
                        {.text = QStringLiteral("× ") + shown_number(run.work_factor), .number = run.work_factor}));
    table.rows.push_back(row_of_figure(tr("Energy"), figure_cell(run.energy)));
  }
  table.rows.push_back(row_of_figure(tr("Carbon"), words_cell(carbon_words(o.carbon))));
}

/// What goes wrong, and what is done about it.
void add_risk(Figures2D& table, const RunOutlook& o, Seconds step) {
  table.rows.push_back(row_of_figure(tr("Goodput"), words_cell(goodput_words(o.goodput))));
  table.rows.push_back(row_of_figure(tr("Interrupted"), words_cell(interruption_words(o.goodput))));
  for (const auto& [cause, share] : losses(o.goodput))
    table.rows.push_back(row_of_figure(tr("Lost to %1").arg(qt(cause)), share_cell(share)));
  table.rows.push_back(row_of_figure(tr("Checkpoint"), words_cell(checkpoint_words(o))));
  if (const std::string draining = draining_words(o.checkpoint, step); !draining.empty())
    table.rows.push_back(row_of_figure(tr("While it drains"), words_cell(draining)));
  if (o.facility.clock_share)
    table.rows.push_back(row_of_figure(tr("Clock, of the usual"), share_cell(*o.facility.clock_share)));
}

Exhibit whole_run(const RunOutlook& o, Seconds step) {
  Exhibit out;
  out.title = tr("The run");
  out.remark = in_words(o.goodput.basis) + QLatin1Char('.');
  QStringList exceeded;
  for (const std::string& limit : o.facility.exceeded) exceeded << tr("Exceeded: %1").arg(localized(qt(limit)));
  out.warning = exceeded.join(QLatin1Char('\n'));
  OneBarEach bars(out, tr("share of the time, %"));
  const auto bar = [&](const QString& name, double share, Hue hue) {
    bars.add(name, 100 * share, hue, shown_percent(share));
  };
  bar(tr("Useful training"), o.goodput.mean, Hue::blue);
  for (const auto& [cause, share] : losses(o.goodput)) bar(in_words(cause), share, Hue::orange);
  bars.finish();
  out.chart.y_to = 100;
  out.table.headings = {tr("Figure"), tr("Value"), tr("80 of 100 like runs")};
  add_totals(out.table, o);
  add_risk(out.table, o, step);
  return out;
}

Exhibit phases(const RunOutlook& o) {
  Exhibit out;
  out.title = tr("Phases");
  out.remark = tr("Without what goodput costs.");
  Seconds whole;
  for (const PhaseOutlook& phase : o.phases) whole += phase.time;
  OneBarEach bars(out, tr("share of the run, %"));
  out.table.headings = {tr("Phase"), tr("Time"), tr("Share"), tr("Steps"), tr("Energy")};
  for (const PhaseOutlook& phase : o.phases) {
    const double share = phase.time / whole;
    out.table.rows.push_back({{.text = localized(qt(phase.name))},
                              figure_cell(phase.time),
                              share_cell(share),
                              {.text = shown_count(phase.steps), .number = phase.steps},
                              figure_cell(phase.energy)});
    if (static_cast<std::size_t>(out.chart.categories.size()) < kMostBars)
      bars.add(localized(qt(phase.name)), 100 * share, Hue::blue,
               QStringLiteral("%1, %2").arg(shown(phase.time), shown_percent(share)));
  }
  bars.finish();
  return out;
}

/// Advice, a line each.
QString as_list(const std::vector<std::string>& lines) {
  QString out;
  for (const std::string& line : lines) out += QStringLiteral("\n• ") + localized(qt(line));
  return out;
}

Exhibit input(const Prediction& p) {
  const InputOutlook& in = p.outlook->input;
  Exhibit out;
  out.title = tr("Input");
  out.warning = input_warning(p);
  QStringList remarks;
  if (out.warning.isEmpty()) remarks << tr("The pipeline keeps up with training.");
  if (const std::string decode = decode_words(in); !decode.empty()) remarks << in_words(decode) + QLatin1Char('.');
  out.remark = remarks.join(QLatin1Char(' '));
  out.table.headings = {tr("Stage"), tr("Samples/s"), tr("What limits it")};
  const auto row = [&](const QString& name, double rate, const std::string& words, Tone tone) {
    out.table.rows.push_back({{.text = name, .tone = tone},
                              {.text = shown_count(rate), .number = rate, .tone = tone},
                              words_cell(words, Tone::muted)});
  };
  OneBarEach bars(out, tr("in use, %"));
  for (const InputLimitOutlook& limit : in.limits) {
    const bool waited_for = limit.stage == in.bound;
    const QString name = in_words(key_in_words(limit.stage));
    row(name, limit.samples_per_s, limit.words, waited_for ? Tone::bad : Tone::plain);
    const double used = in.training_samples_per_s / limit.samples_per_s;
    bars.add(name, 100 * used, waited_for ? Hue::vermillion : Hue::sky, tr("%1 in use").arg(shown_percent(used)));
  }
  row(tr("Training"), in.training_samples_per_s, {}, Tone::strong);
  bars.finish();
  out.chart.y_to = 100;
  return out;
}

Exhibit updates(const UpdateOutcome& outcome) {
  Exhibit out;
  out.title = tr("Updates: %1").arg(qt(outcome.mode));
  out.table.headings = {tr("Figure"), tr("Value")};
  for (const auto& [name, value] : update_figures(outcome))
    out.table.rows.push_back({{.text = in_words(name)}, words_cell(value)});
  if (!outcome.staleness) return out;
  out.remark = tr("Staleness: updates of others that a gradient has missed when it is applied.");
  out.chart.kind = ChartData::Kind::bars;
  out.chart.x_title = tr("updates missed");
  out.chart.y_title = tr("share of the gradients, %");
  out.chart.y_from = 0;
  out.chart.legend = false;
  ChartData::Series bars{.name = tr("gradients"), .hue = Hue::purple, .values = {}, .points = {}, .tips = {}};
  for (const auto& [missed, share] : staleness_classes(*outcome.staleness)) {
    const QString name = localized(qt(missed));
    out.chart.categories << name;
    bars.values.push_back(100 * share);
    bars.tips << tr("%1 missed: %2").arg(name, shown_percent(share));
    out.table.rows.push_back({{.text = tr("Missed %1").arg(name)}, share_cell(share)});
  }
  out.chart.series = {std::move(bars)};
  return out;
}

}  // namespace

QString input_warning(const Prediction& p) {
  if (!p.outlook || p.outlook->input.bound == "none") return {};
  const InputOutlook& in = p.outlook->input;
  // The report shouts; here the colour does.
  QString out = localized(sentence(qt(input_verdict(in)).toLower())) + QLatin1Char('.');
  if (in.samples_per_s)
    out += QLatin1Char(' ') + tr("It brings %1 samples/s, and training takes %2.")
                                  .arg(shown_count(*in.samples_per_s), shown_count(in.training_samples_per_s));
  if (const std::string limit = input_limit_words(in); !limit.empty())
    out += QLatin1Char(' ') + in_words(limit) + QLatin1Char('.');
  return out + as_list(in.advice);
}

std::vector<Exhibit> run_exhibits(const Prediction& p) {
  std::vector<Exhibit> out;
  if (!p.outlook) {
    out.emplace_back();
    out.back().title = tr("The run");
    out.back().remark = tr("Nothing is known of what surrounds this step.");
  } else {
    out.push_back(whole_run(*p.outlook, p.step_time));
    if (p.outlook->input.samples_per_s) out.push_back(input(p));
    if (p.outlook->phases.size() > 1) out.push_back(phases(*p.outlook));
  }
  if (p.updates) out.push_back(updates(*p.updates));
  return out;
}

}  // namespace stepcast
