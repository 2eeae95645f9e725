#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/humane.hpp"
#include "report/markup.hpp"

namespace stepcast {

namespace {

constexpr double kWidth = 860, kPanelHeight = 250, kLeft = 92, kRight = 28, kTop = 100, kGap = 92, kBottom = 64;
/// Of a reference line, which stays behind the figures.
constexpr const char* kReferenceColour = "#777";
constexpr double kCharacterWidth = 7.0;  // of 12-pixel text, a little generously: fonts differ
constexpr double kSmallCharacterWidth = 5.8;

/// Okabe & Ito, "Color Universal Design" (2008), in an order whose neighbours differ in lightness too.
constexpr std::array kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};

std::string text(double x, double y, const std::string& content, const char* attributes) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, escaped_markup(content));
}

struct Range {
  double low = 0, high = 1;
};

Range range_of(const Chart& chart) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const ChartSeries& series : chart.series)
    for (const double value : series.values)
      if (std::isfinite(value) && (value > 0 || chart.scale == ChartScale::linear)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
  if (!(high > 0)) return {chart.scale == ChartScale::linear ? 0.0 : 0.1, 1};
  return {low, high};
}

/// A step of 1, 2 or 5 times a power of ten that cuts the range into about five.
double nice_step(double high) {
  const double magnitude = std::pow(10, std::floor(std::log10(high / 5)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (high / (magnitude * factor) <= 6) return magnitude * factor;
  return magnitude * 10;
}

/// 1, 2 and 5 times powers of ten around the range, or the powers alone where that would be too many.
std::vector<double> logarithmic_ticks(Range range) {
  const int first = static_cast<int>(std::floor(std::log10(range.low) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(range.high) - 1e-9));
  std::vector<double> all;
  for (int power = first; power <= std::max(last, first + 1); ++power)
    for (const double factor : {1.0, 2.0, 5.0})
      if (factor == 1 || last - first <= 3) all.push_back(factor * std::pow(10, power));
  auto low = std::upper_bound(all.begin(), all.end(), range.low * (1 + 1e-9)) - 1;
  auto high = std::lower_bound(all.begin(), all.end(), range.high * (1 - 1e-9));
  if (high <= low) high = low + 1;
  return {low, high + 1};
}

/// "10.0 k" is what a figure with three digits says; a tick is exactly "10 k".
std::string tick_label(double tick) {
  std::string label = humane_count(tick);
  const std::size_t end = std::min(label.find(' '), label.size());
  if (label.find('.') >= end) return label;
  std::string number = label.substr(0, end);
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number + label.substr(end);
}

/// Maps values to heights and lists the ticks.
class Axis {
 public:
  Axis(const Chart& chart, double top, double bottom) : top_(top), bottom_(bottom), scale_(chart.scale) {
    const Range range = range_of(chart);
    if (scale_ == ChartScale::linear) {
      const double step = nice_step(range.high);
      high_ = step * std::ceil(range.high / step - 1e-9);
      for (int i = 0; i * step <= high_ * (1 + 1e-9); ++i) ticks_.push_back(i * step);
      return;
    }
    ticks_ = logarithmic_ticks(range);
    low_ = ticks_.front();
    high_ = ticks_.back();
  }

  [[nodiscard]] double y(double value) const {
    const double share = scale_ == ChartScale::linear ? value / high_ : std::log(value / low_) / std::log(high_ / low_);
    return bottom_ - share * (bottom_ - top_);
  }
  [[nodiscard]] const std::vector<double>& ticks() const { return ticks_; }

 private:
  double top_, bottom_, low_ = 0, high_ = 1;
  ChartScale scale_;
  std::vector<double> ticks_;
};

std::string marker(std::size_t shape, double x, double y, const char* colour) {
  switch (shape % 4) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x, y, colour);
    case 1:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"7\" height=\"7\" fill=\"{}\"/>\n", x - 3.5, y - 3.5,
                         colour);
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l4.5 8h-9z\" fill=\"{}\"/>\n", x, y - 5, colour);
    default:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\" fill=\"{}\"/>\n", x, y - 5, colour);
  }
}

/// One panel: axes, grid, marks, legend.
class Panel {
 public:
  Panel(const Drawing& drawing, const Chart& chart, double top)
      : drawing_(drawing), chart_(chart), top_(top), bottom_(top + kPanelHeight), axis_(chart, top, bottom_) {}

  std::string draw() const {
    std::string out = grid() + legend();
    for (std::size_t i = 0; i < chart_.series.size(); ++i)
      if (chart_.series[i].dashed) out += line(i);
    for (std::size_t i = 0; i < chart_.series.size(); ++i)
      if (!chart_.series[i].dashed) out += chart_.kind == ChartKind::lines ? line(i) : bars(i);
    return out + missing();
  }

