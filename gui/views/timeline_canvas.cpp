#include "gui/views/timeline_canvas.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/timeline_data.hpp"

namespace stepcast {

namespace {
constexpr double kShortestView = 200;  // nanoseconds
constexpr int kScrollSteps = 10000;
}  // namespace

TimelineCanvas::TimelineCanvas(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Timeline of the step"));
  setAccessibleDescription(tr("Arrow keys move, plus and minus zoom, Home shows all"));
}

void TimelineCanvas::show_data(std::shared_ptr<const TimelineData> timeline) {
  const bool other = timeline != data_;
  data_ = std::move(timeline);
  rebuild();
  if (other) show_all();
}

void TimelineCanvas::rebuild() {
  painter_ = data_ ? std::make_unique<TimelinePainter>(data_) : nullptr;
  viewport()->update();
}

void TimelineCanvas::show_all() {
  view_.from = 0;
  view_.to = data_ ? std::max<double>(1, static_cast<double>(data_->end)) : 1;
  view_.top = 0;
  clamp();
}

void TimelineCanvas::clamp() {
  if (!data_) return viewport()->update();
  const double end = std::max<double>(kShortestView, static_cast<double>(data_->end));
  double length = std::clamp(view_.to - view_.from, kShortestView, end);
  view_.from = std::clamp(view_.from, 0.0, end - length);
  view_.to = view_.from + length;
  const double visible = viewport()->height() - TimelinePainter::kRuler;
  view_.top = std::clamp(view_.top, 0.0, std::max(0.0, painter_->content_height() - visible));
  place_scroll_bars();
  viewport()->update();
}

void TimelineCanvas::place_scroll_bars() {
  placing_ = true;
  const int visible = viewport()->height() - TimelinePainter::kRuler;
  verticalScrollBar()->setRange(0, std::max(0, painter_->content_height() - visible));
  verticalScrollBar()->setPageStep(visible);
  verticalScrollBar()->setSingleStep(TimelinePainter::kRow);
  verticalScrollBar()->setValue(static_cast<int>(view_.top));
  const double end = static_cast<double>(std::max<std::int64_t>(1, data_->end));
  const int page = static_cast<int>(kScrollSteps * (view_.to - view_.from) / end);
  horizontalScrollBar()->setRange(0, kScrollSteps - std::min(kScrollSteps, page));
  horizontalScrollBar()->setPageStep(std::max(1, page));
  horizontalScrollBar()->setSingleStep(std::max(1, page / 20));
  horizontalScrollBar()->setValue(static_cast<int>(kScrollSteps * view_.from / end));
  placing_ = false;
}

void TimelineCanvas::scrollContentsBy(int, int) {
  if (placing_ || !data_) return;
  const double length = view_.to - view_.from;
  view_.top = verticalScrollBar()->value();
  view_.from = horizontalScrollBar()->value() * static_cast<double>(data_->end) / kScrollSteps;
  view_.to = view_.from + length;
  clamp();
}

void TimelineCanvas::zoom(double factor, double around_x) {
  const double at = TimelinePainter::time_at(around_x, viewport()->width(), view_);
  view_.from = at - (at - view_.from) / factor;
  view_.to = at + (view_.to - at) / factor;
  clamp();
}

void TimelineCanvas::pan(double pixels) {
  const double time = pixels / std::max(1, viewport()->width() - TimelinePainter::kGutter) * (view_.to - view_.from);
  view_.from += time;
  view_.to += time;
  clamp();
}

void TimelineCanvas::set_critical(bool only) {
  view_.critical_only = only;
  viewport()->update();
}

void TimelineCanvas::set_words(const QString& words) {
  view_.words = words;
  view_.lit_track = -1;
  view_.lit_event = -1;
  viewport()->update();
}

bool TimelineCanvas::next_match() {
  if (!data_) return false;
  const auto found =
      data_->find_next(view_.words, {view_.lit_track, static_cast<std::size_t>(std::max(0L, view_.lit_event))});
  if (found.track < 0) return false;
  view_.lit_track = found.track;
  view_.lit_event = static_cast<long>(found.event);
  const TimelineEvent& event = data_->tracks[static_cast<std::size_t>(found.track)].events[found.event];
  const double length = std::min(view_.to - view_.from, 40.0 * static_cast<double>(event.end - event.start + 1));
  const double middle = static_cast<double>(event.start + event.end) / 2;
  view_.from = middle - length / 2;
  view_.to = middle + length / 2;
  view_.top = painter_->top_of_track(found.track) - viewport()->height() / 3.0;
  clamp();
  return true;
}

QImage TimelineCanvas::picture() const {
  QImage out(viewport()->size() * devicePixelRatioF(), QImage::Format_RGB32);
  out.setDevicePixelRatio(devicePixelRatioF());
  QPainter painter(&out);
  if (painter_) painter_->paint(painter, viewport()->size(), view_);
  return out;
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  if (painter_) {
    painter_->paint(painter, viewport()->size(), view_);
  } else {
    painter.fillRect(viewport()->rect(), palette().base());
  }
}

void TimelineCanvas::resizeEvent(QResizeEvent*) { clamp(); }

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const double steps = (event->angleDelta().y() != 0 ? event->angleDelta().y() : event->angleDelta().x()) / 120.0;
  if (event->modifiers() & Qt::ControlModifier) {
    zoom(std::pow(1.25, steps), event->position().x());
  } else if (event->modifiers() & Qt::ShiftModifier || event->angleDelta().y() == 0) {
    pan(-steps * 90);
  } else {
    view_.top -= steps * 3 * TimelinePainter::kRow;
    clamp();
  }
  event->accept();
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->pos();
  pressed_view_ = view_;
  dragging_ = event->button() == Qt::LeftButton;
  if (dragging_) viewport()->setCursor(Qt::ClosedHandCursor);
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!dragging_) return;
  view_.from = pressed_view_.from;
  view_.to = pressed_view_.to;
  view_.top = pressed_view_.top - (event->pos().y() - pressed_.y());
  pan(pressed_.x() - event->pos().x());
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent*) {
  dragging_ = false;
  viewport()->unsetCursor();
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) { zoom(4, event->pos().x()); }

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  const double middle = (viewport()->width() + TimelinePainter::kGutter) / 2.0;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_W:
      return zoom(1.5, middle);
    case Qt::Key_Minus:
    case Qt::Key_S:
      return zoom(1 / 1.5, middle);
    case Qt::Key_Left:
    case Qt::Key_A:
      return pan(-120);
    case Qt::Key_Right:
    case Qt::Key_D:
      return pan(120);
    case Qt::Key_Home:
      return show_all();
    case Qt::Key_Up:
    case Qt::Key_Down:
      view_.top += event->key() == Qt::Key_Up ? -40 : 40;
      return clamp();
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

