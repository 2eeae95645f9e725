#include "gui/views/chart.hpp"

#include <QBarCategoryAxis>
#include <QBarSeries>
#include <QBarSet>
#include <QCategoryAxis>
#include <QChart>
#include <QCursor>
#include <QGraphicsLayout>
#include <QHorizontalStackedBarSeries>
#include <QLineSeries>
#include <QLocale>
#include <QLogValueAxis>
#include <QScatterSeries>
#include <QStackedBarSeries>
#include <QToolTip>
#include <QValueAxis>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/theme/theme.hpp"

namespace stepcast {

namespace {

QFont small_font() {
  QFont font;
  font.setPointSizeF(8.5);
  return font;
}

void dress(QAbstractAxis& axis, const QString& title) {
  const ThemeColors& colors = theme_colors();
  axis.setLabelsColor(colors.muted);
  axis.setLabelsFont(small_font());
  axis.setTitleText(title);
  axis.setTitleFont(small_font());
  axis.setTitleBrush(colors.muted);
  axis.setLinePenColor(colors.line);
  axis.setGridLineColor(colors.line);
}

/// A format of labels that has as many digits as the steps of the axis need.
QString label_format(double from, double to) {
  const double span = std::abs(to - from);
  if (span >= 1e6 || (span > 0 && span < 1e-3)) return QStringLiteral("%.2g");
  if (span >= 8) return QStringLiteral("%.0f");
  return span >= 0.8 ? QStringLiteral("%.1f") : QStringLiteral("%.3f");
}

/// The nearest 1, 2 or 5 times a power of ten above.
double round_interval(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= least) return power * factor;
  return power * 10;
}

/// Names below upright bars for which even a narrow chart has room.
constexpr qsizetype kMostNames = 8;

/// An axis that names every n-th of many bars: Qt gives a name no more room than its bar has.
QAbstractAxis* new_axis_of_some(const QStringList& names, const QString& title) {
  auto* axis = new QCategoryAxis;
  axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  axis->setRange(-0.5, static_cast<double>(names.size()) - 0.5);
  const qsizetype every = (names.size() + kMostNames - 1) / kMostNames;
  for (qsizetype i = 0; i < names.size(); i += every) axis->append(names[i], static_cast<double>(i));
  dress(*axis, title);
  axis->setGridLineVisible(false);
  return axis;
}

/// Of a logarithmic axis, what lies beyond the data at each end, as a factor.
constexpr double kBesideData = 1.2;
/// Names that a logarithmic axis has room for even in a narrow chart, and those without which nobody can read it.
constexpr std::size_t kMostMarks = 6, kLeastMarks = 3;

QString mark_name(double value) {
  const bool long_name = value >= 1e7 || value < 1e-4;
  // Sums of steps have digits that nobody put there.
  const double rounded = QString::number(value, 'g', 6).toDouble();
  return QLocale().toString(rounded, long_name ? 'g' : 'f', QLocale::FloatingPointShortest);
}

/// The names of a logarithmic axis, which stands beside it unseen. Null where the axis is none.
QAbstractAxis* new_axis_of_marks(const QAbstractAxis& of, const QString& title) {
  const auto* logarithmic = qobject_cast<const QLogValueAxis*>(&of);
  if (logarithmic == nullptr) return nullptr;
  auto* axis = new QCategoryAxis;
  axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  axis->setRange(std::log10(logarithmic->min()), std::log10(logarithmic->max()));
  for (const double mark : logarithmic_marks(logarithmic->min(), logarithmic->max()))
    axis->append(mark_name(mark), std::log10(mark));
  // Qt gives a name no more room than there is up to the next mark, and dots where that is little.
  axis->setTruncateLabels(false);
  dress(*axis, title);
  return axis;
}

/// `nice`: the axis ends at round numbers; else where the data ends.
QAbstractAxis* new_value_axis(double from, double to, bool logarithmic, const QString& title, bool nice = true) {
  if (logarithmic && from > 0) {
    // Qt names powers of the base alone: another axis names what is between them (new_axis_of_marks).
    auto* axis = new QLogValueAxis;
    axis->setBase(10);
    axis->setRange(from / kBesideData, to * kBesideData);
    axis->setVisible(false);
    return axis;
  }
  auto* axis = new QValueAxis;
  if (!(to > from)) to = from + 1;
  axis->setRange(from, to);
  if (nice) {
    axis->setTickCount(5);
    axis->applyNiceNumbers();
  } else {
    axis->setTickType(QValueAxis::TicksDynamic);
    axis->setTickAnchor(0);
    axis->setTickInterval(round_interval((to - from) / 5));
  }
  axis->setLabelFormat(label_format(axis->min(), axis->max()));
  dress(*axis, title);
  return axis;
}

/// Of what nobody can have.
QColor pale(const QColor& color) {
  constexpr int kLeft = 70;  // per cent of the ground that shines through
  const QColor ground = theme_colors().surface;
  const auto mix = [&](int a, int b) { return (a * (100 - kLeft) + b * kLeft) / 100; };
  return QColor(mix(color.red(), ground.red()), mix(color.green(), ground.green()), mix(color.blue(), ground.blue()));
}

bool is_muted(const ChartData::Series& series, int index) {
  return static_cast<std::size_t>(index) < series.muted.size() && series.muted[static_cast<std::size_t>(index)];
}

void show_tip(const ChartData::Series& series, int index) {
  if (index >= 0 && index < series.tips.size()) QToolTip::showText(QCursor::pos(), series.tips[index]);
}

class Drawer {
 public:
  Drawer(const ChartData& data, std::function<void(int, int)> clicked) : data_(data), clicked_(std::move(clicked)) {
    chart_ = new QChart;
    chart_->setBackgroundVisible(false);
    chart_->setMargins(QMargins(4, 4, 4, 4));
    chart_->layout()->setContentsMargins(0, 0, 0, 0);
    chart_->setAnimationOptions(QChart::NoAnimation);
    chart_->setLocale(QLocale());
    chart_->setLocalizeNumbers(true);
    // Qt's own cuts names that do not fit: ChartLegend stands in for it.
    chart_->legend()->hide();
  }

