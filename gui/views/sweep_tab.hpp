#pragma once

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLineEdit;
class QPushButton;

namespace stepcast {

class BusyStatus;
class ExhibitView;
class HeatmapView;
class SweepModel;

/// One or two parameters varied: curves, a heatmap, the table.
class SweepTab : public QWidget {
  Q_OBJECT
 public:
  explicit SweepTab(SweepModel& model, QWidget* parent = nullptr);

 private:
  QWidget* build_form();
  QComboBox* path_box(const QString& name, bool optional);
  void run_or_stop();
  void open_store();
  void refresh();

  SweepModel& model_;
  QComboBox *first_, *second_, *column_;
  QLineEdit *first_values_, *second_values_, *store_;
  QCheckBox* simulate_;
  QPushButton* run_;
  BusyStatus* busy_;
  ExhibitView* view_;
  HeatmapView* heatmap_;
};

}  // namespace stepcast
