#include "gui/view-models/calibration_effect.hpp"

#include <QObject>
#include <algorithm>
#include <cmath>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "models/scenario/scenario.hpp"
#include "report/predict.hpp"

namespace stepcast {

namespace {

using Tone = FigureCell::Tone;

QString tr(const char* text) { return QObject::tr(text); }

Prediction predicted(const Json& document, const Catalog& catalog) {
  return predict_analytic(resolve(document, "scenario", {}, catalog), catalog, MemoryAdvice::none);
}

/// What one prediction assumes and the other does not.
QStringList only_in_first(const Prediction& first, const Prediction& second) {
  QStringList out;
  for (const std::string& assumption : first.assumptions)
    if (std::find(second.assumptions.begin(), second.assumptions.end(), assumption) == second.assumptions.end())
      out << qt(assumption);
  return out;
}

}  // namespace

Exhibit calibration_effect(const std::vector<NamedScenario>& scenarios, const std::filesystem::path& calibration,
                           std::vector<std::filesystem::path> directories) {
  Exhibit out;
  out.title = tr("Which predictions rest on it");
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("change of the step time by the calibration, %");
  out.chart.legend = false;
  out.table.headings = {tr("Scenario"), tr("Rests on it"), tr("Change"), tr("Without"), tr("With"), tr("Because")};
  ChartData::Series bars{.name = tr("change"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  const Catalog without(directories);
  directories.insert(directories.begin(), calibration);
  const Catalog with(directories);
  long resting = 0;
  for (const NamedScenario& scenario : scenarios) {
    try {
      const Prediction before = predicted(scenario.document, without), after = predicted(scenario.document, with);
      const double change = after.step_time / before.step_time - 1;
      QStringList why = only_in_first(after, before);
      const bool rests = change != 0 || !why.isEmpty();
      resting += rests ? 1 : 0;
      if (!rests) why << tr("it takes nothing that was measured");
      const QString percent = (change > 0 ? QStringLiteral("+") : QString()) + shown_percent(change);
      out.chart.categories << scenario.name;
      bars.values.push_back(change * 100);
      bars.tips << tr("%1: %2").arg(scenario.name, percent);
      out.table.rows.push_back({{.text = scenario.name},
                                {.text = rests ? tr("yes") : tr("no"), .tone = rests ? Tone::good : Tone::muted},
                                {.text = percent, .number = change},
                                {.text = shown(before.step_time), .number = before.step_time.value()},
                                {.text = shown(after.step_time), .number = after.step_time.value()},
                                {.text = why.join(QStringLiteral("; ")), .tip = why.join(QLatin1Char('\n'))}});
    } catch (const InputError& error) {
      const QString why = QString::fromUtf8(error.what());
      const FigureCell none{.text = QStringLiteral("—"), .tone = Tone::muted};
      out.table.rows.push_back(
          {{.text = scenario.name}, none, none, none, none, {.text = why, .tone = Tone::muted, .tip = why}});
    }
  }
  out.remark = tr("%1 of %2: what is on screen, what is pinned, and the files that were open lately. Closed form.")
                   .arg(resting)
                   .arg(scenarios.size());
  if (!bars.values.empty()) out.chart.series.push_back(std::move(bars));
  return out;
}

}  // namespace stepcast