  QChart* draw() {
    if (data_.kind == ChartData::Kind::lines || data_.kind == ChartData::Kind::scatter) {
      draw_points();
    } else {
      draw_bars();
    }
    return chart_;
  }

 private:
  /// The highest stack, or bar.
  [[nodiscard]] double highest_stack() const {
    double highest = 0;
    for (qsizetype i = 0; i < data_.categories.size(); ++i) {
      double sum = 0;
      for (const auto& series : data_.series) {
        if (static_cast<std::size_t>(i) >= series.values.size()) continue;
        const double value = series.values[static_cast<std::size_t>(i)];
        if (std::isnan(value)) continue;
        sum = data_.kind == ChartData::Kind::grouped_bars ? std::max(sum, value) : sum + value;
      }
      highest = std::max(highest, sum);
    }
    return highest;
  }
  [[nodiscard]] double lowest_value() const {
    double lowest = 0;
    for (const auto& series : data_.series)
      for (const double value : series.values) lowest = std::min(lowest, value);
    return lowest;
  }

  void draw_bars() {
    const bool horizontal = data_.kind == ChartData::Kind::horizontal_bars;
    QAbstractBarSeries* bars = horizontal ? static_cast<QAbstractBarSeries*>(new QHorizontalStackedBarSeries)
                               : data_.kind == ChartData::Kind::grouped_bars
                                   ? static_cast<QAbstractBarSeries*>(new QBarSeries)
                                   : static_cast<QAbstractBarSeries*>(new QStackedBarSeries);
    for (std::size_t i = 0; i < data_.series.size(); ++i) add_set(*bars, static_cast<int>(i), horizontal);
    bars->setBarWidth(
        std::min(data_.categories.size() > 12 ? 0.85 : 0.62, 0.16 * static_cast<double>(data_.categories.size())));
    chart_->addSeries(bars);
    QStringList categories = data_.categories;
    if (horizontal) std::reverse(categories.begin(), categories.end());
    // Names of upright bars take lines rather than more width than their bars have.
    if (!horizontal && categories.size() <= kMostNames)
      for (QString& name : categories) name.replace(QLatin1Char(' '), QStringLiteral("<br>"));
    auto* names = new QBarCategoryAxis;
    names->append(categories);
    dress(*names, horizontal ? data_.y_title : data_.x_title);
    names->setGridLineVisible(false);
    names->setVisible(horizontal || categories.size() <= kMostNames);
    double top = data_.y_to.value_or(highest_stack() * 1.02);
    if (data_.limit) top = std::max(top, data_.limit->value * 1.05);
    QAbstractAxis* values =
        new_value_axis(data_.y_from.value_or(lowest_value()), top, false, horizontal ? data_.x_title : data_.y_title);
    chart_->addAxis(names, horizontal ? Qt::AlignLeft : Qt::AlignBottom);
    if (!names->isVisible()) chart_->addAxis(new_axis_of_some(categories, data_.x_title), Qt::AlignBottom);
    chart_->addAxis(values, horizontal ? Qt::AlignBottom : Qt::AlignLeft);
    bars->attachAxis(names);
    bars->attachAxis(values);
    if (data_.limit) draw_limit(*names, *values);
  }

