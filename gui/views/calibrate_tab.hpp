#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace stepcast {

class CalibrateModel;
class ExhibitView;

/// Predicted against measured, and what the forecast on screen rests on.
class CalibrateTab : public QWidget {
  Q_OBJECT
 public:
  explicit CalibrateTab(CalibrateModel& model, QWidget* parent = nullptr);
  void refresh();

 private:
  CalibrateModel& model_;
  QPushButton *shipped_, *own_;
  QProgressBar* busy_;
  QLabel *status_, *rests_on_;
  ExhibitView *sets_, *scatter_;
};

}  // namespace stepcast
