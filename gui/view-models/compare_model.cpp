#include "gui/view-models/compare_model.hpp"

#include <algorithm>
#include <cmath>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/forecast_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {

using Tone = FigureCell::Tone;

void collect(const Json& from, const Json& to, const std::string& key, QStringList& out) {
  if (from == to) return;
  if (from.is_object() || to.is_object()) {
    const Json empty = Json::object();
    const Json& a = from.is_object() ? from : empty;
    const Json& b = to.is_object() ? to : empty;
    for (const auto& [name, value] : a.items()) collect(value, b.contains(name) ? b[name] : Json(), name, out);
    for (const auto& [name, value] : b.items())
      if (!a.contains(name)) collect(Json(), value, name, out);
    return;
  }
  const auto words = [](const Json& value) {
    if (value.is_null()) return QObject::tr("default");
    return value.is_string() ? qt(value.get<std::string>()) : qt(value.dump());
  };
  out << QStringLiteral("%1 %2 → %3").arg(qt(key).replace(QLatin1Char('_'), QLatin1Char(' ')), words(from), words(to));
}

/// A row of the comparison: its number, the cell that has it, and whether more of it is better.
struct Figure {
  const char* name;
  double (*value)(const Prediction&);
  FigureCell (*cell)(double);
  int better;  ///< +1: more, −1: less, 0: neither
};

FigureCell count_cell(double number) { return {.text = shown_count(number), .number = number}; }
FigureCell whole_cell(double number) { return {.text = shown_whole(std::lround(number)), .number = number}; }
FigureCell of_whole(double share) { return share_cell(share); }
template <class Quantity>
FigureCell cell_of(double number) {
  return figure_cell(Quantity(number));
}

double peak_memory(const Prediction& p) {
  return p.memory.stages.empty() ? 0 : p.memory.stages[static_cast<std::size_t>(p.memory.worst_stage)].total().value();
}

const std::vector<Figure>& figures() {
  static const std::vector<Figure> kFigures{
      {"Tokens/s", [](const Prediction& p) { return p.tokens_per_s; }, count_cell, 1},
      {"Samples/s", [](const Prediction& p) { return p.samples_per_s; }, count_cell, 1},
      {"Step time", [](const Prediction& p) { return p.step_time.value(); }, cell_of<Seconds>, -1},
      {"Time to train", [](const Prediction& p) { return p.time_to_train ? p.time_to_train->value() : NAN; },
       cell_of<Seconds>, -1},
      {"Cost an hour", [](const Prediction& p) { return p.cost_rate ? (*p.cost_rate * 1_h).value() : NAN; },
       cell_of<Dollars>, -1},
      {"Cost of the run", [](const Prediction& p) { return p.run_cost ? p.run_cost->value() : NAN; }, cell_of<Dollars>,
       -1},
      {"Mean power", [](const Prediction& p) { return p.average_power.value(); }, cell_of<Watts>, -1},
      {"Energy of a sample", [](const Prediction& p) { return p.energy_per_sample.value(); }, cell_of<Joules>, -1},
      {"MFU", [](const Prediction& p) { return p.mfu; }, of_whole, 1},
      {"Computing", [](const Prediction& p) { return p.gpu_utilization; }, of_whole, 1},
      {"Exposed communication", [](const Prediction& p) { return p.communication.exposed / p.step_time; }, of_whole,
       -1},
      {"Pipeline bubble", [](const Prediction& p) { return p.bubble / p.step_time; }, of_whole, -1},
      {"Memory of a device", peak_memory, cell_of<Bytes>, -1},
      {"Servers", [](const Prediction& p) { return static_cast<double>(p.nodes); }, whole_cell, 0},
      {"Devices", [](const Prediction& p) { return static_cast<double>(p.devices); }, whole_cell, 0}};
  return kFigures;
}

}  // namespace

QString differences_in_words(const Json& from, const Json& to) {
  QStringList out;
  for (const char* part : {"cluster", "workload", "strategy", "run"})
    collect(from.value(part, Json::object()), to.value(part, Json::object()), part, out);
  return out.join(QStringLiteral(", "));
}

CompareModel::CompareModel(ConfigurationModel& configuration, ForecastModel& forecast, QObject* parent)
    : QObject(parent), configuration_(configuration), forecast_(forecast) {}

void CompareModel::pin() {
  configuration_.finish_edits();
  const Prediction* shown_now = forecast_.shown();
  if (shown_now == nullptr) return;
  const QString server =
      qt(configuration_.value("/cluster/node").is_string() ? configuration_.value("/cluster/node").get<std::string>()
                                                           : std::string());
  const QString name = QStringLiteral("%1: %2 × %3").arg(pins_.size() + 1).arg(shown_whole(shown_now->nodes), server);
  pins_.push_back({name, configuration_.document(), *shown_now, forecast_.is_simulated()});
  Q_EMIT changed();
}

void CompareModel::remove(std::size_t index) {
  if (index >= pins_.size()) return;
  pins_.erase(pins_.begin() + static_cast<std::ptrdiff_t>(index));
  Q_EMIT changed();
}