  void add_set(QAbstractBarSeries& bars, int index, bool horizontal) {
    const ChartData::Series& series = data_.series[static_cast<std::size_t>(index)];
    auto* set = new QBarSet(series.name);
    std::vector<double> values = series.values;
    if (horizontal) std::reverse(values.begin(), values.end());
    for (const double value : values) *set << (std::isnan(value) ? 0 : value);
    set->setColor(color_of(series.hue));
    set->setBorderColor(theme_colors().surface);
    set->setSelectedColor(pale(color_of(series.hue)));
    const auto place = [count = static_cast<int>(values.size()), horizontal](int at) {
      return horizontal ? count - 1 - at : at;
    };
    for (int i = 0; i < static_cast<int>(values.size()); ++i)
      if (is_muted(series, place(i))) set->selectBar(i);
    QObject::connect(set, &QBarSet::hovered, set, [series, place](bool over, int at) {
      if (over) show_tip(series, place(at));
    });
    QObject::connect(set, &QBarSet::clicked, set, [clicked = clicked_, index, place](int at) {
      if (clicked) clicked(index, place(at));
    });
    bars.append(set);
  }

  void draw_limit(QAbstractAxis& names, QAbstractAxis& values) {
    auto* line = new QLineSeries;
    line->setName(data_.limit->name);
    line->append(-0.5, data_.limit->value);
    line->append(static_cast<double>(data_.categories.size()) - 0.5, data_.limit->value);
    QPen pen(theme_colors().bad, 1.6, Qt::DashLine);
    line->setPen(pen);
    chart_->addSeries(line);
    line->attachAxis(&names);
    line->attachAxis(&values);
  }

  void add_axis(QAbstractAxis* axis, Qt::Alignment side, const QString& title) {
    chart_->addAxis(axis, side);
    if (QAbstractAxis* marks = new_axis_of_marks(*axis, title)) chart_->addAxis(marks, side);
  }

  struct Range {
    double from = 0, to = 1;
  };
  [[nodiscard]] Range range(bool vertical, bool right) const {
    double from = INFINITY, to = -INFINITY;
    for (const auto& series : data_.series) {
      if (vertical && series.right_axis != right) continue;
      for (const QPointF& point : series.points) {
        from = std::min(from, vertical ? point.y() : point.x());
        to = std::max(to, vertical ? point.y() : point.x());
      }
    }
    if (!(from <= to)) return {};
    return {from, to};
  }

