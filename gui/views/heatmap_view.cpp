#include "gui/views/heatmap_view.hpp"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/theme/theme.hpp"
#include "gui/view-models/number_format.hpp"

namespace stepcast {

namespace {
constexpr double kLeft = 120, kBottom = 36, kTop = 8, kRight = 12;

/// What does not fit memory has no colour: it is hatched both ways, its figure pale.
void draw_too_large(QPainter& painter, const QRectF& cell, const QString& words) {
  const ThemeColors& colors = theme_colors();
  painter.fillRect(cell, QBrush(colors.line, Qt::DiagCrossPattern));
  if (words.isEmpty()) return;
  const QSizeF size(painter.fontMetrics().horizontalAdvance(words) + 6, painter.fontMetrics().height());
  painter.fillRect(QRectF(cell.center() - QPointF(size.width() / 2, size.height() / 2), size), colors.surface);
  painter.setPen(colors.muted);
  painter.drawText(cell, Qt::AlignCenter, words);
}
}  // namespace

HeatmapView::HeatmapView(QWidget* parent) : QWidget(parent) {
  setMinimumHeight(140);
  setAccessibleName(tr("Heatmap"));
  setAccessibleDescription(tr("The table above has the same figures"));
}

void HeatmapView::show_grid(const SweepModel::Grid& grid) {
  grid_ = grid;
  update();
}

void HeatmapView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const ThemeColors& colors = theme_colors();
  painter.fillRect(rect(), colors.surface);
  if (grid_.x.isEmpty() || grid_.y.isEmpty()) return;
  double lowest = INFINITY, highest = -INFINITY;
  // Colours compare what can be had.
  for (std::size_t i = 0; i < grid_.values.size(); ++i) {
    const double value = grid_.values[i];
    if (std::isnan(value) || !grid_.fits[i]) continue;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  QFont font = painter.font();
  font.setPointSizeF(8);
  painter.setFont(font);
  const double w = (width() - kLeft - kRight) / static_cast<double>(grid_.x.size());
  const double h = (height() - kTop - kBottom) / static_cast<double>(grid_.y.size());
  const bool dark = current_theme() == Theme::dark;
  for (qsizetype j = 0; j < grid_.y.size(); ++j) {
    for (qsizetype i = 0; i < grid_.x.size(); ++i) {
      const auto at = static_cast<std::size_t>(j * grid_.x.size() + i);
      const double value = grid_.values[at];
      const QRectF cell(kLeft + static_cast<double>(i) * w, kTop + static_cast<double>(j) * h, w - 1, h - 1);
      if (std::isnan(value)) {
        painter.fillRect(cell, QBrush(colors.line, Qt::BDiagPattern));
        continue;
      }
      const QString words = shown_number(value);
      const bool has_room = painter.fontMetrics().horizontalAdvance(words) + 4 <= w && h >= 13;
      if (!grid_.fits[at]) {
        draw_too_large(painter, cell, has_room ? words : QString());
        continue;
      }
      const QColor color = heat(highest > lowest ? (value - lowest) / (highest - lowest) : 1, dark);
      painter.fillRect(cell, color);
      if (!has_room) continue;
      painter.setPen(color.lightnessF() > 0.5F ? QColor(0x10, 0x14, 0x1a) : QColor(Qt::white));
      painter.drawText(cell, Qt::AlignCenter, words);
    }
    painter.setPen(colors.muted);
    painter.drawText(QRectF(4, kTop + static_cast<double>(j) * h, kLeft - 10, h), Qt::AlignVCenter | Qt::AlignRight,
                     grid_.y[j]);
  }
  for (qsizetype i = 0; i < grid_.x.size(); ++i)
    painter.drawText(QRectF(kLeft + static_cast<double>(i) * w, height() - kBottom + 2, w, 14), Qt::AlignCenter,
                     grid_.x[i]);
  painter.drawText(QRectF(kLeft, height() - 18, width() - kLeft, 16), Qt::AlignCenter, grid_.x_name);
  painter.drawText(QRectF(4, height() - 18, kLeft, 16), Qt::AlignLeft, grid_.y_name);
}

}  // namespace stepcast