void CompareModel::clear() {
  pins_.clear();
  Q_EMIT changed();
}

void CompareModel::open(std::size_t index) {
  if (index < pins_.size()) configuration_.set_document(pins_[index].document, tr("pinned configuration"));
}

std::vector<CompareModel::Pin> CompareModel::with_screen() const {
  std::vector<Pin> out = pins_;
  const bool pinned = std::any_of(pins_.begin(), pins_.end(),
                                  [&](const Pin& pin) { return pin.document == configuration_.document(); });
  if (const Prediction* now = forecast_.shown(); now != nullptr && !pinned)
    out.push_back({tr("on screen"), configuration_.document(), *now, forecast_.is_simulated()});
  return out;
}

std::vector<Json> CompareModel::compared() const {
  std::vector<Json> out;
  if (pins_.empty()) return out;
  for (Pin& pin : with_screen()) {
    pin.document["run"]["fidelity"] = name_of(pin.simulated ? Fidelity::simulated : Fidelity::analytic);
    out.push_back(std::move(pin.document));
  }
  return out;
}

Exhibit CompareModel::exhibit() const {
  Exhibit out;
  out.title = tr("Configurations side by side");
  const std::vector<Pin> pins = with_screen();
  if (pins_.empty()) {
    out.remark = tr("Nothing is pinned. Pin what is on screen (Ctrl+D), change something, and see both here.");
    return out;
  }
  struct Part {
    const char* name;
    Seconds (*time)(const Prediction&);
    Hue hue;
  };
  static constexpr std::array parts{
      Part{"compute", [](const Prediction& p) { return p.compute; }, Hue::blue},
      Part{"exposed communication", [](const Prediction& p) { return p.communication.exposed; }, Hue::orange},
      Part{"bubble", [](const Prediction& p) { return p.bubble; }, Hue::sky},
      Part{"waiting", [](const Prediction& p) { return p.synchronization_wait; }, Hue::purple},
      Part{"optimizer", [](const Prediction& p) { return p.optimizer; }, Hue::green},
      Part{"overhead", [](const Prediction& p) { return p.overhead; }, Hue::grey}};
  out.chart.kind = ChartData::Kind::horizontal_bars;
  Seconds longest;
  for (const Pin& pin : pins) longest = std::max(longest, pin.prediction.step_time);
  const TimeUnit unit = time_unit(longest);
  out.chart.x_title = tr("%1 a step").arg(unit.name);
  out.chart.y_from = 0;
  for (const Pin& pin : pins) out.chart.categories << pin.name;
  for (const Part& part : parts) {
    ChartData::Series series{.name = tr(part.name), .hue = part.hue, .values = {}, .points = {}, .tips = {}};
    for (const Pin& pin : pins) {
      series.values.push_back(part.time(pin.prediction) / unit.unit);
      series.tips << tr("%1, %2: %3").arg(pin.name, tr(part.name), shown(part.time(pin.prediction)));
    }
    out.chart.series.push_back(std::move(series));
  }
  out.table.headings << tr("Figure");
  for (const Pin& pin : pins) out.table.headings << pin.name;
  for (const Figure& figure : figures()) {
    const double first = figure.value(pins.front().prediction);
    std::vector<FigureCell> row{{.text = tr(figure.name)}};
    for (const Pin& pin : pins) {
      const double value = figure.value(pin.prediction);
      if (std::isnan(value) || (value == 0 && first == 0)) {
        row.push_back({.text = QStringLiteral("—"), .tone = Tone::muted});
        continue;
      }
      FigureCell cell = figure.cell(value);
      const double change = first != 0 && !std::isnan(first) ? value / first - 1 : 0;
      if (std::abs(change) >= 0.0005) {
        cell.text += QStringLiteral(" (%1%2)").arg(change > 0 ? QStringLiteral("+") : QString(), shown_percent(change));
        if (figure.better != 0) cell.tone = change * figure.better > 0 ? Tone::good : Tone::bad;
      }
      row.push_back(std::move(cell));
    }
    out.table.rows.push_back(std::move(row));
  }
  std::vector<FigureCell> fits{{.text = tr("Fits memory")}}, forecast{{.text = tr("Forecast by")}};
  for (const Pin& pin : pins) {
    fits.push_back({.text = pin.prediction.memory.fits ? tr("yes") : tr("no"),
                    .tone = pin.prediction.memory.fits ? Tone::good : Tone::bad});
    forecast.push_back({.text = pin.simulated ? tr("simulation") : tr("closed form"), .tone = Tone::muted});
  }
  out.table.rows.push_back(std::move(fits));
  out.table.rows.push_back(std::move(forecast));
  QStringList explained;
  for (std::size_t i = 1; i < pins.size(); ++i)
    explained << tr("%1 differs from the first in: %2.")
                     .arg(pins[i].name, differences_in_words(pins[0].document, pins[i].document));
  out.remark = explained.isEmpty() ? tr("Percentages are against the first.") : explained.join(QLatin1Char('\n'));
  return out;
}

}  // namespace stepcast
