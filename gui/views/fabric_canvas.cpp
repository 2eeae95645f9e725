#include "gui/views/fabric_canvas.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/theme/theme.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/palette.hpp"

namespace stepcast {

namespace {
constexpr double kMargin = 16, kBoxHeight = 26, kLegendHeight = 26;

QFont small_letters(QFont font) {
  font.setPointSizeF(8);
  return font;
}
}  // namespace

FabricCanvas::FabricCanvas(QWidget* parent) : QWidget(parent) {
  setMinimumSize(240, 220);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Drawing of the network"));
  setAccessibleDescription(tr("Arrow keys select servers and switches; the table beside it has their figures"));
}

void FabricCanvas::show_drawing(const FabricDrawing* drawing, std::vector<double> utilisation) {
  drawing_ = drawing;
  utilisation_ = std::move(utilisation);
  update();
}

void FabricCanvas::select(int box) {
  selected_ = box;
  update();
}

QRectF FabricCanvas::box_rect(std::size_t index) const {
  const FabricBox& box = drawing_->boxes[index];
  // Every row takes the whole width, in proportion to the servers below.
  double all = 0;
  for (const FabricBox& other : drawing_->boxes)
    if (other.row == 0) all = std::max(all, static_cast<double>(other.first + other.count));
  const double width = this->width() - 2 * kMargin, height = this->height() - 2 * kMargin - kLegendHeight;
  const double left = kMargin + box.first / all * width, right = kMargin + (box.first + box.count) / all * width;
  const double gap = drawing_->rows > 1 ? (height - kBoxHeight) / (drawing_->rows - 1) : 0;
  const double y = kMargin + (drawing_->rows - 1 - box.row) * gap;
  const double space = std::min(6.0, (right - left) * 0.15);
  QRectF out(left + space / 2, y, right - left - space, kBoxHeight);
  const double widest = box.row == 0 ? 64 : 190;
  if (out.width() > widest) out = QRectF(out.center().x() - widest / 2, y, widest, kBoxHeight);
  return out;
}

void FabricCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const ThemeColors& colors = theme_colors();
  painter.fillRect(rect(), colors.surface);
  if (drawing_ == nullptr || drawing_->boxes.empty()) return;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(small_letters(font()));
  const bool dark = current_theme() == Theme::dark;
  for (std::size_t i = 0; i < drawing_->boxes.size(); ++i) {
    const FabricBox& box = drawing_->boxes[i];
    if (box.parent < 0) continue;
    const QRectF from = box_rect(i), to = box_rect(static_cast<std::size_t>(box.parent));
    const double share = i < utilisation_.size() ? utilisation_[i] : -1;
    const QPointF start(from.center().x(), from.top());
    const QPointF end(std::clamp(from.center().x(), to.left() + 4, to.right() - 4), to.bottom());
    QPainterPath path(start);
    const double middle = (start.y() + end.y()) / 2;
    path.cubicTo(QPointF(start.x(), middle), QPointF(end.x(), middle), end);
    painter.setPen(QPen(share < 0 ? colors.line : heat(share, dark), share < 0 ? 1.2 : 1.5 + 4 * std::min(1.0, share),
                        Qt::SolidLine, Qt::RoundCap));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
  }
  for (std::size_t i = 0; i < drawing_->boxes.size(); ++i) {
    const FabricBox& box = drawing_->boxes[i];
    const QRectF area = box_rect(i);
    const bool chosen = static_cast<int>(i) == selected_;
    painter.setPen(QPen(chosen ? colors.accent : colors.line, chosen ? 2.5 : 1));
    painter.setBrush(box.row == 0 ? colors.window : colors.raised);
    painter.drawRoundedRect(area, 3, 3);
  }
  painter.setPen(colors.text);
  for (const Name& name : names()) painter.drawText(name.place, Qt::AlignCenter, name.words);
  // What the colours mean.
  const double y = height() - kLegendHeight + 4, wide = 180;
  painter.setPen(colors.muted);
  painter.drawText(QRectF(kMargin, y, 130, 14), Qt::AlignVCenter, tr("utilisation of links"));
  for (int i = 0; i < 60; ++i)
    painter.fillRect(QRectF(kMargin + 130 + i * wide / 60, y + 2, wide / 60 + 1, 10), heat(i / 59.0, dark));
  painter.drawText(QRectF(kMargin + 130 + wide + 6, y, 60, 14), Qt::AlignVCenter, shown_percent(1));
}

