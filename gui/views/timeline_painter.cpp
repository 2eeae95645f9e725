#include "gui/views/timeline_painter.hpp"

#include <QObject>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "gui/theme/theme.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/palette.hpp"
#include "gui/view-models/timeline_data.hpp"

namespace stepcast {

namespace {

/// Links that are drawn at most: the busiest.
constexpr std::size_t kMostCounters = 24;
constexpr double kTextFrom = 26;  ///< pixels from which a slice has its name in it

QColor mixed(const QColor& a, const QColor& b, double share) {
  return QColor::fromRgbF(static_cast<float>(a.redF() * (1 - share) + b.redF() * share),
                          static_cast<float>(a.greenF() * (1 - share) + b.greenF() * share),
                          static_cast<float>(a.blueF() * (1 - share) + b.blueF() * share));
}

/// A round step of the ruler: 1, 2 or 5 times a power of ten.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= least) return power * factor;
  return power * 10;
}

}  // namespace

QColor TimelinePainter::color_of_category(const QString& category) {
  static const std::map<QString, Hue> hues{
      {QStringLiteral("forward"), Hue::blue},         {QStringLiteral("backward"), Hue::green},
      {QStringLiteral("backward_input"), Hue::green}, {QStringLiteral("backward_weight"), Hue::sky},
      {QStringLiteral("tensor"), Hue::orange},        {QStringLiteral("data"), Hue::vermillion},
      {QStringLiteral("pipeline"), Hue::purple},      {QStringLiteral("optimizer"), Hue::yellow},
      {QStringLiteral("context"), Hue::orange},       {QStringLiteral("expert"), Hue::vermillion}};
  const auto found = hues.find(category);
  return color_of(found == hues.end() ? Hue::grey : found->second);
}

TimelinePainter::TimelinePainter(std::shared_ptr<const TimelineData> data) : data_(std::move(data)) {
  for (const QString& category : data_->categories) {
    colors_.push_back(color_of_category(category));
    pale_.push_back(mixed(colors_.back(), theme_colors().surface, 0.75));
  }
  lay_out();
}

