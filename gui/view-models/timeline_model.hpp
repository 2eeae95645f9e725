#pragma once

#include <QObject>
#include <QString>
#include <atomic>
#include <memory>

class QThread;

namespace stepcast {

class ForecastModel;
struct TimelineData;

/// The timeline of the simulation on screen, read beside the window.
class TimelineModel : public QObject {
  Q_OBJECT
 public:
  explicit TimelineModel(ForecastModel& forecast, QObject* parent = nullptr);
  ~TimelineModel() override;
  /// Null until it has been read.
  [[nodiscard]] std::shared_ptr<const TimelineData> data() const { return data_; }
  [[nodiscard]] bool is_reading() const { return reading_ != nullptr; }
  /// Why there is no timeline, in words.
  [[nodiscard]] QString reason() const;
  /// The trace file that was read, for export.
  [[nodiscard]] const QString& file() const { return file_; }

 Q_SIGNALS:
  void changed();

 private:
  void follow();
  void stop();

  ForecastModel& forecast_;
  std::shared_ptr<const TimelineData> data_;
  QString file_, why_;
  QThread* reading_ = nullptr;
  std::shared_ptr<std::atomic<bool>> stop_;
};

}  // namespace stepcast
