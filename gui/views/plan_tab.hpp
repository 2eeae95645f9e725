#pragma once

#include <QWidget>
#include <map>
#include <string>
#include <vector>

#include "fields/diagnostics.hpp"
#include "fields/json_text.hpp"

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace stepcast {

class BusyStatus;
class ConfigurationModel;
class ExhibitView;
class PlanModel;

/// The planner's question as a form, and its answers.
class PlanTab : public QWidget {
  Q_OBJECT
 public:
  PlanTab(PlanModel& model, ConfigurationModel& configuration, QWidget* parent = nullptr);
  void refresh();
  /// Shows a question of a file, which is asked as it stands until a line of the form is changed; `name`: of the file.
  void take_question(Json question, const QString& name);

 private:
  /// From now on the form asks about the training on the left.
  void drop_question();
  QWidget* build_form();
  QWidget* build_filter();
  /// `pointer`: of the faults that are said below the line.
  QLineEdit* add_line(QFormLayout& form, const QString& label, const QString& hint, const char* pointer);
  void run_or_stop();
  void show_options();
  /// Above the answers; says whether they are of another training.
  [[nodiscard]] QString remark() const;
  void show_progress();
  void show_faults(const std::vector<Fault>& faults);

  PlanModel& model_;
  ConfigurationModel& configuration_;
  QLineEdit *servers_, *counts_, *deadline_, *run_budget_, *month_budget_, *power_;
  std::map<std::string, QLabel*> faults_;  ///< by pointer
  QString suggested_;                      ///< of `counts_`
  Json question_;                          ///< of a file; null: the form's
  QString question_name_;
  QLabel* words_;
  QCheckBox* any_framework_;
  QComboBox *first_, *second_, *axes_;
  QPushButton *run_, *keep_, *all_;
  BusyStatus* busy_;
  ExhibitView *answers_, *rejected_;
};

}  // namespace stepcast
