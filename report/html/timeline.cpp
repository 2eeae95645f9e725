#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/html/charts.hpp"
#include "report/humane.hpp"
#include "report/markup.hpp"

namespace stepcast {

namespace {

constexpr double kWidth = 1000, kLeft = 232, kLane = 15, kGap = 9;
/// Wider spans are marks of their own that say what they are; narrower ones of a kind are one path.
constexpr double kOwnMark = 2.5;
/// Narrower marks are drawn as wide, or they would fade away.
constexpr double kLeastSeen = 0.8;
/// Wide enough for the number of its micro-batch.
constexpr double kNumbered = 15;

std::string title_of(const DrawnSpan& span) {
  std::string out = fmt::format("{}: {} from {}", span.what, humane(span.end - span.start), humane(span.start));
  if (span.micro_batch >= 0) out += fmt::format(", micro-batch {}", span.micro_batch);
  return out;
}

std::string lane(const DrawnStream& stream, double y, double scale) {
  std::string out, numbers;
  std::map<std::string, std::string> narrow;
  for (const DrawnSpan& span : stream.spans) {
    const double x = kLeft + span.start.value() * scale, width = (span.end - span.start).value() * scale;
    const std::string kind = kind_of_span(span.what);
    if (width < kOwnMark) {
      const double seen = std::max(width, kLeastSeen);
      narrow[kind] += fmt::format("M{:.1f} {:.1f}h{:.2f}v{:g}h-{:.2f}z", x, y, seen, kLane, seen);
      continue;
    }
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:g}\"><title>{}</title></rect>", kind,
        x, y, width - 0.4, kLane, escaped_markup(title_of(span)));
    if (width > kNumbered && span.micro_batch >= 0)
      numbers += fmt::format("<text class=\"on mid\" x=\"{:.1f}\" y=\"{:.1f}\" style=\"font-size:9px\">{}</text>",
                             x + width / 2, y + kLane - 4, span.micro_batch);
  }
  for (const auto& [kind, path] : narrow) out += fmt::format("<path class=\"{}\" d=\"{}\"/>", kind, path);
  return out + numbers;
}

std::string legend(const std::vector<DrawnStream>& streams, double y) {
  std::map<std::string, std::string> kinds;  // by name, so that the order is the same every time
  for (const DrawnStream& stream : streams)
    for (const DrawnSpan& span : stream.spans) {
      const std::string kind = kind_of_span(span.what);
      kinds[kind == "communication" ? "communication" : span.what] = kind;
    }
  std::string out;
  double x = kLeft;
  for (const auto& [name, kind] : kinds) {
    out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" rx=\"2\"/>", kind, x,
                       y - 10);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + 16, y, escaped_markup(name));
    x += 40 + 7 * static_cast<double>(name.size());
  }
  return out;
}

}  // namespace

std::string kind_of_span(const std::string& what) {
  if (what == "forward") return "forward";
  if (what == "backward") return "backward";
  if (what == "optimizer") return "optimizer";
  if (what == "fixed time") return "overhead";
  if (what == "loading of input") return "loading";
  return "communication";
}

std::string timeline_svg(const std::vector<DrawnStream>& streams, Seconds step) {
  if (streams.empty() || step <= Seconds(0)) return {};
  std::string lanes, device;
  double y = 22;
  const double scale = (kWidth - kLeft) / step.value();
  for (const DrawnStream& stream : streams) {
    if (stream.device != device) {
      if (!device.empty()) y += kGap;
      device = stream.device;
    }
    lanes += fmt::format("<text class=\"soft\" x=\"0\" y=\"{:.1f}\" style=\"font-size:11px\">{}</text>", y + kLane - 4,
                         escaped_markup(fmt::format("{} · {}", stream.device, stream.stream)));
    lanes += fmt::format("<rect class=\"lane\" x=\"{:g}\" y=\"{:.1f}\" width=\"{:g}\" height=\"{:g}\"/>", kLeft, y,
                         kWidth - kLeft, kLane);
    lanes += lane(stream, y, scale);
    y += kLane + 2;
  }
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {:g} {:.0f}\" role=\"img\" aria-label=\"Timeline of one step\">", kWidth, y + 34);
  for (int i = 0; i <= 4; ++i) {
    const double x = kLeft + (kWidth - kLeft) * i / 4;
    out += fmt::format("<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"16\" y2=\"{1:.1f}\"/>", x, y);
    out += fmt::format("<text class=\"soft {}\" x=\"{:.1f}\" y=\"11\">{}</text>",
                       i == 0 ? "" : (i == 4 ? "end" : "mid"), x, i == 0 ? "0" : humane(step * (i / 4.0)));
  }
  return out + lanes + legend(streams, y + 24) + "</svg>\n";
}

}  // namespace stepcast
