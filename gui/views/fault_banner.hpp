#pragma once

#include <QFrame>

class QLabel;

namespace stepcast {

class ConfigurationModel;

/// What is wrong with the scenario, what the simulator has against it, or what is to be said of the last change, in
/// words, and a way out. Hidden while all is well.
class FaultBanner : public QFrame {
  Q_OBJECT
 public:
  explicit FaultBanner(ConfigurationModel& configuration, QWidget* parent = nullptr);

 Q_SIGNALS:
  /// The user wants to mend the field at this pointer.
  void wants_field(const std::string& pointer);

 private:
  void refresh();
  [[nodiscard]] QString words() const;

  ConfigurationModel& configuration_;
  QLabel* text_;
  QWidget* choose_;
};

}  // namespace stepcast
