#include "gui/views/exhibit_view.hpp"

#include <QAction>
#include <QChart>
#include <QClipboard>
#include <QFileDialog>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QMessageBox>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStyle>
#include <QTableView>
#include <QVBoxLayout>

#include "fields/json_text.hpp"
#include "gui/theme/theme.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/views/chart.hpp"
#include "gui/views/chart_pane.hpp"
#include "gui/views/tone_delegate.hpp"

namespace stepcast {

namespace {

/// The selected cells, or everything, in the order on screen.
Figures2D on_screen(const QTableView& view) {
  const QAbstractItemModel& model = *view.model();
  Figures2D out;
  for (int column = 0; column < model.columnCount(); ++column)
    out.headings << model.headerData(column, Qt::Horizontal).toString();
  const QModelIndexList selected = view.selectionModel()->selectedRows();
  for (int row = 0; row < model.rowCount(); ++row) {
    if (!selected.isEmpty() && !view.selectionModel()->isRowSelected(row)) continue;
    auto& cells = out.rows.emplace_back();
    for (int column = 0; column < model.columnCount(); ++column)
      cells.push_back({.text = model.index(row, column).data().toString()});
  }
  return out;
}

void export_table(QTableView& view, const QString& title) {
  const QString file = QFileDialog::getSaveFileName(&view, QObject::tr("Export table"), title + QStringLiteral(".csv"),
                                                    QObject::tr("CSV (*.csv);;HTML (*.html)"));
  if (file.isEmpty()) return;
  view.clearSelection();
  const Figures2D figures = on_screen(view);
  const bool html = file.endsWith(QStringLiteral(".html"), Qt::CaseInsensitive);
  try {
    write_file(plain(file), plain(html ? html_table(figures, title) : comma_separated(figures)));
  } catch (const InputError& error) {
    QMessageBox::warning(&view, QObject::tr("Export table"), QString::fromUtf8(error.what()));
  }
}

/// Of the width, what tables get, and what they get at most when they would be cut.
constexpr double kUsualTableShare = 0.48, kMostTableShare = 0.56;
/// Charts of more series have their legend beside them, and need the room.
constexpr std::size_t kSeriesWithRoom = 4;

/// Names of horizontal bars get about so much of a chart's width; longer ones are cut.
constexpr double kNameShare = 0.4;
/// A table gives way to long names of bars, but not below this share.
constexpr double kLeastTableShare = 0.44;
/// No column takes more of a table than this share, that those beside it are seen.
constexpr double kMostColumnShare = 0.42;

/// Pixels that a chart needs to write the names of its bars in full.
double width_for_names(const ChartData& chart, const QFontMetrics& letters) {
  if (chart.kind != ChartData::Kind::horizontal_bars) return 0;
  int longest = 0;
  for (const QString& name : chart.categories) longest = std::max(longest, letters.horizontalAdvance(name));
  return longest / kNameShare;
}

/// Pixels below which the names of a chart's bars would be left out, or its lines not be told apart.
int least_height_for(const ChartData& chart) {
  if (chart.kind != ChartData::Kind::horizontal_bars) return 230;
  return 104 + 22 * static_cast<int>(std::max<qsizetype>(2, chart.categories.size()));
}

/// Pixels that a chart can make use of.
int height_for(const ChartData& chart) {
  if (chart.kind != ChartData::Kind::horizontal_bars) return 470;
  return 96 + 38 * static_cast<int>(std::max<qsizetype>(4, chart.categories.size()));
}

}  // namespace

QTableView* new_figure_view(FigureTable& table, const QString& accessible_name, QWidget* parent) {
  auto* view = new QTableView(parent);
  auto* sorted = new QSortFilterProxyModel(view);
  sorted->setSourceModel(&table);
  sorted->setSortRole(FigureTable::kSortRole);
  view->setModel(sorted);
  view->setItemDelegate(new ToneDelegate(view));
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view->verticalHeader()->hide();
  view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 8);
  view->horizontalHeader()->setHighlightSections(false);
  view->horizontalHeader()->setStretchLastSection(true);
  view->setShowGrid(false);
  view->setAlternatingRowColors(true);
  view->setSortingEnabled(true);
  view->sortByColumn(-1, Qt::AscendingOrder);
  view->setAccessibleName(accessible_name);
  view->setTabKeyNavigation(false);
  view->setContextMenuPolicy(Qt::ActionsContextMenu);
  auto* copy = new QAction(QObject::tr("Copy table"), view);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  QObject::connect(copy, &QAction::triggered, view,
                   [view] { QGuiApplication::clipboard()->setText(tab_separated(on_screen(*view))); });
  auto* save = new QAction(QObject::tr("Export as CSV or HTML …"), view);
  QObject::connect(save, &QAction::triggered, view, [view] { export_table(*view, view->accessibleName()); });
  view->addActions({copy, save});
  const auto fit = [view] { view->resizeColumnsToContents(); };
  QObject::connect(&table, &QAbstractItemModel::modelReset, view, fit);
  return view;
}

