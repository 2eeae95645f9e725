#pragma once

#include <QPointF>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "gui/view-models/figure_table.hpp"
#include "gui/view-models/palette.hpp"

namespace stepcast {

/// Of a long list, what its chart shows; the table has all of it.
inline constexpr std::size_t kMostBars = 8;

/// What a small chart shows, without a widget.
struct ChartData {
  /// `bars` and `horizontal_bars`: the series stand on each other; `grouped_bars`: beside each other.
  enum class Kind { bars, grouped_bars, horizontal_bars, lines, scatter };
  struct Series {
    QString name;
    Hue hue = Hue::blue;
    std::vector<double> values;   ///< bars: one a category; not a number: none
    std::vector<QPointF> points;  ///< lines and scatters
    bool right_axis = false;      ///< lines: of the second vertical axis
    bool dashed = false;
    QStringList tips;              ///< by value or point
    std::vector<bool> muted = {};  ///< by value or point: drawn pale, for nobody can have it; empty: none is
  };
  struct Limit {
    double value = 0;
    QString name;
  };
  Kind kind = Kind::bars;
  QString x_title, y_title, right_title;
  QStringList categories;
  std::vector<Series> series;
  std::optional<Limit> limit;  ///< a line across, as a memory's capacity
  bool logarithmic_x = false, logarithmic_y = false;
  bool legend = true;
  std::optional<double> y_from, y_to, right_to;
};

/// A chart and its twin, the table that says the same; or a table alone.
struct Exhibit {
  QString title;
  QString warning;  ///< said before everything else, in the colour of what is wrong; empty: nothing is
  QString remark;
  ChartData chart;
  Figures2D table;
};

}  // namespace stepcast
