#pragma once

#include <QWidget>

class QComboBox;

namespace stepcast {

class CompareModel;
class ExhibitView;

/// Pinned configurations side by side.
class CompareTab : public QWidget {
  Q_OBJECT
 public:
  explicit CompareTab(CompareModel& model, QWidget* parent = nullptr);
  void refresh();

 private:
  CompareModel& model_;
  ExhibitView* view_;
  QComboBox* pins_;
};

}  // namespace stepcast
