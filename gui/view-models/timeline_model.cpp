#include "gui/view-models/timeline_model.hpp"

#include <QThread>

#include "fields/diagnostics.hpp"
#include "gui/view-models/forecast_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/timeline_data.hpp"

namespace stepcast {

TimelineModel::TimelineModel(ForecastModel& forecast, QObject* parent) : QObject(parent), forecast_(forecast) {
  connect(&forecast_, &ForecastModel::changed, this, &TimelineModel::follow);
  connect(&forecast_, &ForecastModel::state_changed, this, [this] {
    if (!forecast_.is_simulated()) Q_EMIT changed();
  });
}

TimelineModel::~TimelineModel() { stop(); }

void TimelineModel::stop() {
  if (reading_ == nullptr) return;
  *stop_ = true;
  reading_->disconnect(this);
  reading_->wait();
  reading_->deleteLater();
  reading_ = nullptr;
}

void TimelineModel::follow() {
  const QString trace = forecast_.trace();
  if (trace == file_) return;
  stop();
  file_ = trace;
  data_.reset();
  why_.clear();
  if (!file_.isEmpty()) {
    struct Result {
      std::shared_ptr<const TimelineData> data;
      QString why;
    };
    auto result = std::make_shared<Result>();
    stop_ = std::make_shared<std::atomic<bool>>(false);
    reading_ = QThread::create([result, file = plain(trace), stop = stop_] {
      try {
        result->data = read_timeline(file, *stop);
      } catch (const std::exception& error) {
        result->why = QString::fromUtf8(error.what());
      }
    });
    connect(reading_, &QThread::finished, this, [this, result, thread = reading_] {
      // What a thread said as it was stopped comes after another one was started, or none.
      if (thread != reading_) return;
      data_ = result->data;
      why_ = result->why;
      reading_->deleteLater();
      reading_ = nullptr;
      Q_EMIT changed();
    });
    reading_->start();
  }
  Q_EMIT changed();
}

QString TimelineModel::reason() const {
  if (QString why = forecast_.without_timeline(); !why.isEmpty()) return why;
  if (!why_.isEmpty()) return why_;
  if (is_reading()) return tr("Reading the timeline …");
  if (forecast_.is_busy()) return tr("Simulating …");
  if (forecast_.state() == ForecastModel::State::failed || forecast_.state() == ForecastModel::State::cancelled)
    return forecast_.status();
  if (forecast_.is_simulated()) return tr("The timeline comes with the next simulation (F5).");
  return tr("Only a simulation has a timeline; the closed form has none.");
}

}  // namespace stepcast
