#include "gui/views/exhibit_view.hpp"

#include <QChart>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QVBoxLayout>

#include "gui/views/chart.hpp"
#include "gui/views/chart_legend.hpp"
#include "gui/views/chart_pane.hpp"
#include "gui/views/figure_view.hpp"

namespace stepcast {

namespace {

/// Of the width, what tables get, and what they get at most when they would be cut.
constexpr double kUsualTableShare = 0.48, kMostTableShare = 0.56;
/// Upright bars that need no share of the width, but so much each.
constexpr qsizetype kFewBars = 3;

/// Names of horizontal bars get about so much of a chart's width; longer ones are cut.
constexpr double kNameShare = 0.4;
/// A table gives way to long names of bars, but not below this share.
constexpr double kLeastTableShare = 0.44;
/// Pixels that a chart needs to write the names of its bars in full.
double width_for_names(const ChartData& chart, const QFontMetrics& letters) {
  if (chart.kind != ChartData::Kind::horizontal_bars) return 0;
  int longest = 0;
  for (const QString& name : chart.categories) longest = std::max(longest, letters.horizontalAdvance(name));
  return longest / kNameShare;
}

/// Pixels that a bar with its name takes, and an axis beside the bars.
constexpr int kBarWidth = 70, kAxisWidth = 80;
/// Pixels in which a chart says what it has to say; nothing where more of them are always of use.
std::optional<int> enough_for(const ChartData& chart, const QFontMetrics& letters) {
  if (chart.kind == ChartData::Kind::horizontal_bars) return static_cast<int>(width_for_names(chart, letters));
  if (chart.kind != ChartData::Kind::bars || chart.categories.size() > kFewBars) return std::nullopt;
  return kAxisWidth + kBarWidth * static_cast<int>(chart.categories.size());
}

/// Pixels below which the names of a chart's bars would be left out, or its lines not be told apart.
int least_height_for(const ChartData& chart) {
  if (chart.kind != ChartData::Kind::horizontal_bars) return 230;
  return 104 + 22 * static_cast<int>(std::max<qsizetype>(2, chart.categories.size()));
}

/// Rows of a table that are worth more height than the chart beside them needs.
constexpr std::size_t kMostRows = 20;
/// Pixels that a chart, or the table beside it, can make use of.
int height_for(const Exhibit& exhibit, int row_height) {
  const ChartData& chart = exhibit.chart;
  // The heading is a row, too, and so is the scroll bar.
  const int rows = row_height * static_cast<int>(std::min(kMostRows, exhibit.table.rows.size()) + 2);
  if (chart.series.empty()) return rows;
  if (chart.kind != ChartData::Kind::horizontal_bars) return 470;
  return std::max(96 + 38 * static_cast<int>(std::max<qsizetype>(4, chart.categories.size())), rows);
}

}  // namespace

ExhibitView::ExhibitView(QWidget* parent) : QWidget(parent) {
  title_ = new QLabel(this);
  title_->setObjectName(QStringLiteral("exhibit"));
  warning_ = new QLabel(this);
  warning_->setObjectName(QStringLiteral("warning"));
  remark_ = new QLabel(this);
  remark_->setObjectName(QStringLiteral("muted"));
  for (QLabel* words : {warning_, remark_}) {
    words->setWordWrap(true);
    words->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  split_ = new QSplitter(Qt::Horizontal, this);
  split_->setChildrenCollapsible(false);
  drawing_ = new QWidget(split_);
  legend_ = new ChartLegend(drawing_);
  chart_ = new ChartPane(drawing_);
  chart_->setMinimumSize(260, 150);
  auto* column = new QVBoxLayout(drawing_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(legend_);
  column->addWidget(chart_, 1);
  connect(chart_, &ChartPane::marked, this, &ExhibitView::marked);
  table_ = new FigureTable(this);
  view_ = new FigureView(*table_, tr("Figures"), split_);
  connect(view_, &QTableView::activated, this, [this](const QModelIndex& at) {
    const auto* sorted = qobject_cast<const QSortFilterProxyModel*>(view_->model());
    Q_EMIT row_activated(static_cast<std::size_t>(sorted->mapToSource(at).row()));
  });
  connect(split_, &QSplitter::splitterMoved, this, [this] {
    const QList<int> widths = split_->sizes();
    share_ = static_cast<double>(widths[1]) / std::max(1, widths[0] + widths[1]);
  });
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 8, 12, 8);
  layout->setSpacing(4);
  layout->addWidget(title_);
  layout->addWidget(warning_);
  layout->addWidget(remark_);
  layout->addWidget(split_, 1);
  // Where there is nothing to show, title and reason stay together at the top.
  layout->addStretch(0);
}

void ExhibitView::say(const QString& warning, const QString& remark) {
  warning_->setText(warning);
  warning_->setVisible(!warning.isEmpty());
  remark_->setText(remark);
  remark_->setVisible(!remark.isEmpty());
}

void ExhibitView::show_exhibit(Exhibit exhibit) {
  if (exhibit.chart.series.empty() && exhibit.table.rows.empty()) return show_reason(exhibit.title, exhibit.remark);
  exhibit_ = std::move(exhibit);
  title_->setText(exhibit_.title);
  say(exhibit_.warning, exhibit_.remark);
  split_->show();
  drawing_->setVisible(has_chart());
  legend_->show_names_of(exhibit_.chart);
  view_->setAccessibleName(exhibit_.title);
  chart_->setAccessibleName(tr("Chart: %1").arg(exhibit_.title));
  chart_->setAccessibleDescription(tr("The table beside it has the same figures"));
  table_->set(exhibit_.table);
  const int wanted = wanted_height();
  split_->setMinimumHeight(has_chart() ? least_height_for(exhibit_.chart) : wanted);
  split_->setMaximumHeight(wanted);
  // The chart is laid out once, in the room that is left.
  make_room_for_table();
  repaint_chart();
}

void ExhibitView::set_remark(const QString& remark) {
  exhibit_.remark = remark;
  say(exhibit_.warning, remark);
}

void ExhibitView::show_reason(const QString& title, const QString& why) {
  exhibit_ = {};
  exhibit_.title = title;
  title_->setText(title);
  say({}, why);
  remark_->show();
  split_->hide();
  if (!table_->figures().rows.empty()) table_->set({});
}

int ExhibitView::wanted_height() const {
  const bool nothing = !has_chart() && exhibit_.table.rows.empty();
  return nothing ? 1 : height_for(exhibit_, view_->verticalHeader()->defaultSectionSize());
}

/// A table that would be cut gets more than its usual share, up to a limit; the user's own choice stands.
void ExhibitView::make_room_for_table() {
  const int width = split_->width();
  if (width <= 0 || exhibit_.table.headings.isEmpty()) return;
  if (!has_chart()) return view_->place_columns(width);
  const auto give = [&](int table) {
    split_->setSizes({width - table, table});
    view_->place_columns(table);
  };
  if (share_) return give(static_cast<int>(*share_ * width));
  const int wanted = view_->wanted_width();
  double most = kMostTableShare * width;
  // Beside a chart that needs little of the width, a table takes what it needs.
  if (const auto enough = enough_for(exhibit_.chart, fontMetrics()))
    most = std::max<double>(most, width - std::max(*enough, chart_->minimumWidth()));
  double table = std::clamp<double>(wanted, kUsualTableShare * width, most);
  table = std::max(kLeastTableShare * width, std::min(table, width - width_for_names(exhibit_.chart, fontMetrics())));
  give(static_cast<int>(table));
}

void ExhibitView::set_table_share(double share) {
  share_ = share;
  make_room_for_table();
}

void ExhibitView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  make_room_for_table();
}

void ExhibitView::set_markable(bool markable) { chart_->set_markable(markable); }

std::vector<std::size_t> ExhibitView::selected_rows() const {
  const auto* sorted = qobject_cast<const QSortFilterProxyModel*>(view_->model());
  std::vector<std::size_t> out;
  for (const QModelIndex& row : view_->selectionModel()->selectedRows())
    out.push_back(static_cast<std::size_t>(sorted->mapToSource(row).row()));
  return out;
}

void ExhibitView::repaint_chart() {
  if (!has_chart()) return;
  QChart* before = chart_->chart();
  chart_->setChart(new_chart(exhibit_.chart, [this](int series, int index) {
    if (!chart_->is_dragging()) Q_EMIT clicked(series, index);
  }));
  delete before;
}

}  // namespace stepcast
