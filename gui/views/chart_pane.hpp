#pragma once

#include <QChartView>

class QRubberBand;

namespace stepcast {

/// A chart of which a part can be marked by dragging.
class ChartPane : public QChartView {
  Q_OBJECT
 public:
  explicit ChartPane(QWidget* parent = nullptr);
  /// Whether dragging marks a part.
  void set_markable(bool markable);
  /// Constant: the size that a chart has says nothing about the size that it wants.
  [[nodiscard]] QSize sizeHint() const override { return minimumSize(); }
  /// A drag that is going on or has just ended: its clicks on values mean nothing.
  [[nodiscard]] bool is_dragging() const { return dragging_; }

 Q_SIGNALS:
  /// A part was marked, in the values of the chart's axes.
  void marked(const QRectF& part);

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  QRubberBand* band_;
  QPoint from_;
  bool markable_ = false, pressed_ = false, dragging_ = false;
};

}  // namespace stepcast