ExhibitView::ExhibitView(QWidget* parent) : QWidget(parent) {
  title_ = new QLabel(this);
  title_->setObjectName(QStringLiteral("exhibit"));
  remark_ = new QLabel(this);
  remark_->setObjectName(QStringLiteral("muted"));
  remark_->setWordWrap(true);
  remark_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  split_ = new QSplitter(Qt::Horizontal, this);
  split_->setChildrenCollapsible(false);
  chart_ = new ChartPane(split_);
  chart_->setMinimumSize(260, 150);
  connect(chart_, &ChartPane::marked, this, &ExhibitView::marked);
  table_ = new FigureTable(this);
  view_ = new_figure_view(*table_, tr("Figures"), split_);
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
  layout->addWidget(remark_);
  layout->addWidget(split_, 1);
  // Where there is nothing to show, title and reason stay together at the top.
  layout->addStretch(0);
}

void ExhibitView::show_exhibit(Exhibit exhibit) {
  if (exhibit.chart.series.empty()) return show_reason(exhibit.title, exhibit.remark);
  exhibit_ = std::move(exhibit);
  title_->setText(exhibit_.title);
  remark_->setText(exhibit_.remark);
  remark_->setVisible(!exhibit_.remark.isEmpty());
  split_->show();
  view_->setAccessibleName(exhibit_.title);
  chart_->setAccessibleName(tr("Chart: %1").arg(exhibit_.title));
  chart_->setAccessibleDescription(tr("The table beside it has the same figures"));
  table_->set(exhibit_.table);
  split_->setMinimumHeight(least_height_for(exhibit_.chart));
  split_->setMaximumHeight(height_for(exhibit_.chart));
  repaint_chart();
  make_room_for_table();
}

void ExhibitView::show_reason(const QString& title, const QString& why) {
  exhibit_ = {};
  exhibit_.title = title;
  title_->setText(title);
  remark_->setText(why);
  remark_->show();
  split_->hide();
  table_->set({});
}

int ExhibitView::wanted_height() const { return exhibit_.chart.series.empty() ? 1 : height_for(exhibit_.chart); }

/// A table that would be cut gets more than its usual share, up to a limit; the user's own choice stands.
void ExhibitView::make_room_for_table() {
  if (exhibit_.chart.series.empty() || split_->width() <= 0) return;
  if (share_) {
    const int table = static_cast<int>(*share_ * split_->width());
    return split_->setSizes({split_->width() - table, table});
  }
  const QHeaderView& header = *view_->horizontalHeader();
  const QAbstractItemView& items = *view_;
  int wanted = view_->frameWidth() * 2 + view_->style()->pixelMetric(QStyle::PM_ScrollBarExtent);
  for (int column = 0; column < header.count(); ++column) {
    const bool last = column + 1 == header.count();  // it is stretched: what it needs is what its words take
    wanted +=
        last ? std::max(items.sizeHintForColumn(column), header.sectionSizeHint(column)) : header.sectionSize(column);
  }
  const int width = split_->width();
  const double most = exhibit_.chart.series.size() > kSeriesWithRoom ? kUsualTableShare : kMostTableShare;
  double table = std::clamp<double>(wanted, kUsualTableShare * width, most * width);
  table = std::max(kLeastTableShare * width, std::min(table, width - width_for_names(exhibit_.chart, fontMetrics())));
  split_->setSizes({width - static_cast<int>(table), static_cast<int>(table)});
  const int widest = static_cast<int>(kMostColumnShare * table);
  for (int column = 0; column + 1 < header.count(); ++column)
    if (header.sectionSize(column) > widest) view_->setColumnWidth(column, widest);
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
  if (exhibit_.chart.series.empty()) return;
  QChart* before = chart_->chart();
  chart_->setChart(new_chart(exhibit_.chart, [this](int series, int index) {
    if (!chart_->is_dragging()) Q_EMIT clicked(series, index);
  }));
  delete before;
}

}  // namespace stepcast
