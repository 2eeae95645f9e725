#pragma once

#include <QColor>
#include <QRectF>
#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

class QPainter;

namespace stepcast {

struct TimelineData;
struct TimelineTrack;

/// What part of a timeline is looked at, and how.
struct TimelineView {
  double from = 0, to = 1;     ///< nanoseconds
  double top = 0;              ///< pixels scrolled down
  bool critical_only = false;  ///< what is not on the critical path is pale
  QString words;               ///< slices whose name holds them are lit, the others pale
  int lit_track = -1;          ///< the slice that the search found, framed
  long lit_event = -1;
};

/// Draws a timeline with as much detail as a pixel shows: what is thinner than a pixel is drawn together, so that the
/// time to draw follows from the size of the picture and not from the number of slices.
class TimelinePainter {
 public:
  static constexpr int kGutter = 200, kRuler = 22, kRow = 17, kHeader = 20, kCounter = 34;

  explicit TimelinePainter(std::shared_ptr<const TimelineData> data);
  void paint(QPainter& painter, const QSize& size, const TimelineView& view) const;

  /// Height of all rows, ruler excluded.
  [[nodiscard]] int content_height() const;
  /// Where a row lies, counted from the top of the content.
  [[nodiscard]] int top_of_track(int track) const;
  /// The track below a height of the content; −1 when there is none.
  [[nodiscard]] int track_at(double y) const;
  /// Index into data.counters of the row at a height; −1 when there is none.
  [[nodiscard]] int counter_at(double y) const;
  [[nodiscard]] static QColor color_of_category(const QString& category);
  /// Nanoseconds at an x of a picture of this width.
  [[nodiscard]] static double time_at(double x, int width, const TimelineView& view);
  /// The reverse.
  [[nodiscard]] static double x_of(double time, int width, const TimelineView& view);

 private:
  struct Row {
    enum class Kind { header, track, counter };
    Kind kind;
    int index = 0;  ///< of the track or counter
    int top = 0, height = 0;
    QString title;
  };
  void lay_out();
  void paint_ruler(QPainter& painter, const QSize& size, const TimelineView& view) const;
  void paint_track(QPainter& painter, const Row& row, const QRectF& area, const TimelineView& view) const;
  void paint_counter(QPainter& painter, const Row& row, const QRectF& area, const TimelineView& view) const;
  void paint_label(QPainter& painter, const Row& row, double y) const;

  std::shared_ptr<const TimelineData> data_;
  std::vector<Row> rows_;
  std::vector<QColor> colors_, pale_;  ///< by category
  int height_ = 0;
};

}  // namespace stepcast
