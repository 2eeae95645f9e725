#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;

namespace stepcast {

struct WorkProgress;

/// What runs in the background and how far it is: a bar while it runs, and words that stay.
class BusyStatus : public QWidget {
  Q_OBJECT
 public:
  /// Vertical: the bar above the words; horizontal: a short bar before them. `name` is what a screen reader calls it.
  BusyStatus(Qt::Orientation orientation, const QString& name, QWidget* parent = nullptr);
  /// The bar shows the share that is done, or that something moves while the share is not known.
  void show_running(const WorkProgress& progress);
  /// Nothing runs; how it ended, or why it did not begin.
  void show_ended(const QString& words);
  [[nodiscard]] QString words() const;

 private:
  QProgressBar* bar_;
  QLabel* words_;
};

}  // namespace stepcast
