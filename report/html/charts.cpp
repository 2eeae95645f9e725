#include "report/html/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/humane.hpp"
#include "report/markup.hpp"

namespace stepcast {

namespace {

constexpr double kWidth = 1000;
/// Of a bar: smaller parts cannot be seen.
constexpr double kLeastShare = 0.0005;

std::string open_svg(const std::string& title, double height) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", kWidth, height,
                     escaped_markup(title));
}

std::string text_at(double x, double y, const std::string& text, const char* classes = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>", x, y, classes, escaped_markup(text));
}

/// A round number at least as large, for the top of an axis: 1, 2, 2.5 or 5 times a power of ten.
double round_up(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 2.5, 5.0, 10.0})
    if (step * power >= value * 0.999999) return step * power;
  return 10 * power;
}

/// Horizontal lines with their values at the left.
std::string value_grid(double left, double right, double top, double bottom, double most) {
  std::string out;
  for (int i = 0; i <= 4; ++i) {
    const double y = bottom - (bottom - top) * i / 4;
    out += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", left, right, y,
                       y);
    out += text_at(left - 8, y + 4, humane_count(most * i / 4), "soft end");
  }
  return out;
}

}  // namespace

std::string share_bar_svg(const std::string& title, const std::vector<ShareOfBar>& parts) {
  constexpr double kThickness = 44, kRow = 22, kColumn = kWidth / 3;
  double sum = 0;
  for (const ShareOfBar& part : parts) sum += std::max(0.0, part.value);
  if (sum <= 0) return {};
  // What is too small to see stands in the table alone.
  const auto seen = [sum](const ShareOfBar& part) { return part.value > kLeastShare * sum; };
  const auto shown = static_cast<int>(std::count_if(parts.begin(), parts.end(), seen));
  const int legend_rows = (shown + 2) / 3;
  std::string out = open_svg(title, kThickness + 14 + kRow * legend_rows);
  double x = 0;
  int place = 0;
  for (const ShareOfBar& part : parts) {
    if (!seen(part)) continue;
    const double width = kWidth * part.value / sum;
    const std::string share = percent(part.value / sum);
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"{}\" rx=\"3\"><title>{}: {}, "
        "{}</title></rect>",
        part.kind, x, std::max(0.5, width - 1.5), kThickness, escaped_markup(part.name), escaped_markup(part.text),
        share);
    if (width > 62) out += text_at(x + 9, kThickness / 2 + 5, share, "on big");
    x += width;
    const int legend_row = place / 3;
    const double lx = kColumn * (place % 3), ly = kThickness + 26 + kRow * legend_row;
    out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" rx=\"2\"/>", part.kind,
                       lx, ly - 10);
    out += text_at(lx + 18, ly, fmt::format("{} · {} · {}", part.name, part.text, share));
    ++place;
  }
  return out + "</svg>\n";
}

std::string stacked_columns_svg(const StackedColumns& chart) {
  constexpr double kTop = 26, kBottom = 244, kLeft = 60, kLegend = 22;
  double most = chart.limit.value_or(0);
  for (const StackedColumn& column : chart.columns) {
    double sum = 0;
    for (const double value : column.values) sum += value;
    most = std::max(most, sum);
  }
  most = round_up(most);
  const std::size_t rows = (chart.parts.size() + 3) / 4;
  std::string out = open_svg(chart.title, kBottom + 34 + kLegend * static_cast<double>(rows));
  out += value_grid(kLeft, kWidth, kTop, kBottom, most) + text_at(0, 10, chart.unit, "soft");
  const auto y_of = [&](double value) { return kBottom - (kBottom - kTop) * value / most; };
  const double slot = (kWidth - kLeft) / static_cast<double>(chart.columns.size());
  const double width = std::min(90.0, slot * 0.72);
  const std::size_t every = std::max<std::size_t>(1, chart.columns.size() / 24);
  for (std::size_t i = 0; i < chart.columns.size(); ++i) {
    const double x = kLeft + slot * (static_cast<double>(i) + 0.5) - width / 2;
    double below = 0;
    for (std::size_t p = 0; p < chart.parts.size(); ++p) {
      const double value = chart.columns[i].values[p];
      if (value <= 0) continue;
      out += fmt::format(
          "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\"><title>{}, {}: {} {}</title>"
          "</rect>",
          chart.parts[p].second, x, y_of(below + value), width, std::max(0.3, y_of(below) - y_of(below + value) - 0.6),
          escaped_markup(chart.columns[i].label), escaped_markup(chart.parts[p].first), significant(value),
          escaped_markup(chart.unit));
      below += value;
    }
    if (i % every == 0) out += text_at(x + width / 2, kBottom + 16, chart.columns[i].label, "soft mid");
  }
  if (chart.limit) {
    out += fmt::format("<line class=\"limit\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, kWidth,
                       y_of(*chart.limit), y_of(*chart.limit));
    out += text_at(kWidth, y_of(*chart.limit) - 5, chart.limit_name, "end soft");
  }
  for (std::size_t p = 0; p < chart.parts.size(); ++p) {
    const double x = kLeft + (kWidth - kLeft) / 4 * static_cast<double>(p % 4);
    const std::size_t legend_row = p / 4;
    const double y = kBottom + 42 + kLegend * static_cast<double>(legend_row);
    out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" rx=\"2\"/>",
                       chart.parts[p].second, x, y - 10);
    out += text_at(x + 17, y, chart.parts[p].first);
  }
  return out + "</svg>\n";
}

