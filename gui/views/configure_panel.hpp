#pragma once

#include <QScrollArea>
#include <vector>

class QCheckBox;
class QGridLayout;
class QPushButton;
class QVBoxLayout;

namespace stepcast {

class ConfigurationModel;
class FieldEditor;
struct FormField;
struct FormSection;

/// The scenario as a form, made from the field tables.
class ConfigurePanel : public QScrollArea {
  Q_OBJECT
 public:
  explicit ConfigurePanel(ConfigurationModel& configuration, QWidget* parent = nullptr);
  /// The editor of a field, opened if it is below "more"; null when the form has none.
  FieldEditor* editor(const std::string& pointer);
  /// Puts the keyboard into a field.
  void focus(const std::string& pointer);
  /// Own hardware joined the catalogue: the lists are filled anew.
  void rebuild();

 Q_SIGNALS:
  void wants_servers();
  void wants_own_model();

 private:
  void build();
  QWidget* section_widget(const FormSection& section);
  void add_field(QGridLayout& grid, const FormField& field, QWidget* parent);
  void add_strategy_choice(QVBoxLayout& layout, QWidget* parent);
  void refresh();

  ConfigurationModel& configuration_;
  std::vector<FieldEditor*> editors_;
  struct More {
    QPushButton* button;
    QWidget* body;
  };
  std::vector<More> more_;
  QCheckBox* follows_ = nullptr;
};

}  // namespace stepcast
