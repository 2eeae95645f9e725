#include "gui/views/chart_legend.hpp"

#include <QPainter>
#include <algorithm>

#include "gui/theme/theme.hpp"

namespace stepcast {

namespace {

/// Pixels: the coloured mark, what is free behind it and behind a name, and at both ends of a line.
constexpr int kMark = 10, kGap = 6, kBetween = 16, kMargin = 12;

}  // namespace

ChartLegend::ChartLegend(QWidget* parent) : QWidget(parent) {
  QFont small = font();
  small.setPointSizeF(8.5);
  setFont(small);
  QSizePolicy policy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void ChartLegend::show_names_of(const ChartData& chart) {
  entries_.clear();
  QStringList names;
  if (chart.legend) {
    for (const ChartData::Series& series : chart.series)
      entries_.push_back({series.name, color_of(series.hue), series.dashed});
    if (chart.limit) entries_.push_back({chart.limit->name, theme_colors().bad, true});
  }
  for (const Entry& entry : entries_) names << entry.name;
  setToolTip(names.join(QLatin1Char('\n')));
  setVisible(!entries_.empty());
  updateGeometry();
  update();
}

std::vector<QRect> ChartLegend::places(int width) const {
  const QFontMetrics letters = fontMetrics();
  const int height = letters.height() + 4, room = std::max(1, width - 2 * kMargin);
  std::vector<QRect> out;
  int x = 0, y = 2;
  for (const Entry& entry : entries_) {
    const int wanted = std::min(room, kMark + kGap + letters.horizontalAdvance(entry.name));
    if (x > 0 && x + wanted > room) {
      x = 0;
      y += height;
    }
    out.emplace_back(kMargin + x, y, wanted, height);
    x += wanted + kBetween;
  }
  return out;
}

int ChartLegend::heightForWidth(int width) const {
  const std::vector<QRect> all = places(width);
  return all.empty() ? 0 : all.back().bottom() + 3;
}

bool ChartLegend::is_cut(const Entry& entry, const QRect& place) const {
  return kMark + kGap + fontMetrics().horizontalAdvance(entry.name) > place.width();
}

int ChartLegend::cut_names() const {
  const std::vector<QRect> all = places(width());
  int out = 0;
  for (std::size_t i = 0; i < all.size(); ++i) out += is_cut(entries_[i], all[i]) ? 1 : 0;
  return out;
}

void ChartLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const std::vector<QRect> all = places(width());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const QRect mark(all[i].left(), all[i].center().y() - kMark / 2, kMark, kMark);
    if (entries_[i].dashed) {
      painter.setPen(QPen(entries_[i].color, 2, Qt::DotLine));
      painter.drawLine(mark.left(), mark.center().y(), mark.right(), mark.center().y());
    } else {
      painter.fillRect(mark, entries_[i].color);
    }
    painter.setPen(theme_colors().muted);
    const QRect text = all[i].adjusted(kMark + kGap, 0, 0, 0);
    // A name that has room is drawn as it is: elidedText cuts some that need every pixel of it.
    const QString& name = entries_[i].name;
    painter.drawText(text, Qt::AlignVCenter | Qt::TextDontClip,
                     is_cut(entries_[i], all[i]) ? fontMetrics().elidedText(name, Qt::ElideRight, text.width()) : name);
  }
}

}  // namespace stepcast
