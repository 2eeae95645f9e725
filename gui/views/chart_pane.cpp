#include "gui/views/chart_pane.hpp"

#include <QChart>
#include <QGuiApplication>
#include <QMouseEvent>
#include <QRubberBand>
#include <QStyleHints>

namespace stepcast {

ChartPane::ChartPane(QWidget* parent) : QChartView(parent), band_(new QRubberBand(QRubberBand::Rectangle, this)) {
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  setBackgroundBrush(Qt::NoBrush);
  setStyleSheet(QStringLiteral("background: transparent"));
}

void ChartPane::set_markable(bool markable) {
  markable_ = markable;
  setCursor(markable ? Qt::CrossCursor : Qt::ArrowCursor);
}

void ChartPane::mousePressEvent(QMouseEvent* event) {
  dragging_ = false;
  pressed_ = markable_ && event->button() == Qt::LeftButton;
  from_ = event->pos();
  QChartView::mousePressEvent(event);
}

void ChartPane::mouseMoveEvent(QMouseEvent* event) {
  if (pressed_ && (event->pos() - from_).manhattanLength() >= QGuiApplication::styleHints()->startDragDistance())
    dragging_ = true;
  if (pressed_ && dragging_) {
    band_->setGeometry(QRect(from_, event->pos()).normalized());
    band_->show();
  }
  QChartView::mouseMoveEvent(event);
}

void ChartPane::mouseReleaseEvent(QMouseEvent* event) {
  const bool ends = pressed_ && dragging_;
  pressed_ = false;
  band_->hide();
  QChartView::mouseReleaseEvent(event);
  if (!ends || chart()->series().isEmpty()) return;
  const auto value_at = [this](const QPoint& at) {
    return chart()->mapToValue(chart()->mapFromScene(mapToScene(at)), chart()->series().front());
  };
  const QRectF part = QRectF(value_at(from_), value_at(event->pos())).normalized();
  dragging_ = false;
  Q_EMIT marked(part);
}

}  // namespace stepcast
