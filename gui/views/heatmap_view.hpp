#pragma once

#include <QWidget>

#include "gui/view-models/sweep_model.hpp"

namespace stepcast {

/// A figure over two parameters as colours, with its value written where there is room. Pale hatching: no result.
class HeatmapView : public QWidget {
  Q_OBJECT
 public:
  explicit HeatmapView(QWidget* parent = nullptr);
  void show_grid(const SweepModel::Grid& grid);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  SweepModel::Grid grid_;
};

}  // namespace stepcast
