#pragma once

#include <QStringList>
#include <QWidget>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTabWidget;

namespace stepcast {

class BusyStatus;
class CalibrateModel;
class ExhibitView;
class FitModel;

/// Measurements of a cluster fitted, and what rests on the fit; and predictions against measured runs.
class CalibrateTab : public QWidget {
  Q_OBJECT
 public:
  CalibrateTab(CalibrateModel& scores, FitModel& fit, QWidget* parent = nullptr);
  void refresh();
  /// The command whose answer the open page shows; empty: a run of what is on screen.
  [[nodiscard]] QStringList command() const;

 private:
  QWidget* build_form();
  QWidget* build_scores();
  ExhibitView* add_exhibit(QWidget& page);
  QWidget* add_page(const QString& title);
  void choose_files();
  void open_profile(const QString& file);
  void fit_or_stop();
  void show_fit();
  void list_profiles();
  void show_scores();

  CalibrateModel& scores_;
  FitModel& fit_;
  QLineEdit *files_, *node_, *fabric_, *name_;
  QCheckBox *stand_in_, *use_;
  QPushButton *run_, *shipped_, *own_;
  QComboBox* profiles_;
  BusyStatus *fit_busy_, *scores_busy_;
  QTabWidget* pages_;
  QLabel *words_, *rests_on_;
  ExhibitView *constants_, *held_out_, *measured_, *residuals_, *effect_, *sets_, *scatter_;
};

}  // namespace stepcast
