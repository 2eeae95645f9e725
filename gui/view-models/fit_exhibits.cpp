#include "gui/view-models/fit_exhibits.hpp"

#include <QObject>
#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/profile/calibration_profile.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {

/// A residual that a reader should look at: beyond the 15 % that unseen hosts are allowed (docs/models/calibration.md).
constexpr double kLarge = 0.15;
constexpr double kMicroseconds = 1e-6;

FigureCell time_cell(double microseconds) { return figure_cell(Seconds(microseconds * kMicroseconds)); }
FigureCell deviation_cell(double share) {
  return change_cell(share, std::abs(share) > kLarge ? FigureCell::Tone::bad : FigureCell::Tone::plain);
}

QString place_of(const MeasuredPoint& point) {
  return tr("%1 × %2").arg(shown_whole(point.nodes), shown_whole(point.ranks_per_node));
}

bool is_sound(const MeasuredPoint& point) { return point.median_us > 0 && point.model_us > 0; }

/// One series of dots an operation, in order of their first use.
class ByOperation {
 public:
  void add(const MeasuredPoint& point, const QPointF& at, const QString& tip) {
    const auto [found, fresh] = places_.try_emplace(point.op, series_.size());
    if (fresh)
      series_.push_back({.name = qt(point.op),
                         .hue = hue_of_index(static_cast<int>(series_.size())),
                         .values = {},
                         .points = {},
                         .dashed = true,
                         .tips = {}});
    series_[found->second].points.push_back(at);
    series_[found->second].tips << tip;
  }
  std::vector<ChartData::Series> take() { return std::move(series_); }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<ChartData::Series> series_;
};

QString tip_of(const MeasuredPoint& point) {
  return tr("%1 of %2 on %3: measured %4, fitted %5")
      .arg(qt(point.op), shown(Bytes(point.size_bytes)), place_of(point),
           shown(Seconds(point.median_us * kMicroseconds)), shown(Seconds(point.model_us * kMicroseconds)));
}

}  // namespace

