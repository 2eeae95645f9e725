#include "gui/view-models/calibration_effect.hpp"

#include <algorithm>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "models/scenario/scenario.hpp"
#include "report/json.hpp"

namespace stepcast {

namespace {

using Tone = FigureCell::Tone;

/// What one prediction assumes and the other does not.
QStringList only_in_first(const Prediction& first, const Prediction& second) {
  QStringList out;
  for (const std::string& assumption : first.assumptions)
    if (std::find(second.assumptions.begin(), second.assumptions.end(), assumption) == second.assumptions.end())
      out << qt(assumption);
  return out;
}

/// Why there is no prediction.
QString fault_of(const Reply& reply) {
  return qt(!reply.error.empty() ? reply.error : reply.faults.empty() ? std::string() : reply.faults.front().text());
}

}  // namespace

CalibrationEffect::CalibrationEffect(QObject* parent) : QObject(parent) {
  connect(&worker_, &WorkerProcess::replied, this, &CalibrationEffect::take);
  connect(&worker_, &WorkerProcess::finished, this, &CalibrationEffect::changed);
  connect(&worker_, &WorkerProcess::failed, this, [this](const QString& why) {
    why_ = why;
    Q_EMIT changed();
  });
}

void CalibrationEffect::ask(Question question) {
  if (question == question_) return;
  question_ = std::move(question);
  replies_.clear();
  why_.clear();
  worker_.cancel();
  if (question_.calibration.empty()) return;
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 2 * question_.scenarios.size(); ++i) {
    Request request;
    request.id = i;
    request.scenario = question_.scenarios[i / 2].document;
    request.scenario["run"]["fidelity"] = name_of(Fidelity::analytic);
    request.file = plain(question_.scenarios[i / 2].name);
    if (i % 2 == 1) request.catalog.push_back(question_.calibration);
    request.catalog.insert(request.catalog.end(), question_.directories.begin(), question_.directories.end());
    requests.push_back(std::move(request));
  }
  worker_.start(requests);
}

void CalibrationEffect::stop() {
  worker_.cancel();
  question_ = {};
}

void CalibrationEffect::take(const Reply& reply) {
  if (reply.id.is_number_unsigned()) replies_[reply.id.get<std::size_t>()] = reply;
}

Exhibit CalibrationEffect::exhibit() const {
  Exhibit out;
  out.title = tr("Which predictions rest on it");
  if (question_.calibration.empty()) {
    out.remark = tr("Choose a calibration on the left.");
    return out;
  }
  if (is_running() || !why_.isEmpty()) {
    out.remark = why_.isEmpty() ? tr("Predicting …") : why_;
    return out;
  }
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("change of the step time by the calibration, %");
  out.chart.legend = false;
  out.table.headings = {tr("Scenario"), tr("Rests on it"), tr("Change"), tr("Without"), tr("With"), tr("Because")};
  ChartData::Series bars{.name = tr("change"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  long resting = 0;
  for (std::size_t i = 0; i < question_.scenarios.size(); ++i) {
    const QString& name = question_.scenarios[i].name;
    const Reply &before_reply = replies_.at(2 * i), &after_reply = replies_.at(2 * i + 1);
    if (!before_reply.prediction || !after_reply.prediction) {
      const QString why = fault_of(before_reply.prediction ? after_reply : before_reply);
      const FigureCell none{.text = QStringLiteral("—"), .tone = Tone::muted};
      out.table.rows.push_back(
          {{.text = name}, none, none, none, none, {.text = why, .tone = Tone::muted, .tip = why}});
      continue;
    }
    const Prediction before = prediction_from_json(*before_reply.prediction);
    const Prediction after = prediction_from_json(*after_reply.prediction);
    const double change = after.step_time / before.step_time - 1;
    QStringList why = only_in_first(after, before);
    const bool rests = change != 0 || !why.isEmpty();
    resting += rests ? 1 : 0;
    if (!rests) why << tr("it takes nothing that was measured");
    out.chart.categories << name;
    bars.values.push_back(change * 100);
    bars.tips << tr("%1: %2").arg(name, change_cell(change).text);
    out.table.rows.push_back({{.text = name},
                              {.text = rests ? tr("yes") : tr("no"), .tone = rests ? Tone::good : Tone::muted},
                              change_cell(change),
                              figure_cell(before.step_time),
                              figure_cell(after.step_time),
                              {.text = why.join(QStringLiteral("; ")), .tip = why.join(QLatin1Char('\n'))}});
  }
  out.remark = tr("%1 of %2: what is on screen, what is pinned, and the files that were open lately. Closed form.")
                   .arg(resting)
                   .arg(question_.scenarios.size());
  if (!bars.values.empty()) out.chart.series.push_back(std::move(bars));
  return out;
}

}  // namespace stepcast
