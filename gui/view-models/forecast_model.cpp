#include "gui/view-models/forecast_model.hpp"

#include <QFile>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "models/scenario/scenario.hpp"
#include "models/updates/timeline_fault.hpp"
#include "report/json.hpp"

namespace stepcast {

namespace {
/// A value that is being typed is not simulated letter by letter.
constexpr int kDelayMilliseconds = 250;
}  // namespace

ForecastModel::ForecastModel(ConfigurationModel& configuration, QObject* parent)
    : QObject(parent), configuration_(configuration) {
  delay_.setSingleShot(true);
  delay_.setInterval(kDelayMilliseconds);
  connect(&delay_, &QTimer::timeout, this, &ForecastModel::simulate);
  connect(&configuration_, &ConfigurationModel::changed, this, &ForecastModel::follow_change);
  connect(&worker_, &WorkerProcess::replied, this, &ForecastModel::take);
  connect(&worker_, &WorkerProcess::failed, this, [this](const QString& why) { set_state(State::failed, why); });
}

const Prediction* ForecastModel::shown() const {
  if (!configuration_.is_valid()) return nullptr;
  return is_simulated() && simulated_ ? &*simulated_ : configuration_.closed_form();
}

void ForecastModel::follow_change() {
  if (configuration_.generation() == generation_) return;
  generation_ = configuration_.generation();
  delay_.stop();
  worker_.cancel();
  simulated_.reset();
  const Scenario* scenario = configuration_.scenario();
  const bool simulates = automatic_ && scenario && scenario->spec.run.fidelity == Fidelity::simulated;
  if (simulates) delay_.start();
  set_state(simulates ? State::waiting : State::idle);
  Q_EMIT changed();
}

void ForecastModel::set_automatic(bool automatic) {
  automatic_ = automatic;
  if (!automatic && state_ == State::waiting) cancel();
}

void ForecastModel::simulate() {
  delay_.stop();
  if (!configuration_.is_valid()) return;
  generation_ = configuration_.generation();
  Request request;
  request.id = generation_;
  request.scenario = configuration_.document();
  request.scenario["run"]["fidelity"] = name_of(Fidelity::simulated);
  request.file = "scenario";
  request.catalog = catalog_;
  if (!trace_.isEmpty()) QFile::remove(trace_);
  trace_.clear();
  if (want_trace_ && folder_.isValid() && without_timeline().isEmpty()) {
    trace_ = folder_.filePath(QStringLiteral("step-%1.json").arg(++traces_));
    request.trace = plain(trace_);
  }
  if (folder_.isValid()) {
    QFile::remove(progress_file());
    request.progress = plain(progress_file());
  }
  running_.start();
  set_state(State::running);
  worker_.start({request});
}

void ForecastModel::take(const Reply& reply) {
  if (!reply.id.is_number_integer() || reply.id.get<long>() != configuration_.generation()) return;
  took_ = seconds_running();
  if (!reply.error.empty()) return set_state(State::failed, qt(reply.error));
  if (!reply.prediction) {
    configuration_.refuse(reply.faults);
    return set_state(State::failed, qt(reply.faults.empty() ? "" : reply.faults.front().text()));
  }
  try {
    simulated_ = prediction_from_json(*reply.prediction);
  } catch (const std::exception& error) {
    return set_state(State::failed, qt(error.what()));
  }
  set_state(State::simulated);
  Q_EMIT changed();
}

void ForecastModel::cancel() {
  if (!is_busy()) return;
  delay_.stop();
  worker_.cancel();
  set_state(State::cancelled);
}

void ForecastModel::want_trace(bool wanted) {
  want_trace_ = wanted;
  if (!wanted || !trace_.isEmpty() || !without_timeline().isEmpty()) return;
  if (state_ == State::running || state_ == State::simulated) simulate();
}

QString ForecastModel::without_timeline() const {
  const Scenario* scenario = configuration_.scenario();
  const std::optional<Fault> fault = scenario != nullptr ? timeline_fault(*scenario) : std::nullopt;
  return fault ? tr("No timeline: %1; %2.").arg(qt(fault->message), qt(fault->suggestion)) : QString();
}

double ForecastModel::seconds_running() const {
  return running_.isValid() ? static_cast<double>(running_.nsecsElapsed()) / 1e9 : 0;
}

QString ForecastModel::progress_file() const { return folder_.filePath(QStringLiteral("progress")); }

WorkProgress ForecastModel::progress() const {
  WorkProgress out{tr("Simulating"), tr("operations")};
  QFile file(progress_file());
  if (state_ != State::running || !file.open(QIODevice::ReadOnly)) return out;
  const QStringList numbers = QString::fromLatin1(file.readLine()).split(QLatin1Char(' '), Qt::SkipEmptyParts);
  if (numbers.size() != 2) return out;
  out.done = numbers[0].toDouble();
  out.all = numbers[1].toDouble();
  if (seconds_running() > 0) out.per_second = out.done / seconds_running();
  return out;
}

void ForecastModel::set_state(State state, const QString& why) {
  state_ = state;
  why_ = why;
  Q_EMIT state_changed();
}

QString ForecastModel::status() const {
  const QString closed =
      tr("closed form in %1").arg(stepcast::shown(Seconds(configuration_.last_milliseconds() / 1e3)));
  switch (state_) {
    case State::waiting:
    case State::running:
      return tr("%1 · %2 so far")
          .arg(progress().words(), stepcast::shown(Seconds(state_ == State::running ? seconds_running() : 0)));
    case State::simulated:
      return tr("Simulated in %1 · %2").arg(stepcast::shown(Seconds(took_)), closed);
    case State::failed:
      return tr("No simulation: %1").arg(why_);
    case State::cancelled:
      return tr("Simulation cancelled · %1").arg(closed);
    case State::idle:
      break;
  }
  return configuration_.is_valid() ? sentence(closed) : tr("The scenario is not complete");
}

}  // namespace stepcast
