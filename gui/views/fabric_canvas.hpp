#pragma once

#include <QString>
#include <QWidget>
#include <vector>

#include "gui/view-models/fabric_drawing.hpp"

namespace stepcast {

/// The picture of a network: boxes in rows, links in the colour of their utilisation. A click or the arrow keys select.
class FabricCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit FabricCanvas(QWidget* parent = nullptr);
  /// `utilisation`: of the links up of each box, 0–1; negative where it is not known.
  void show_drawing(const FabricDrawing* drawing, std::vector<double> utilisation);
  void select(int box);
  /// What is written, and where. Where boxes are too narrow for their numbers, every so many-th of a row has its own.
  struct Name {
    QRectF place;
    QString words;
  };
  [[nodiscard]] std::vector<Name> names() const;

 Q_SIGNALS:
  void selected(int box);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRectF box_rect(std::size_t index) const;
  [[nodiscard]] int box_at(const QPointF& point) const;
  [[nodiscard]] int above(int box) const;
  [[nodiscard]] int first_below(int box) const;
  void add_names(std::vector<Name>& out, std::size_t first, std::size_t end, const QFontMetrics& letters) const;

  const FabricDrawing* drawing_ = nullptr;
  std::vector<double> utilisation_;
  int selected_ = -1;
};

}  // namespace stepcast
