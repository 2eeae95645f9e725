#include "gui/view-models/calibrate_model.hpp"

#include <algorithm>
#include <cmath>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "hardware-catalog/communication_profiles.hpp"
#include "models/scenario/scenario.hpp"
#include "report/prediction.hpp"

namespace stepcast {

namespace {

double figure(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_number() ? object[key].get<double>() : NAN;
}

}  // namespace

CalibrateModel::CalibrateModel(ConfigurationModel& configuration, QObject* parent)
    : QObject(parent), configuration_(configuration) {
  connect(&command_, &CommandProcess::finished, this, &CalibrateModel::take);
}

void CalibrateModel::start(const QString& file) {
  QStringList arguments;
  for (const std::string& directory : directories_) arguments << QStringLiteral("--catalog") << qt(directory);
  file_ = file;
  arguments << QStringLiteral("--json") << command();
  status_ = tr("Predicting measured runs …");
  command_.start(arguments);
  Q_EMIT changed();
}

QStringList CalibrateModel::command() const {
  QStringList out{QStringLiteral("validate"), QStringLiteral("--regret")};
  if (!file_.isEmpty()) out << QStringLiteral("--file") << file_;
  return out;
}

void CalibrateModel::stop() {
  if (!is_running()) return;
  command_.cancel();
  status_ = tr("Stopped");
  Q_EMIT changed();
}

void CalibrateModel::take(int code, const QByteArray& answer, const QString& errors) {
  Json scores = Json::parse(answer.toStdString(), nullptr, false);
  if (code != 0 || scores.is_discarded() || !scores.contains("sets")) {
    status_ = errors.isEmpty() ? tr("stepcast validate ended with status %1").arg(code) : errors;
  } else {
    scores_ = std::move(scores);
    status_ = tr("%1 sets, by the %2 prediction").arg(scores_["sets"].size()).arg(qt(scores_.value("fidelity", "")));
  }
  Q_EMIT changed();
}

Exhibit CalibrateModel::sets_exhibit() const {
  Exhibit out;
  out.title = tr("How far predictions are off, by set of measured runs");
  out.remark = tr("Load measurements to see. The shipped sets take a few seconds.");
  if (!scores_.is_object()) return out;
  out.remark = tr("Error: |predicted ÷ measured − 1|. Bias above 0: predicted too slow.");
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("mean error, %");
  out.chart.y_from = 0;
  out.chart.legend = false;
  ChartData::Series bars{.name = tr("mean error"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  out.table.headings = {tr("Set"), tr("Rows"), tr("Mean error"), tr("Median"), tr("90 %"), tr("Worst"), tr("Bias")};
  for (const Json& set : scores_["sets"]) {
    const QString name = qt(set.value("name", ""));
    const double error = figure(set, "mape_pct");
    const QString percent = QStringLiteral(" %");
    out.table.rows.push_back({{.text = name},
                              whole_cell(figure(set, "covered")),
                              number_cell(error, percent),
                              number_cell(figure(set, "median_ape_pct"), percent),
                              number_cell(figure(set, "p90_ape_pct"), percent),
                              number_cell(figure(set, "max_ape_pct"), percent),
                              number_cell(figure(set, "bias_pct"), percent)});
    if (std::isnan(error)) continue;
    out.chart.categories << name;
    bars.values.push_back(error);
    bars.tips << tr("%1: %2 % on average").arg(name, shown_number(error));
  }
  if (!bars.values.empty()) out.chart.series.push_back(std::move(bars));
  return out;
}

Exhibit CalibrateModel::scatter_exhibit() const {
  Exhibit out;
  out.title = tr("Predicted against measured");
  if (!scores_.is_object()) return out;
  out.chart.kind = ChartData::Kind::scatter;
  out.chart.logarithmic_x = out.chart.logarithmic_y = true;
  out.chart.x_title = tr("measured step, s");
  out.chart.y_title = tr("predicted step, s");
  out.table.headings = {tr("Set"), tr("Run"), tr("Measured, s"), tr("Predicted, s"), tr("Error")};
  int hue = 0;
  for (const Json& set : scores_["sets"]) {
    if (!set.contains("groups")) continue;
    ChartData::Series dots{.name = qt(set.value("name", "")),
                           .hue = hue_of_index(hue),
                           .values = {},
                           .points = {},
                           .dashed = true,
                           .tips = {}};
    for (const Json& group : set["groups"])
      for (const Json& run : group.value("configurations", Json::array())) {
        const double measured = figure(run, "measured_s"), predicted = figure(run, "predicted_s");
        if (!(measured > 0) || !(predicted > 0)) continue;
        const QString id = qt(run.value("id", ""));
        const double error = predicted / measured - 1;
        dots.points.emplace_back(measured, predicted);
        dots.tips << tr("%1: measured %2 s, predicted %3 s").arg(id, shown_number(measured), shown_number(predicted));
        out.table.rows.push_back(
            {{.text = dots.name},
             {.text = id},
             number_cell(measured),
             number_cell(predicted),
             share_cell(error, std::abs(error) > 0.2 ? FigureCell::Tone::bad : FigureCell::Tone::plain)});
      }
    if (dots.points.empty()) continue;
    out.chart.series.push_back(std::move(dots));
    ++hue;
  }
  out.remark = tr("%1 runs of which several configurations were measured.").arg(out.table.rows.size());
  return out;
}

QString CalibrateModel::rests_on() const {
  const Scenario* scenario = configuration_.scenario();
  const Prediction* prediction = configuration_.closed_form();
  if (scenario == nullptr || prediction == nullptr) return tr("The scenario is not complete.");
  QStringList parts{tr("framework %1").arg(qt(scenario->framework->id))};
  const auto add = [&](const QString& what, const auto* profile) {
    if (profile != nullptr) parts << tr("%1 %2").arg(what, qt(profile->id));
  };
  add(tr("kernels"), scenario->compute);
  add(tr("operators"), scenario->operators);
  add(tr("links"), scenario->link_profile);
  add(tr("network"), scenario->network_profile);
  add(tr("library"), scenario->library_profile);
  return tr("What is on screen rests on the profiles: %1. Evidence %2: %3.")
      .arg(parts.join(QStringLiteral(", ")), qt(name_of(prediction->expected_error.grade)),
           qt(prediction->expected_error.why));
}

}  // namespace stepcast
