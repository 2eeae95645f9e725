#include "report/scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "report/humane.hpp"
#include "report/markup.hpp"

namespace stepcast {

namespace {

constexpr double kSide = 440, kLeft = 84, kTop = 16, kBottom = 58, kLegendGap = 24, kRight = 16;
constexpr double kLegendWidth = 250, kLegendLine = 19;
/// Marks nearer than this cover one another.
constexpr double kCell = 4;

/// Okabe & Ito, "Color Universal Design" (2008), black apart, and a brown between orange and vermillion; the second of
/// each is for dark pages.
constexpr std::array<std::pair<const char*, const char*>, kScatterColours> kColours{{{"#0072B2", "#4BA9E0"},
                                                                                     {"#D55E00", "#F0803C"},
                                                                                     {"#009E73", "#2CC79B"},
                                                                                     {"#CC79A7", "#E19BC3"},
                                                                                     {"#C98A00", "#F0B83C"},
                                                                                     {"#2E9BD6", "#9AD4F7"},
                                                                                     {"#7A5C3E", "#C9A27D"},
                                                                                     {"#5A5A5A", "#B9B9B9"}}};

/// One range for both axes, a little wider than the points.
struct LogAxis {
  double low = 1, high = 10;
  [[nodiscard]] double share(double value) const { return std::log(value / low) / std::log(high / low); }
  [[nodiscard]] double x(double value) const { return kLeft + kSide * share(value); }
  [[nodiscard]] double y(double value) const { return kTop + kSide * (1 - share(value)); }
};

LogAxis axis_of(const Scatter& scatter) {
  double low = 0, high = 0;
  for (const ScatterSeries& series : scatter.series)
    for (const ScatterPoint& point : series.points)
      for (const double value : {point.measured, point.predicted}) {
        low = low > 0 ? std::min(low, value) : value;
        high = std::max(high, value);
      }
  if (!(high > 0)) return {};
  constexpr double kMargin = 1.25;
  return {low / kMargin, high * kMargin};
}

/// Powers of ten, with 2 and 5 times them where the range is short.
std::vector<double> ticks_of(const LogAxis& axis) {
  std::vector<double> out;
  const int first = static_cast<int>(std::floor(std::log10(axis.low)));
  const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
  for (int power = first; power <= last; ++power)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10, power);
      if ((factor == 1 || last - first <= 3) && tick >= axis.low && tick <= axis.high) out.push_back(tick);
    }
  return out;
}

std::string mark(std::size_t series, double x, double y) {
  const std::size_t colour = series % kScatterColours;
  switch (series / kScatterColours % 4) {
    case 0:
      return fmt::format("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.4\"", colour, x, y);
    case 1:
      return fmt::format("<path class=\"c{}\" d=\"M{:.1f} {:.1f}l4.2 7h-8.4z\"", colour, x, y - 4.4);
    case 2:
      return fmt::format("<rect class=\"c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"6\" height=\"6\"", colour, x - 3,
                         y - 3);
    default:
      return fmt::format("<path class=\"c{}\" d=\"M{:.1f} {:.1f}l4.4 4.4l-4.4 4.4l-4.4 -4.4z\"", colour, x, y - 4.4);
  }
}

std::string grid(const Scatter& scatter, const LogAxis& axis) {
  std::string out;
  const double right = kLeft + kSide, bottom = kTop + kSide;
  for (const double tick : ticks_of(axis)) {
    const std::string label = escaped_markup(scatter.label(tick));
    out += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {4:.1f}H{5:.1f}\"/>\n", axis.x(tick),
                       kTop, bottom, kLeft, axis.y(tick), right);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", axis.x(tick), bottom + 17,
                       label);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 7, axis.y(tick) + 4,
                       label);
  }
  out +=
      fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", kLeft, kTop, kSide, kSide);
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">measured {}</text>\n", kLeft + kSide / 2,
                     bottom + 40, escaped_markup(scatter.figure));
  out += fmt::format(
      "<text x=\"18\" y=\"{0:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {0:.1f})\">predicted {1}</text>\n",
      kTop + kSide / 2, escaped_markup(scatter.figure));
  return out;
}

/// The diagonal, and the band of small errors around it, cut off at the frame.
std::string diagonal(const Scatter& scatter, const LogAxis& axis) {
  const double up = 1 + scatter.band, down = 1 - scatter.band;
  const double low = axis.low, high = axis.high;
  return fmt::format(
      "<path class=\"band\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} "
      "{:.1f}z\"/>\n"
      "<path class=\"diagonal\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n",
      axis.x(low), axis.y(low), axis.x(low), axis.y(low * up), axis.x(high / up), axis.y(high), axis.x(high),
      axis.y(high), axis.x(high), axis.y(high * down), axis.x(low / down), axis.y(low), axis.x(low), axis.y(low),
      axis.x(high), axis.y(high));
}

