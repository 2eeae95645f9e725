#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/step_detail.hpp"

namespace stepcast {

// Drawings for pages made by html_document, whose style sheet gives them their colours. All are deterministic, carry a
// title for screen readers, and say on each mark what it is.

/// A part of a whole; `kind` is a class of the style sheet: compute, communication, bubble, …
struct ShareOfBar {
  std::string name, text, kind;
  double value = 0;
};
/// One horizontal bar of parts with a legend that names them.
std::string share_bar_svg(const std::string& title, const std::vector<ShareOfBar>& parts);

/// A column of stacked parts, as many values as there are kinds.
struct StackedColumn {
  std::string label;
  std::vector<double> values;
};
struct StackedColumns {
  std::string title, unit;
  std::vector<std::pair<std::string, std::string>> parts;  ///< name and opacity class of each part
  std::vector<StackedColumn> columns;
  std::optional<double> limit;  ///< drawn as a line
  std::string limit_name;
};
std::string stacked_columns_svg(const StackedColumns& chart);

/// Lines over positions that double; values are on a logarithmic scale, missing ones NaN.
struct CurveSeries {
  std::string name, kind;      ///< kind: s-compute, s-communication, ideal
  std::vector<double> values;  ///< NaN where there is none
};
struct Curve {
  std::string title, position_label, value_label;
  std::vector<std::string> positions;
  std::vector<CurveSeries> series;
  int here = -1;  ///< position that is marked
};
std::string curve_svg(const Curve& curve);

/// A value over the time of a step: it holds through each of its equal windows.
struct StepLine {
  std::string title, unit;
  std::vector<double> values;
  std::optional<double> limit;  ///< drawn as a line
  std::string limit_name;
};
std::string step_line_svg(const StepLine& line, Seconds step);

/// Streams of representative devices over the time of a step.
std::string timeline_svg(const std::vector<DrawnStream>& streams, Seconds step);
/// Class of a drawn span's colour.
std::string kind_of_span(const std::string& what);

/// A change to the left (less) or to the right (more) of zero.
struct ChangeBar {
  std::string name;
  double value = 0;
  std::string text;
};
std::string change_bars_svg(const std::string& title, const std::vector<ChangeBar>& bars);

}  // namespace stepcast
