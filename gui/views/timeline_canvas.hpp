#pragma once

#include <QAbstractScrollArea>
#include <memory>

#include "gui/views/timeline_painter.hpp"

namespace stepcast {

/// The timeline itself: drag or arrow keys pan, Ctrl and the wheel (or + and −) zoom, Home shows all.
class TimelineCanvas : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit TimelineCanvas(QWidget* parent = nullptr);
  void show_data(std::shared_ptr<const TimelineData> data);
  void show_all();
  /// By a factor above 1 closer; what lies at this x, in pixels, stays there.
  void zoom(double factor, double around_x);
  /// Moves the part that is shown later by so many pixels.
  void pan(double pixels);
  /// Makes pale what is not on the critical path.
  void set_critical(bool only);
  /// Lights slices whose name holds these words; empty: all.
  void set_words(const QString& words);
  /// Goes to the next slice that the search finds; false when there is none.
  bool next_match();
  [[nodiscard]] const TimelineView& view() const { return view_; }
  /// The picture as it is on screen.
  [[nodiscard]] QImage picture() const;
  /// What is below a point, in words.
  [[nodiscard]] QString words_at(const QPoint& point) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void rebuild();
  void clamp();
  void place_scroll_bars();

  std::shared_ptr<const TimelineData> data_;
  std::unique_ptr<TimelinePainter> painter_;
  TimelineView view_;
  QPoint pressed_;
  TimelineView pressed_view_;
  bool dragging_ = false, placing_ = false;
};

}  // namespace stepcast