  void draw_points() {
    Range across = range(false, false);
    Range up = range(true, false);
    if (data_.y_from) up.from = *data_.y_from;
    if (data_.y_to) up.to = *data_.y_to;
    QAbstractAxis* x = new_value_axis(across.from, across.to, data_.logarithmic_x, data_.x_title,
                                      data_.kind == ChartData::Kind::scatter);
    QAbstractAxis* y = new_value_axis(up.from, up.to, data_.logarithmic_y, data_.y_title);
    add_axis(x, Qt::AlignBottom, data_.x_title);
    add_axis(y, Qt::AlignLeft, data_.y_title);
    QAbstractAxis* right = nullptr;
    for (std::size_t i = 0; i < data_.series.size(); ++i) {
      const ChartData::Series& series = data_.series[i];
      if (series.right_axis && right == nullptr) {
        right = new_value_axis(0, data_.right_to.value_or(range(true, true).to), false, data_.right_title);
        right->setGridLineVisible(false);
        chart_->addAxis(right, Qt::AlignRight);
      }
      add_line(static_cast<int>(i), *x, series.right_axis ? *right : *y);
    }
  }

  void add_line(int index, QAbstractAxis& x, QAbstractAxis& y) {
    const ChartData::Series& series = data_.series[static_cast<std::size_t>(index)];
    QXYSeries* drawn = nullptr;
    if (data_.kind == ChartData::Kind::scatter) {
      auto* dots = new QScatterSeries;
      dots->setMarkerSize(series.dashed ? 6 : 10);
      dots->setBorderColor(theme_colors().surface);
      dots->setColor(color_of(series.hue));
      drawn = dots;
    } else {
      drawn = new QLineSeries;
      drawn->setPen(QPen(color_of(series.hue), 2, series.dashed ? Qt::DashLine : Qt::SolidLine));
      drawn->setPointsVisible(series.points.size() <= 40);
    }
    drawn->setName(series.name);
    for (const QPointF& point : series.points) drawn->append(point);
    for (int i = 0; i < static_cast<int>(series.points.size()); ++i)
      if (is_muted(series, i))
        drawn->setPointConfiguration(i, QXYSeries::PointConfiguration::Color, pale(color_of(series.hue)));
    chart_->addSeries(drawn);
    drawn->attachAxis(&x);
    drawn->attachAxis(&y);
    const auto nearest = [points = series.points](const QPointF& to) {
      int best = -1;
      double distance = INFINITY;
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double here = std::abs(points[i].x() - to.x()) / (std::abs(to.x()) + 1e-30) +
                            std::abs(points[i].y() - to.y()) / (std::abs(to.y()) + 1e-30);
        if (here < distance) {
          distance = here;
          best = static_cast<int>(i);
        }
      }
      return best;
    };
    QObject::connect(drawn, &QXYSeries::hovered, drawn, [series, nearest](const QPointF& point, bool over) {
      if (over) show_tip(series, nearest(point));
    });
    QObject::connect(drawn, &QXYSeries::clicked, drawn, [clicked = clicked_, index, nearest](const QPointF& point) {
      if (clicked) clicked(index, nearest(point));
    });
  }

  const ChartData& data_;
  std::function<void(int, int)> clicked_;
  QChart* chart_;
};

}  // namespace

std::vector<double> logarithmic_marks(double from, double to) {
  const auto multiples = [&](const std::vector<double>& factors, int every) {
    std::vector<double> out;
    for (int power = static_cast<int>(std::floor(std::log10(from))); power <= std::log10(to); ++power)
      for (const double factor : factors)
        if (const double mark = factor * std::pow(10.0, power); power % every == 0 && mark >= from && mark <= to)
          out.push_back(mark);
    return out;
  };
  std::vector<double> out = multiples({1, 2, 5}, 1);
  if (out.size() > kMostMarks) out = multiples({1}, 1);
  for (int every = 2; out.size() > kMostMarks; ++every) out = multiples({1}, every);
  if (out.size() >= kLeastMarks) return out;
  out.clear();
  const double step = round_interval((to - from) / kMostMarks);
  for (double mark = std::ceil(from / step) * step; mark <= to; mark += step) out.push_back(mark);
  return out;
}

QChart* new_chart(const ChartData& data, const std::function<void(int, int)>& clicked) {
  return Drawer(data, clicked).draw();
}

}  // namespace stepcast