std::string curve_svg(const Curve& curve) {
  constexpr double kTop = 26, kBottom = 258, kLeft = 70, kRight = kWidth - 20;
  double least = 0, most = 0;
  for (const CurveSeries& series : curve.series)
    for (const double value : series.values)
      if (std::isfinite(value) && value > 0) {
        most = std::max(most, value);
        least = least > 0 ? std::min(least, value) : value;
      }
  if (most <= 0) return {};
  // Sizes double from place to place, so doublings of the value are steps of one height.
  least = std::exp2(std::floor(std::log2(least)));
  const double doublings = std::max(1.0, std::ceil(std::log2(most / least) - 1e-9));
  std::string out = open_svg(curve.title, kBottom + 62) + text_at(0, 10, curve.value_label, "soft");
  const double height = (kBottom - kTop) / doublings;
  for (int i = 0; i <= static_cast<int>(doublings); ++i) {
    const double y = kBottom - height * i;
    out += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, kRight,
                       y, y);
    out += text_at(kLeft - 8, y + 4, humane_count(least * std::exp2(i)), "soft end");
  }
  const double step = curve.positions.size() > 1 ? (kRight - kLeft - 60) / double(curve.positions.size() - 1) : 0;
  const auto x_of = [&](std::size_t i) { return kLeft + 30 + step * static_cast<double>(i); };
  const auto y_of = [&](double value) { return kBottom - height * std::log2(value / least); };
  for (std::size_t i = 0; i < curve.positions.size(); ++i)
    out +=
        text_at(x_of(i), kBottom + 17, curve.positions[i], static_cast<int>(i) == curve.here ? "mid big" : "mid soft");
  out += text_at((kLeft + kRight) / 2, kBottom + 35, curve.position_label, "mid soft");
  double legend = kLeft;
  for (const CurveSeries& series : curve.series) {
    std::string line;
    bool drawing = false;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (!std::isfinite(series.values[i])) {
        drawing = false;
        continue;
      }
      line += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x_of(i), y_of(series.values[i]));
      drawing = true;
    }
    const bool ideal = series.kind == "ideal";
    out += fmt::format("<path class=\"{}{}\" d=\"{}\"/>", ideal ? "" : "series ", series.kind, line);
    const std::string dot = ideal ? "wait" : series.kind.substr(2);
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (ideal || !std::isfinite(series.values[i])) continue;
      const bool marked = static_cast<int>(i) == curve.here;
      out += fmt::format(
          "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}, {} {}: {}</title></circle>",
          marked ? "here" : dot, x_of(i), y_of(series.values[i]), marked ? 6 : 4, escaped_markup(series.name),
          escaped_markup(curve.positions[i]), escaped_markup(curve.position_label), humane_count(series.values[i]));
    }
    out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"4\" rx=\"2\"/>", dot, legend,
                       kBottom + 50);
    out += text_at(legend + 25, kBottom + 56, series.name);
    legend += 60 + 7.2 * static_cast<double>(columns_of(series.name));
  }
  return out + "</svg>\n";
}

std::string step_line_svg(const StepLine& line, Seconds step) {
  constexpr double kTop = 26, kBottom = 200, kLeft = 60;
  if (line.values.empty()) return {};
  const double most =
      round_up(std::max(line.limit.value_or(0), *std::max_element(line.values.begin(), line.values.end())));
  std::string out = open_svg(line.title, kBottom + 40);
  out += value_grid(kLeft, kWidth, kTop, kBottom, most) + text_at(0, 10, line.unit, "soft");
  const auto y_of = [&](double value) { return kBottom - (kBottom - kTop) * value / most; };
  const double width = (kWidth - kLeft) / static_cast<double>(line.values.size());
  std::string path;
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    const double x = kLeft + width * static_cast<double>(i);
    path += fmt::format("{}{:.1f} {:.1f}H{:.1f}", i == 0 ? "M" : "L", x, y_of(line.values[i]), x + width);
  }
  out += fmt::format("<path class=\"series s-compute\" d=\"{}\"><title>{}</title></path>", path,
                     escaped_markup(line.title));
  if (line.limit) {
    out += fmt::format("<line class=\"limit\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>", kLeft, kWidth,
                       y_of(*line.limit));
    out += text_at(kWidth, y_of(*line.limit) - 5, line.limit_name, "end soft");
  }
  for (int i = 0; i <= 4; ++i)
    out += text_at(kLeft + (kWidth - kLeft) * i / 4, kBottom + 17, humane(step * (i / 4.0)),
                   i == 0   ? "soft"
                   : i == 4 ? "soft end"
                            : "soft mid");
  return out + "</svg>\n";
}

std::string change_bars_svg(const std::string& title, const std::vector<ChangeBar>& bars) {
  constexpr double kRow = 28, kMiddle = 620, kReach = 270;
  double most = 0;
  for (const ChangeBar& bar : bars) most = std::max(most, std::abs(bar.value));
  if (most <= 0) most = 1;
  std::string out = open_svg(title, kRow * static_cast<double>(bars.size()) + 8);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const ChangeBar& bar = bars[i];
    const double y = kRow * static_cast<double>(i) + 4, width = kReach * std::abs(bar.value) / most;
    const bool more = bar.value > 0;
    out += text_at(300, y + 15, bar.name, "end");
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"20\" rx=\"3\"><title>{}: "
        "{}</title></rect>",
        more ? "worse" : "good", more ? kMiddle : kMiddle - width, y, std::max(0.6, width), escaped_markup(bar.name),
        escaped_markup(bar.text));
    out += text_at(more ? kMiddle + width + 8 : kMiddle - width - 8, y + 15, bar.text, more ? "soft" : "soft end");
  }
  return out + fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"{1:.1f}\"/></svg>\n", kMiddle,
                           kRow * static_cast<double>(bars.size()) + 4);
}

}  // namespace stepcast