/// Marks of one series: the first point of each cell, with how many more lie in it.
std::string marks(const ScatterSeries& series, std::size_t index, const LogAxis& axis) {
  std::map<std::pair<int, int>, std::pair<const ScatterPoint*, int>> cells;
  for (const ScatterPoint& point : series.points) {
    const std::pair cell(static_cast<int>(axis.x(point.measured) / kCell),
                         static_cast<int>(axis.y(point.predicted) / kCell));
    auto& entry = cells[cell];
    if (entry.first == nullptr) entry.first = &point;
    ++entry.second;
  }
  std::string out;
  for (const auto& [cell, entry] : cells) {
    const auto& [point, count] = entry;
    const std::string more = count > 1 ? fmt::format(" (and {} more here)", count - 1) : std::string();
    out += fmt::format("{}><title>{}{}</title>{}\n", mark(index, axis.x(point->measured), axis.y(point->predicted)),
                       escaped_markup(point->title), more,
                       index / kScatterColours % 4 == 0   ? "</circle>"
                       : index / kScatterColours % 4 == 2 ? "</rect>"
                                                          : "</path>");
  }
  return out;
}

std::string legend(const Scatter& scatter) {
  const double x = kLeft + kSide + kLegendGap;
  double y = kTop + 10;
  std::string out;
  for (std::size_t i = 0; i < scatter.series.size(); ++i, y += kLegendLine)
    out +=
        fmt::format("{}/>\n<text x=\"{:.1f}\" y=\"{:.1f}\">{} ({})</text>\n", mark(i, x, y), x + 11, y + 4,
                    escaped_markup(scatter.series[i].name), whole(static_cast<long>(scatter.series[i].points.size())));
  out += fmt::format(
      "<path class=\"band\" d=\"M{0:.1f} {1:.1f}h14v10h-14z\"/>\n<text x=\"{2:.1f}\" y=\"{3:.1f}\">within {4:.0f} "
      "%</text>\n",
      x - 6, y - 3, x + 11, y + 6, 100 * scatter.band);
  return out;
}

}  // namespace

std::string scatter_svg(const Scatter& scatter) {
  const LogAxis axis = axis_of(scatter);
  const double height =
      std::max(kTop + kSide + kBottom, kTop + kLegendLine * (static_cast<double>(scatter.series.size()) + 2));
  const double width = kLeft + kSide + kLegendGap + kLegendWidth + kRight;
  std::string out = fmt::format(
      "<svg class=\"scatter\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"predicted against measured {}\">\n",
      width, height, escaped_markup(scatter.figure));
  out += diagonal(scatter, axis) + grid(scatter, axis);
  for (std::size_t i = 0; i < scatter.series.size(); ++i) out += marks(scatter.series[i], i, axis);
  return out + legend(scatter) + "</svg>\n";
}

std::string scatter_style() {
  std::string light, dark, rules;
  for (int i = 0; i < kScatterColours; ++i) {
    light += fmt::format("--c{}:{};", i, kColours[static_cast<std::size_t>(i)].first);
    dark += fmt::format("--c{}:{};", i, kColours[static_cast<std::size_t>(i)].second);
    rules += fmt::format(".c{0}{{fill:var(--c{0})}}\n", i);
  }
  return fmt::format(
             ":root{{--ink:#222;--page:#fff;--soft:#666;--line:#dcdcdc;--band:#e8f1e8;{}}}\n"
             "@media (prefers-color-scheme:dark){{:root{{--ink:#e4e4e4;--page:#17191c;--soft:#a0a0a0;"
             "--line:#34383d;--band:#22332a;{}}}}}\n",
             light, dark) +
         rules +
         "svg text{fill:var(--ink);font:12px system-ui,sans-serif}\n"
         "svg .grid{stroke:var(--line);fill:none}\nsvg .frame{stroke:var(--soft);fill:none}\n"
         "svg .diagonal{stroke:var(--soft);stroke-dasharray:5 4;fill:none}\nsvg .band{fill:var(--band)}\n"
         ".scatter circle,.scatter path[class^=c],.scatter rect[class^=c]{fill-opacity:.75;stroke:var(--page);"
         "stroke-width:.6}\n.scatter{width:100%;max-width:820px;height:auto}\n";
}

}  // namespace stepcast