std::vector<FabricCanvas::Name> FabricCanvas::names() const {
  std::vector<Name> out;
  if (drawing_ == nullptr) return out;
  const std::vector<FabricBox>& boxes = drawing_->boxes;
  const QFontMetrics letters(small_letters(font()));
  for (std::size_t first = 0; first < boxes.size();) {
    std::size_t end = first;
    while (end < boxes.size() && boxes[end].row == boxes[first].row) ++end;
    add_names(out, first, end, letters);
    first = end;
  }
  return out;
}

/// Of one row: names where all of them have room, else numbers of its first servers.
void FabricCanvas::add_names(std::vector<Name>& out, std::size_t first, std::size_t end,
                             const QFontMetrics& letters) const {
  constexpr int kBeside = 6;  // pixels that a name keeps free
  const auto name_of_box = [&](std::size_t i) {
    const FabricBox& box = drawing_->boxes[i];
    return box.row == 0 && box.count == 1 ? QString::number(box.first) : box.name;
  };
  const auto widest = [&](const auto& name) {
    int most = 0;
    for (std::size_t i = first; i < end; ++i) most = std::max(most, letters.horizontalAdvance(name(i)));
    return most + kBeside;
  };
  const auto number = [&](std::size_t i) { return QString::number(drawing_->boxes[i].first); };
  bool room = true;
  for (std::size_t i = first; i < end; ++i)
    room = room && letters.horizontalAdvance(name_of_box(i)) + kBeside <= box_rect(i).width();
  const double pitch =
      end - first > 1 ? box_rect(first + 1).center().x() - box_rect(first).center().x() : static_cast<double>(width());
  const int wanted = room ? 0 : widest(number);
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(wanted / std::max(1.0, pitch))));
  for (std::size_t i = first; i < end; i += every) {
    const QRectF area = box_rect(i);
    const double half = std::max<double>(area.width(), wanted) / 2;
    out.push_back(
        {QRectF(area.center().x() - half, area.top(), 2 * half, area.height()), room ? name_of_box(i) : number(i)});
  }
}

int FabricCanvas::box_at(const QPointF& point) const {
  if (drawing_ == nullptr) return -1;
  for (std::size_t i = 0; i < drawing_->boxes.size(); ++i)
    if (box_rect(i).adjusted(-1, -4, 1, 4).contains(point)) return static_cast<int>(i);
  return -1;
}

void FabricCanvas::mousePressEvent(QMouseEvent* event) {
  if (const int box = box_at(event->position()); box >= 0) Q_EMIT selected(box);
}

/// Above the top, and below a server, there is nothing: the box itself.
int FabricCanvas::above(int box) const {
  const int parent = drawing_->boxes[static_cast<std::size_t>(box)].parent;
  return parent < 0 ? box : parent;
}

int FabricCanvas::first_below(int box) const {
  for (std::size_t i = 0; i < drawing_->boxes.size(); ++i)
    if (drawing_->boxes[i].parent == box) return static_cast<int>(i);
  return box;
}

void FabricCanvas::keyPressEvent(QKeyEvent* event) {
  if (drawing_ == nullptr || drawing_->boxes.empty()) return;
  const int last = static_cast<int>(drawing_->boxes.size()) - 1;
  const int now = std::clamp(selected_, 0, last);
  switch (event->key()) {
    case Qt::Key_Left:
      return Q_EMIT selected(std::max(0, now - 1));
    case Qt::Key_Right:
      return Q_EMIT selected(std::min(last, now + 1));
    case Qt::Key_Up:
      return Q_EMIT selected(above(now));
    case Qt::Key_Down:
      return Q_EMIT selected(first_below(now));
    default:
      QWidget::keyPressEvent(event);
  }
}

bool FabricCanvas::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int box = box_at(help->pos());
    if (box < 0) {
      QToolTip::hideText();
      return true;
    }
    const auto index = static_cast<std::size_t>(box);
    QString words = drawing_->boxes[index].name;
    if (index < utilisation_.size() && utilisation_[index] >= 0)
      words += tr(": links up %1 busy").arg(shown_percent(utilisation_[index]));
    QToolTip::showText(help->globalPos(), words, this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace stepcast