 private:
  double slot() const {
    return (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, drawing_.positions.size()));
  }
  double x(std::size_t position) const { return kLeft + slot() * (static_cast<double>(position) + 0.5); }

  /// Every how many positions there is room for a label.
  std::size_t label_stride() const {
    std::size_t columns = 1;
    for (const std::string& position : drawing_.positions)
      columns = std::max(columns, static_cast<std::size_t>(columns_of(position)));
    return static_cast<std::size_t>(std::ceil((static_cast<double>(columns) + 1) * kCharacterWidth / slot()));
  }

  const char* colour(std::size_t index) const {
    return chart_.series[index].dashed ? kReferenceColour : kColours[index % kColours.size()];
  }

  std::string grid() const {
    std::string out;
    for (const double tick : axis_.ticks()) {
      const double y = axis_.y(tick);
      out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d9d9d9\"/>\n", kLeft,
                         y, kWidth - kRight, y);
      out += text(kLeft - 8, y + 4, tick_label(tick), "text-anchor=\"end\"");
    }
    out += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"#333\"/>\n", kLeft, top_,
                       bottom_, kWidth - kRight);
    for (std::size_t i = 0; i < drawing_.positions.size(); i += label_stride())
      out += text(x(i), bottom_ + 18, drawing_.positions[i], "text-anchor=\"middle\"");
    const double middle = (top_ + bottom_) / 2;
    out += text(18, middle, chart_.value_label,
                fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 18 {:.1f})\"", middle).c_str());
    return out;
  }

  std::string legend() const {
    std::string out;
    double at = kLeft;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const ChartSeries& series = chart_.series[i];
      const bool is_bar = chart_.kind == ChartKind::bars;
      const double middle = top_ - 27, swatch = is_bar ? 12 : 22;
      if (is_bar) {
        out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"10\" fill=\"{}\"/>\n", at,
                           middle - 5, swatch, colour(i));
      } else {
        out += fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", at,
            middle, at + swatch, middle, colour(i), series.dashed ? " stroke-dasharray=\"5 4\"" : "");
        if (!series.dashed) out += marker(i, at + swatch / 2, middle, colour(i));
      }
      out += text(at + swatch + 6, middle + 4, series.name, "");
      at += swatch + 24 + kCharacterWidth * columns_of(series.name);
    }
    return out;
  }

  bool drawable(double value) const {
    return std::isfinite(value) && (value > 0 || chart_.scale == ChartScale::linear);
  }

  /// Below and right of its point, where a rising line leaves room; above and left where the axis is in the way.
  std::string point_label(double at, double y, const std::string& label) const {
    if (y + 20 < bottom_) return text(at + 5, y + 16, label, "font-size=\"10\"");
    return text(at - 5, y - 7, label, "text-anchor=\"end\" font-size=\"10\"");
  }

  std::string line(std::size_t index) const {
    const ChartSeries& series = chart_.series[index];
    const bool labelled = index == 0 && slot() >= 10 * kSmallCharacterWidth;
    std::string path, marks;
    bool drawing = false;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (!drawable(series.values[i])) {
        drawing = false;
        continue;
      }
      const double y = axis_.y(series.values[i]);
      path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x(i), y);
      if (!series.dashed) marks += marker(index, x(i), y, colour(index));
      if (labelled) marks += point_label(x(i), y, humane_count(series.values[i]));
      drawing = true;
    }
    if (path.empty()) return {};
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path, colour(index),
                       series.dashed ? " stroke-dasharray=\"5 4\"" : "") +
           marks;
  }

  std::string bars(std::size_t index) const {
    const ChartSeries& series = chart_.series[index];
    const auto count = static_cast<double>(chart_.series.size());
    const double width = std::min(46.0, slot() * 0.76 / count);
    std::string out;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (!drawable(series.values[i])) continue;
      const double left = x(i) + width * (static_cast<double>(index) - count / 2), y = axis_.y(series.values[i]);
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", left, y,
                         width, std::max(0.0, bottom_ - y), colour(index));
      // "100", "98", "7.5": three characters, so that all bars of a panel have a label or none has.
      const double value = series.values[i];
      const std::string label = value < 9.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
      if (width >= 3 * kSmallCharacterWidth)
        out += text(left + width / 2, y - 4, label, "text-anchor=\"middle\" font-size=\"10\"");
    }
    return out;
  }

  /// A position without any figure says so, lest it read as nought.
  std::string missing() const {
    std::string out;
    for (std::size_t i = 0; i < drawing_.positions.size(); i += label_stride()) {
      const bool any = std::any_of(chart_.series.begin(), chart_.series.end(), [&](const ChartSeries& series) {
        return !series.dashed && i < series.values.size() && drawable(series.values[i]);
      });
      if (!any) out += text(x(i), bottom_ - 6, "n/a", "text-anchor=\"middle\" font-size=\"10\" fill=\"#777\"");
    }
    return out;
  }

  const Drawing& drawing_;
  const Chart& chart_;
  double top_, bottom_;
  Axis axis_;
};

}  // namespace

std::string svg(const Drawing& drawing) {
  const auto panels = static_cast<double>(drawing.panels.size());
  const double height = kTop + panels * kPanelHeight + std::max(0.0, panels - 1) * kGap + kBottom;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n",
      kWidth, height);
  out += fmt::format("<title>{}</title>\n", escaped_markup(drawing.title));
  out += fmt::format("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#fff\"/>\n", kWidth, height);
  out += text(kLeft, 26, drawing.title, "font-size=\"17\" font-weight=\"bold\"");
  out += text(kLeft, 45, drawing.subtitle, "fill=\"#555\"");
  double top = kTop;
  for (const Chart& chart : drawing.panels) {
    out += Panel(drawing, chart, top).draw();
    top += kPanelHeight + kGap;
  }
  out += text((kLeft + kWidth - kRight) / 2, height - 18, drawing.position_label, "text-anchor=\"middle\"");
  return out + "</svg>\n";
}

}  // namespace stepcast
