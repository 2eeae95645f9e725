#pragma once

#include <QString>
#include <QWidget>
#include <functional>
#include <vector>

class QLabel;
class QProgressBar;
class QToolButton;

namespace stepcast {

class ForecastModel;
struct WorkProgress;

/// What is running, how far it is, and a button that stops it: the simulation, and whatever tabs have at work.
class StatusLine : public QWidget {
  Q_OBJECT
 public:
  explicit StatusLine(ForecastModel& forecast, QWidget* parent = nullptr);

  /// Work of a tab.
  struct Work {
    std::function<bool()> runs;
    std::function<WorkProgress()> progress;
    std::function<void()> stop;
  };
  void add(Work work);
  [[nodiscard]] QString words() const;

 private:
  void refresh();
  void stop();

  ForecastModel& forecast_;
  std::vector<Work> works_;
  QLabel* words_;
  QProgressBar* bar_;
  QToolButton* cancel_;
};

}  // namespace stepcast
