#pragma once

#include <QWidget>
#include <memory>

#include "gui/view-models/fabric_drawing.hpp"

class QCheckBox;
class QLabel;
class QSlider;

namespace stepcast {

class ConfigurationModel;
class FabricCanvas;
class TimelineModel;

/// The network drawn, its links in the colour of their utilisation, with a slider over the step's time.
class FabricTab : public QWidget {
  Q_OBJECT
 public:
  FabricTab(ConfigurationModel& configuration, TimelineModel& timeline, QWidget* parent = nullptr);
  void refresh();
  /// Shows the figures of a box; −1: of none.
  void select(int box);
  [[nodiscard]] const FabricDrawing& drawing() const { return drawing_; }

 private:
  void show_selected();
  [[nodiscard]] double share() const;

  ConfigurationModel& configuration_;
  TimelineModel& timeline_;
  FabricDrawing drawing_;
  std::shared_ptr<const TimelineData> data_;
  FabricCanvas* canvas_;
  QSlider* slider_;
  QCheckBox* mean_;
  QLabel *summary_, *time_;
  FigureTable* table_;
  int selected_ = 0;
};

}  // namespace stepcast