void TimelinePainter::lay_out() {
  const auto add = [&](Row row, int height) {
    row.top = height_;
    row.height = height;
    height_ += height;
    rows_.push_back(std::move(row));
  };
  QString device;
  for (std::size_t i = 0; i < data_->tracks.size(); ++i) {
    const TimelineTrack& track = data_->tracks[i];
    if (track.device != device) {
      device = track.device;
      add({Row::Kind::header, 0, 0, 0, device}, kHeader);
    }
    add({Row::Kind::track, static_cast<int>(i), 0, 0, track.stream}, kRow);
  }
  std::vector<std::pair<double, int>> busiest;
  for (std::size_t i = 0; i < data_->counters.size(); ++i)
    busiest.emplace_back(data_->counters[i].unit == QLatin1String("W") ? 1e300 : data_->counters[i].mean(data_->end),
                         static_cast<int>(i));
  std::stable_sort(busiest.begin(), busiest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (!busiest.empty()) add({Row::Kind::header, 0, 0, 0, QObject::tr("Power of devices")}, kHeader);
  std::size_t links = 0, powers = 0;
  bool links_named = false;
  for (const auto& [rank, index] : busiest) {
    const TimelineCounter& counter = data_->counters[static_cast<std::size_t>(index)];
    const bool power = counter.unit == QLatin1String("W");
    if (power && ++powers > kMostCounters) continue;
    if (!power && (++links > kMostCounters || counter.highest() <= 0)) continue;
    if (!power && !links_named) {
      add({Row::Kind::header, 0, 0, 0, QObject::tr("Links, busiest first")}, kHeader);
      links_named = true;
    }
    const QString title = QObject::tr("%1, ≤ %2 %3")
                              .arg(power ? QObject::tr("stage %1").arg(counter.process - 1) : counter.name,
                                   shown_number(counter.highest()), counter.unit);
    add({Row::Kind::counter, index, 0, 0, title}, kCounter);
  }
}

int TimelinePainter::content_height() const { return height_; }

int TimelinePainter::top_of_track(int track) const {
  for (const Row& row : rows_)
    if (row.kind == Row::Kind::track && row.index == track) return row.top;
  return 0;
}

int TimelinePainter::track_at(double y) const {
  for (const Row& row : rows_)
    if (row.kind == Row::Kind::track && y >= row.top && y < row.top + row.height) return row.index;
  return -1;
}

int TimelinePainter::counter_at(double y) const {
  for (const Row& row : rows_)
    if (row.kind == Row::Kind::counter && y >= row.top && y < row.top + row.height) return row.index;
  return -1;
}

double TimelinePainter::time_at(double x, int width, const TimelineView& view) {
  return view.from + (x - kGutter) / std::max(1, width - kGutter) * (view.to - view.from);
}

double TimelinePainter::x_of(double time, int width, const TimelineView& view) {
  return kGutter + (time - view.from) / (view.to - view.from) * (width - kGutter);
}

void TimelinePainter::paint(QPainter& painter, const QSize& size, const TimelineView& view) const {
  const ThemeColors& colors = theme_colors();
  painter.fillRect(QRect(QPoint(0, 0), size), colors.surface);
  QFont font = painter.font();
  font.setPointSizeF(8);
  painter.setFont(font);
  painter.save();
  painter.setClipRect(0, kRuler, size.width(), size.height() - kRuler);
  for (const Row& row : rows_) {
    const double y = kRuler + row.top - view.top;
    if (y + row.height < kRuler || y > size.height()) continue;
    const QRectF area(kGutter, y, size.width() - kGutter, row.height);
    if (row.kind == Row::Kind::track) paint_track(painter, row, area, view);
    if (row.kind == Row::Kind::counter) paint_counter(painter, row, area, view);
    if (row.kind != Row::Kind::header) paint_label(painter, row, y);
  }
  painter.restore();
  paint_ruler(painter, size, view);
  // Lines of the ruler do not strike out the headings.
  painter.save();
  painter.setClipRect(0, kRuler, size.width(), size.height() - kRuler);
  for (const Row& row : rows_) {
    const double y = kRuler + row.top - view.top;
    if (row.kind != Row::Kind::header || y + row.height < kRuler || y > size.height()) continue;
    painter.fillRect(QRectF(0, y, size.width(), row.height), colors.window);
    paint_label(painter, row, y);
  }
  painter.restore();
}

void TimelinePainter::paint_label(QPainter& painter, const Row& row, double y) const {
  const ThemeColors& colors = theme_colors();
  const bool header = row.kind == Row::Kind::header;
  if (!header) painter.fillRect(QRectF(0, y, kGutter - 1, row.height), colors.surface);
  QFont font = painter.font();
  font.setBold(header);
  painter.setFont(font);
  painter.setPen(header ? colors.text : colors.muted);
  const QRectF box(header ? 8 : 18, y, header ? 600 : kGutter - 24, row.height);
  painter.drawText(box, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(row.title, Qt::ElideRight, static_cast<int>(box.width())));
  font.setBold(false);
  painter.setFont(font);
}

void TimelinePainter::paint_ruler(QPainter& painter, const QSize& size, const TimelineView& view) const {
  const ThemeColors& colors = theme_colors();
  painter.fillRect(0, 0, size.width(), kRuler, colors.window);
  painter.setPen(colors.muted);
  const double step = round_step((view.to - view.from) / std::max(1.0, (size.width() - kGutter) / 110.0));
  const auto last = static_cast<std::int64_t>(std::floor(view.to / step));
  for (auto mark = static_cast<std::int64_t>(std::ceil(view.from / step)); mark <= last; ++mark) {
    const double at = static_cast<double>(mark) * step;
    const double x = x_of(at, size.width(), view);
    painter.setPen(colors.line);
    painter.drawLine(QPointF(x, kRuler - 5), QPointF(x, size.height()));
    painter.setPen(colors.muted);
    const QString time = shown(Seconds(at / 1e9));
    if (x + 3 + painter.fontMetrics().horizontalAdvance(time) > size.width()) continue;
    painter.drawText(QRectF(x + 3, 2, 110, kRuler - 6), Qt::AlignVCenter | Qt::AlignLeft, time);
  }
  painter.setPen(colors.line);
  painter.drawLine(0, kRuler - 1, size.width(), kRuler - 1);
}

void TimelinePainter::paint_track(QPainter& painter, const Row& row, const QRectF& area,
                                  const TimelineView& view) const {
  const auto& events = data_->tracks[static_cast<std::size_t>(row.index)].events;
  const double scale = area.width() / (view.to - view.from);
  const auto x_at = [&](std::int64_t time) { return area.left() + (static_cast<double>(time) - view.from) * scale; };
  const auto first =
      std::lower_bound(events.begin(), events.end(), view.from,
                       [](const TimelineEvent& event, double t) { return static_cast<double>(event.end) < t; });
  std::vector<bool> lit;
  if (!view.words.isEmpty())
    for (const QString& name : data_->names) lit.push_back(name.contains(view.words, Qt::CaseInsensitive));
  const double top = area.top() + 1, height = area.height() - 3;
  const ThemeColors& colors = theme_colors();
  painter.setPen(Qt::NoPen);
  for (auto event = first; event != events.end() && static_cast<double>(event->start) <= view.to;) {
    const double left = std::max(area.left(), x_at(event->start));
    const double right = std::min(area.right(), x_at(event->end));
    const bool strong = (view.words.isEmpty() || lit[event->name]) && (!view.critical_only || event->critical);
    const QColor& color = (strong ? colors_ : pale_)[event->category];
    const double width = std::max(1.0, right - left);
    painter.fillRect(QRectF(left, top, width - (width > 4 ? 1 : 0), height), color);
    if (event->critical && width > 2) painter.fillRect(QRectF(left, top + height - 2, width, 2), colors.text);
    if (width >= kTextFrom) {
      const QString& name = data_->names[event->name];
      painter.setPen(color.lightnessF() > 0.55F ? QColor(0x10, 0x14, 0x1a) : QColor(Qt::white));
      painter.drawText(QRectF(left + 3, top, width - 5, height), Qt::AlignVCenter | Qt::AlignLeft,
                       painter.fontMetrics().elidedText(name, Qt::ElideRight, static_cast<int>(width - 5)));
      painter.setPen(Qt::NoPen);
    }
    if (row.index == view.lit_track && event - events.begin() == view.lit_event) {
      painter.setPen(QPen(colors.text, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(left, top, width, height));
      painter.setPen(Qt::NoPen);
    }
    ++event;
    // The rest of this pixel is drawn already: on to the first slice that reaches beyond it.
    const double covered = view.from + (left + width - area.left()) / scale;
    if (event != events.end() && static_cast<double>(event->end) < covered)
      event = std::lower_bound(event, events.end(), covered,
                               [](const TimelineEvent& e, double t) { return static_cast<double>(e.end) < t; });
  }
}

void TimelinePainter::paint_counter(QPainter& painter, const Row& row, const QRectF& area,
                                    const TimelineView& view) const {
  const TimelineCounter& counter = data_->counters[static_cast<std::size_t>(row.index)];
  const double highest = counter.highest();
  if (!(highest > 0)) return;
  const ThemeColors& colors = theme_colors();
  const QColor color = color_of(counter.unit == QLatin1String("W") ? Hue::vermillion : Hue::sky);
  const double scale = area.width() / (view.to - view.from);
  const double bottom = area.bottom() - 2, height = area.height() - 5;
  auto sample =
      std::upper_bound(counter.samples.begin(), counter.samples.end(), view.from,
                       [](double t, const TimelineCounter::Sample& s) { return t < static_cast<double>(s.time); });
  if (sample != counter.samples.begin()) --sample;
  // The highest value of a pixel's time stands for it: a burst is never lost.
  for (int x = 0; x < static_cast<int>(area.width()) && sample != counter.samples.end(); ++x) {
    const double until = view.from + (x + 1) / scale;
    if (static_cast<double>(sample->time) >= until) continue;
    double value = sample->value;
    while (sample + 1 != counter.samples.end() && static_cast<double>((sample + 1)->time) < until) {
      ++sample;
      value = std::max(value, sample->value);
    }
    if (value > 0) {
      const double h = std::max(1.0, value / highest * height);
      painter.fillRect(QRectF(area.left() + x, bottom - h, 1, h), color);
    }
  }
  painter.setPen(colors.line);
  painter.drawLine(QPointF(area.left(), area.bottom() - 1), QPointF(area.right(), area.bottom() - 1));
}

}  // namespace stepcast
