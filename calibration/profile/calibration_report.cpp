#include "calibration/profile/calibration_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/humane.hpp"
#include "report/markup.hpp"

namespace stepcast {

namespace {

// Colours that colour-blind people tell apart (Okabe & Ito 2008).
constexpr const char* kMeasured = "#0072b2";
constexpr const char* kModel = "#d55e00";

constexpr double kWidth = 460, kPlot = 170, kResiduals = 70, kLeft = 56, kTop = 26, kGap = 22, kRight = 12;

/// A logarithmic axis.
struct Axis {
  double low = 1, high = 10, from = 0, to = 1;
  [[nodiscard]] double at(double value) const {
    return from + (std::log(value) - std::log(low)) / (std::log(high) - std::log(low)) * (to - from);
  }
};

std::string element(const char* name, const std::string& attributes, const std::string& text = {}) {
  return text.empty() ? fmt::format("<{} {}/>", name, attributes)
                      : fmt::format("<{} {}>{}</{}>", name, attributes, text, name);
}

std::string label(double x, double y, const std::string& text, const char* anchor = "middle") {
  return element("text", fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"", x, y, anchor),
                 escaped_markup(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return element("line",
                 fmt::format("x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}", x1, y1, x2, y2, style));
}

/// One collective on one set of ranks, asked for in one way.
using Points = std::vector<const MeasuredPoint*>;

std::string time_text(double us) { return humane(Seconds(us * 1e-6)); }
std::string size_text(double bytes) { return humane(Bytes(bytes)); }

std::string axes(const Axis& x, const Axis& y) {
  std::string out;
  double size = 1;
  while (size < x.low * 0.99) size *= 32;
  while (size <= x.high * 1.01) {
    out += line(x.at(size), y.to, x.at(size), y.from, "class=\"grid\"");
    out += label(x.at(size), y.from + 13, size_text(size));
    size *= 32;
  }
  double time = std::pow(10, std::ceil(std::log10(y.low)));
  while (time <= y.high) {
    out += line(x.from, y.at(time), x.to, y.at(time), "class=\"grid\"");
    out += label(x.from - 4, y.at(time) + 4, time_text(time), "end");
    time *= 10;
  }
  return out;
}

std::string curve(const Points& points, const Axis& x, const Axis& y, double MeasuredPoint::*what, const char* colour,
                  const char* dashes) {
  std::string path;
  for (const MeasuredPoint* point : points)
    if (point->*what > 0 && point->size_bytes > 0)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(point->size_bytes), y.at(point->*what));
  return element("path",
                 fmt::format("d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" {}", path, colour, dashes));
}

/// Model over measured, linear from −50 % to +50 %.
std::string residuals(const Points& points, const Axis& x, double top) {
  const double middle = top + kResiduals / 2;
  std::string out = line(x.from, middle, x.to, middle, "class=\"axis\"");
  out += label(x.from - 4, top + 8, "+50 %", "end") + label(x.from - 4, middle + 4, "0", "end") +
         label(x.from - 4, top + kResiduals, "−50 %", "end");
  for (const MeasuredPoint* point : points) {
    if (point->model_us <= 0) continue;
    const double off = std::clamp(point->model_us / point->median_us - 1, -0.5, 0.5);
    const double y = middle - off * kResiduals;
    out += line(x.at(point->size_bytes), middle, x.at(point->size_bytes), y,
                fmt::format("stroke=\"{}\" stroke-width=\"3\"", kModel).c_str());
  }
  return out;
}

std::string drawing(const Points& points) {
  Axis x{points.front()->size_bytes, points.back()->size_bytes, kLeft, kWidth - kRight};
  if (x.high <= x.low) x.high = 2 * x.low;
  Axis y{1e300, 0, kTop + kPlot, kTop};
  for (const MeasuredPoint* point : points) {
    y.low = std::min({y.low, point->low_us, point->model_us > 0 ? point->model_us : point->low_us});
    y.high = std::max({y.high, point->high_us, point->model_us});
  }
  y.low *= 0.8;
  y.high *= 1.25;
  std::string marks;
  for (const MeasuredPoint* point : points) {
    const double at = x.at(point->size_bytes);
    marks += line(at, y.at(point->low_us), at, y.at(point->high_us), fmt::format("stroke=\"{}\"", kMeasured).c_str());
    const std::string title =
        escaped_markup(fmt::format("{}: {} ({} to {}, {} samples), model {}", size_text(point->size_bytes),
                                   time_text(point->median_us), time_text(point->low_us), time_text(point->high_us),
                                   point->samples, point->model_us > 0 ? time_text(point->model_us) : "–"));
    marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}</title></circle>", at,
                         y.at(point->median_us), kMeasured, title);
  }
  const MeasuredPoint& first = *points.front();
  const std::string asked = first.algorithm == "auto" && first.protocol == "auto"
                                ? ""
                                : fmt::format(", {} {}", first.algorithm, first.protocol);
  const double height = kTop + kPlot + kGap + kResiduals + 8;
  return fmt::format("<figure><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">", kWidth, height) +
         label(kLeft, 16,
               fmt::format("{}, {} ranks on {} node{}{}", first.op, first.ranks, first.nodes,
                           first.nodes == 1 ? "" : "s", asked),
               "start") +
         axes(x, y) + curve(points, x, y, &MeasuredPoint::median_us, kMeasured, "stroke-opacity=\"0.5\"") +
         curve(points, x, y, &MeasuredPoint::model_us, kModel, "stroke-dasharray=\"5 3\"") + marks +
         residuals(points, x, kTop + kPlot + kGap) + "</svg></figure>\n";
}

std::string list(const std::string& title, const std::vector<std::string>& lines, const std::string& none) {
  std::string out = fmt::format("<h2>{}</h2>\n", title);
  if (lines.empty()) return none.empty() ? "" : out + "<p>" + none + "</p>\n";
  out += "<ul>\n";
  for (const std::string& one : lines) out += "<li>" + escaped_markup(one) + "</li>\n";
  return out + "</ul>\n";
}

std::string row(const std::vector<std::string>& cells, const char* cell = "td") {
  std::string out = "<tr>";
  for (const std::string& text : cells) out += fmt::format("<{}>{}</{}>", cell, escaped_markup(text), cell);
  return out + "</tr>\n";
}

std::string constants(const CalibrationProfile& profile) {
  if (profile.constants.empty()) return {};
  std::string out = "<h2>Constants</h2>\n<table>\n" +
                    row({"entry", "constant", "catalogue", "fitted", "68 % interval", "rows"}, "th");
  for (const FittedConstant& c : profile.constants)
    out += row({c.profile, c.key, fmt::format("{:.4g}", c.prior), fmt::format("{:.4g}", c.value), interval_text(c),
                fmt::format("{}", c.rows)});
  return out + "</table>\n";
}

std::string held_out(const CalibrationProfile& profile) {
  if (profile.held_out.empty()) return {};
  std::string out = "<h2>How far to trust it</h2>\n<p>Rows that the fit had not seen, predicted:</p>\n<table>\n" +
                    row({"held out", "rows", "mean error", "median", "nine in ten below", "bias"}, "th");
  for (const HeldOutScore& s : profile.held_out)
    out += row({s.what, fmt::format("{}", s.rows), fmt::format("{:.1f} %", s.mean_percent),
                fmt::format("{:.1f} %", s.median_percent), fmt::format("{:.1f} %", s.p90_percent),
                fmt::format("{:+.1f} %", s.bias_percent)});
  return out + "</table>\n";
}

std::string figures(const CalibrationProfile& profile) {
  if (profile.figures.empty()) return {};
  std::string out = "<h2>Devices and storage</h2>\n<table>\n" +
                    row({"", "measured", "model or catalogue", "model over measured"}, "th");
  for (const MeasuredFigure& f : profile.figures)
    out += row({f.name, fmt::format("{:.4g} {}", f.measured, f.unit),
                f.model > 0 ? fmt::format("{:.4g} {}", f.model, f.unit) : "–",
                f.model > 0 && f.measured > 0 ? fmt::format("{:+.1f} %", 100 * (f.model / f.measured - 1)) : "–"});
  return out + "</table>\n";
}

std::string machine(const CalibrationProfile& profile) {
  std::string out = "<p>";
  const std::string hosts = fmt::format("{}", fmt::join(profile.machine.hosts, ", "));
  out += escaped_markup(fmt::format("Measured on {} ({}), newest measurement of {}.", profile.machine.node,
                                    hosts.empty() ? "hosts not stated" : hosts, profile.created));
  for (const auto& [software, version] : profile.machine.versions)
    out += escaped_markup(fmt::format(" {} {}.", software, version));
  if (profile.machine.stand_in) out += " <strong>A test library stood in for the hardware.</strong>";
  return out + "</p>\n";
}

constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2rem auto;padding:0 "
    "1rem;color:#222;background:#fff}"
    "table{border-collapse:collapse}td,th{padding:.15rem .7rem;border-bottom:1px solid #ddd;text-align:left}"
    "figure{display:inline-block;margin:0 .5rem 1rem 0;width:470px;max-width:100%}svg{width:100%;font:11px sans-serif}"
    "text{fill:#333}.grid{stroke:#e4e4e4}.axis{stroke:#888}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}text{fill:#ccc}.grid{stroke:#333}"
    "td,th{border-color:#444}}";

}  // namespace

std::string calibration_html(const CalibrationProfile& profile) {
  std::map<std::tuple<std::string, int, int, std::string, std::string>, Points> drawings;
  for (const MeasuredPoint& point : profile.points)
    if (point.size_bytes > 0 && point.median_us > 0)
      drawings[{point.op, point.nodes, point.ranks, point.algorithm, point.protocol}].push_back(&point);
  std::vector<std::string> outliers;
  for (const FitOutlier& o : profile.outliers)
    outliers.push_back(
        fmt::format("{}: {:.4g} {}, the others say {:.4g}; it does not count", o.row, o.measured, o.unit, o.expected));
  const std::string title = escaped_markup("Calibration " + profile.name);
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\n"
      "<style>{}</style></head><body>\n<h1>{}</h1>\n",
      title, kStyle, title);
  out += machine(profile);
  out += list("What is wrong with this cluster", profile.findings, "Nothing was found.");
  out += held_out(profile);
  out += list("What the fit could not know", profile.notes, "");
  out += list("Outliers", outliers, "");
  if (!drawings.empty())
    out += fmt::format(
        "<h2>Collectives</h2>\n<p>Time against size: <span style=\"color:{}\">measured</span> (points: "
        "median; bars: 10 to 90 % of the samples) and the <span style=\"color:{}\">fitted model</span> "
        "(dashed); below, model over measured. Inside of the measured range predictions take the measured "
        "times; outside of it the model, scaled.</p>\n",
        kMeasured, kModel);
  for (auto& [key, points] : drawings) {
    std::stable_sort(points.begin(), points.end(),
                     [](const auto* a, const auto* b) { return a->size_bytes < b->size_bytes; });
    out += drawing(points);
  }
  out += figures(profile) + constants(profile);
  return out + "</body></html>\n";
}

}  // namespace stepcast