QString TimelineCanvas::words_at(const QPoint& point) const {
  if (!data_ || point.x() < TimelinePainter::kGutter || point.y() < TimelinePainter::kRuler) return {};
  const double y = point.y() - TimelinePainter::kRuler + view_.top;
  const auto time = static_cast<std::int64_t>(TimelinePainter::time_at(point.x(), viewport()->width(), view_));
  const QString when = shown(Seconds(static_cast<double>(time) / 1e9));
  if (const int counter = painter_->counter_at(y); counter >= 0) {
    const TimelineCounter& c = data_->counters[static_cast<std::size_t>(counter)];
    const auto after = std::upper_bound(c.samples.begin(), c.samples.end(), time,
                                        [](std::int64_t t, const TimelineCounter::Sample& s) { return t < s.time; });
    const double value = after == c.samples.begin() ? 0 : (after - 1)->value;
    return tr("%1: %2 %3 at %4; mean %5")
        .arg(c.name, shown_number(value), c.unit, when, shown_number(c.mean(data_->end)));
  }
  const int index = painter_->track_at(y);
  if (index < 0) return {};
  const TimelineTrack& track = data_->tracks[static_cast<std::size_t>(index)];
  const long at = TimelineData::at(track, time);
  if (at < 0 || track.events[static_cast<std::size_t>(at)].end < time)
    return tr("%1, %2: nothing at %3").arg(track.device, track.stream, when);
  const TimelineEvent& event = track.events[static_cast<std::size_t>(at)];
  QString out = QStringLiteral("<b>%1</b> (%2)<br>%3, %4<br>")
                    .arg(data_->names[event.name], data_->categories[event.category], track.device, track.stream);
  out += tr("%1 long, from %2")
             .arg(shown(Seconds(static_cast<double>(event.end - event.start) / 1e9)),
                  shown(Seconds(static_cast<double>(event.start) / 1e9)));
  if (event.micro_batch >= 0) out += tr("<br>micro-batch %1").arg(event.micro_batch);
  if (event.critical) out += tr("<br>on the critical path");
  return out;
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString words = words_at(help->pos());
    if (words.isEmpty()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), words, viewport());
    }
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace stepcast
