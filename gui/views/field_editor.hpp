#pragma once

#include <QWidget>

#include "gui/view-models/form_fields.hpp"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;

namespace stepcast {

class ConfigurationModel;

/// One field of the form: its editor, what it holds by default, and what is wrong with it in words below.
class FieldEditor : public QWidget {
  Q_OBJECT
 public:
  FieldEditor(const FormField& field, ConfigurationModel& configuration, QWidget* parent = nullptr);
  [[nodiscard]] const FormField& field() const { return field_; }
  /// Shows what the scenario holds now.
  void refresh();
  [[nodiscard]] QWidget* editor() const;
  [[nodiscard]] QString fault() const;
  /// Takes what is typed and not yet entered into the scenario.
  void finish();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void make_combo(bool editable);
  void make_line();
  void make_check();
  void fill_choices();
  void offer_legal_values();
  void offer_legal_counts();
  void show_combo_value();
  void show_line_value();
  void take_combo_text(const QString& text);
  void take_line_text(const QString& text);
  [[nodiscard]] QString default_words() const;
  [[nodiscard]] Json parsed(const QString& text) const;

  const FormField& field_;
  ConfigurationModel& configuration_;
  QComboBox* combo_ = nullptr;
  QLineEdit* line_ = nullptr;
  QCheckBox* check_ = nullptr;
  QLabel* fault_ = nullptr;
};

}  // namespace stepcast
