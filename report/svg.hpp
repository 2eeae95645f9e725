#pragma once

#include <string>
#include <vector>

namespace stepcast {

/// One line (or row of bars) of a chart. A point that is missing is NaN.
struct ChartSeries {
  std::string name;
  std::vector<double> values;  ///< one for each of Chart::positions
  bool dashed = false;         ///< a reference, drawn without markers
};

enum class ChartKind { lines, bars };
enum class ChartScale { linear, logarithmic };

/// Figures over a few sizes, as one panel of a drawing.
struct Chart {
  ChartKind kind = ChartKind::lines;
  ChartScale scale = ChartScale::linear;  ///< of values; positions are spaced evenly, as sizes usually double
  std::string value_label;
  std::vector<ChartSeries> series;
};

/// Panels above one another over the same sizes.
struct Drawing {
  std::string title, subtitle;
  std::string position_label;
  std::vector<std::string> positions;
  std::vector<Chart> panels;
};

/// The drawing as a self-contained SVG document: labelled axes, a legend a panel, colours that colour-blind people tell
/// apart (Okabe & Ito 2008) and markers that differ in shape. Deterministic.
std::string svg(const Drawing& drawing);

}  // namespace stepcast