Exhibit constants_exhibit(const CalibrationProfile& profile) {
  Exhibit out;
  out.title = tr("Constants: the catalogue's and the fitted ones");
  out.remark = tr("The interval holds the constant in 68 of 100 refits to rows drawn anew.");
  if (profile.constants.empty()) out.remark = tr("This calibration moved no constant.");
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("fitted against the catalogue, %");
  out.chart.legend = false;
  ChartData::Series bars{.name = tr("change"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  out.table.headings = {tr("Constant"), tr("Catalogue"), tr("Fitted"), tr("68 % interval"), tr("Rows"), tr("Of")};
  for (const FittedConstant& constant : profile.constants) {
    const QString interval = constant.rows == 0
                                 ? tr("not told by these results")
                                 : tr("%1 to %2").arg(shown_number(constant.low), shown_number(constant.high));
    out.table.rows.push_back({{.text = qt(constant.key)},
                              number_cell(constant.prior),
                              number_cell(constant.value),
                              {.text = interval, .number = constant.high - constant.low, .text_says_more = true},
                              whole_cell(static_cast<double>(constant.rows)),
                              {.text = qt(constant.profile)}});
    if (!(constant.prior > 0)) continue;
    out.chart.categories << qt(constant.key).section(QLatin1Char('.'), -2);
    bars.values.push_back((constant.value / constant.prior - 1) * 100);
    bars.tips << tr("%1: %2 → %3").arg(qt(constant.key), shown_number(constant.prior), shown_number(constant.value));
  }
  if (!bars.values.empty()) out.chart.series.push_back(std::move(bars));
  return out;
}

Exhibit held_out_exhibit(const CalibrationProfile& profile) {
  Exhibit out;
  out.title = tr("How well rows are predicted that a fit has not seen");
  out.remark = profile.held_out.empty() ? tr("Too few rows were measured to hold any out.") : QString();
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("mean error, %");
  out.chart.y_from = 0;
  out.chart.legend = false;
  ChartData::Series bars{.name = tr("mean error"), .hue = Hue::green, .values = {}, .points = {}, .tips = {}};
  out.table.headings = {tr("Held out"), tr("Rows"), tr("Mean, %"), tr("Median, %"), tr("90 %, %"), tr("Bias, %")};
  for (const HeldOutScore& score : profile.held_out) {
    out.chart.categories << qt(score.what);
    bars.values.push_back(score.mean_percent);
    bars.tips << tr("%1: %2 % on average").arg(qt(score.what), shown_number(score.mean_percent));
    out.table.rows.push_back({{.text = qt(score.what)},
                              whole_cell(static_cast<double>(score.rows)),
                              number_cell(score.mean_percent),
                              number_cell(score.median_percent),
                              number_cell(score.p90_percent),
                              number_cell(score.bias_percent)});
  }
  if (!bars.values.empty()) out.chart.series.push_back(std::move(bars));
  return out;
}

Exhibit measured_exhibit(const CalibrationProfile& profile) {
  Exhibit out;
  out.title = tr("Fitted against measured");
  out.chart.kind = ChartData::Kind::scatter;
  out.chart.logarithmic_x = out.chart.logarithmic_y = true;
  out.chart.x_title = tr("measured, µs");
  out.chart.y_title = tr("fitted, µs");
  out.table.headings = {tr("Collective"),  tr("Size"),   tr("Servers × ranks"), tr("Measured"),
                        tr("10 % – 90 %"), tr("Fitted"), tr("Residual")};
  ByOperation dots;
  for (const MeasuredPoint& point : profile.points) {
    if (!is_sound(point)) continue;
    dots.add(point, {point.median_us, point.model_us}, tip_of(point));
    out.table.rows.push_back(
        {{.text = qt(point.op)},
         figure_cell(Bytes(point.size_bytes)),
         {.text = place_of(point), .number = static_cast<double>(point.ranks), .text_says_more = true},
         time_cell(point.median_us),
         {.text = tr("%1 – %2").arg(shown(Seconds(point.low_us * kMicroseconds)),
                                    shown(Seconds(point.high_us * kMicroseconds))),
          .number = point.high_us - point.low_us,
          .text_says_more = true},
         time_cell(point.model_us),
         deviation_cell(point.model_us / point.median_us - 1)});
  }
  out.chart.series = dots.take();
  if (out.chart.series.empty()) out.remark = tr("No collective was measured.");
  return out;
}

Exhibit residuals_exhibit(const CalibrationProfile& profile) {
  Exhibit out;
  out.title = tr("Residuals over the size of the message");
  out.remark = tr("Above 0: the fitted model is too slow.");
  out.chart.kind = ChartData::Kind::scatter;
  out.chart.logarithmic_x = true;
  out.chart.x_title = tr("bytes");
  out.chart.y_title = tr("fitted ÷ measured − 1, %");
  out.table.headings = {tr("Group"), tr("Figure"), tr("Measured"), tr("Fitted"), tr("Unit"), tr("Residual")};
  struct Sum {
    double bias = 0, size = 0;
    long rows = 0;
  };
  std::map<std::string, Sum> sums;
  ByOperation dots;
  for (const MeasuredPoint& point : profile.points) {
    if (!is_sound(point) || !(point.size_bytes > 0)) continue;
    const double residual = point.model_us / point.median_us - 1;
    dots.add(point, {point.size_bytes, residual * 100}, tip_of(point));
    Sum& sum = sums[point.op];
    sum.bias += residual;
    sum.size += std::abs(residual);
    ++sum.rows;
  }
  for (const auto& [op, sum] : sums)
    out.table.rows.push_back({{.text = qt(op)},
                              {.text = tr("mean of %1 rows").arg(shown_whole(sum.rows))},
                              {.text = QStringLiteral("—"), .tone = FigureCell::Tone::muted},
                              {.text = tr("off by %1").arg(shown_percent(sum.size / static_cast<double>(sum.rows))),
                               .number = sum.size / static_cast<double>(sum.rows),
                               .text_says_more = true},
                              {.text = tr("mean, with sign:")},
                              deviation_cell(sum.bias / static_cast<double>(sum.rows))});
  for (const MeasuredFigure& figure : profile.figures) {
    const bool known = figure.measured > 0 && figure.model > 0;
    out.table.rows.push_back({{.text = qt(figure.group)},
                              {.text = qt(figure.name), .tip = qt(figure.name)},
                              number_cell(figure.measured),
                              number_cell(figure.model),
                              {.text = qt(figure.unit)},
                              known ? deviation_cell(figure.model / figure.measured - 1)
                                    : FigureCell{.text = QStringLiteral("—"), .tone = FigureCell::Tone::muted}});
  }
  out.chart.series = dots.take();
  if (out.chart.series.empty()) out.remark = tr("No collective was measured.");
  return out;
}

QString words_of(const CalibrationProfile& profile) {
  QStringList out;
  for (const std::string& finding : profile.findings) out << tr("Wrong with the cluster: %1").arg(qt(finding));
  for (const FitOutlier& outlier : profile.outliers)
    out << tr("Left out: %1, measured %2 %4, its neighbours say %3 %4")
               .arg(qt(outlier.row), shown_number(outlier.measured), shown_number(outlier.expected), qt(outlier.unit));
  for (const std::string& note : profile.notes) out << tr("Note: %1").arg(qt(note));
  return out.join(QLatin1Char('\n'));
}

}  // namespace stepcast
