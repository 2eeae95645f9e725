#include "gui/views/figure_view.hpp"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMessageBox>
#include <QSortFilterProxyModel>
#include <QStyle>
#include <algorithm>
#include <numeric>

#include "fields/json_text.hpp"
#include "gui/view-models/figure_table.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/views/file_choice.hpp"
#include "gui/views/tone_delegate.hpp"

namespace stepcast {

namespace {

/// The selected rows, or everything, in the order on screen.
Figures2D on_screen(const QTableView& view) {
  const auto& sorted = *qobject_cast<const QSortFilterProxyModel*>(view.model());
  const Figures2D& figures = qobject_cast<const FigureTable*>(sorted.sourceModel())->figures();
  Figures2D out{figures.headings, {}};
  const bool some = view.selectionModel()->hasSelection();
  for (int row = 0; row < sorted.rowCount(); ++row)
    if (!some || view.selectionModel()->isRowSelected(row))
      out.rows.push_back(figures.rows[static_cast<std::size_t>(sorted.mapToSource(sorted.index(row, 0)).row())]);
  return out;
}

void export_table(QTableView& view, const QString& title) {
  const QString file = file_to_save(&view, QObject::tr("Export table"), title + QStringLiteral(".csv"),
                                    QObject::tr("CSV (*.csv);;HTML (*.html)"));
  if (file.isEmpty()) return;
  view.clearSelection();
  const Figures2D figures = on_screen(view);
  const bool html = file.endsWith(QStringLiteral(".html"), Qt::CaseInsensitive);
  try {
    write_file(plain(file),
               plain(html ? html_table(figures, title) : comma_separated(for_spreadsheet(figures, QLocale::c()))));
  } catch (const InputError& error) {
    QMessageBox::warning(&view, QObject::tr("Export table"), QString::fromUtf8(error.what()));
  }
}

/// Where a table is too narrow, no column takes more of it than this share, that those beside it are seen.
constexpr double kMostColumnShare = 0.42;

/// Of that share, what a last column is content with.
constexpr double kLeastOfCutColumn = 0.7;

}  // namespace

FigureView::FigureView(FigureTable& table, const QString& accessible_name, QWidget* parent) : QTableView(parent) {
  auto* sorted = new QSortFilterProxyModel(this);
  sorted->setSourceModel(&table);
  sorted->setSortRole(FigureTable::kSortRole);
  setModel(sorted);
  setItemDelegate(new ToneDelegate(this));
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setStretchLastSection(true);
  setShowGrid(false);
  setAlternatingRowColors(true);
  // A row is one line: what does not fit ends in dots, and hovering says all of it.
  setWordWrap(false);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setSortingEnabled(true);
  sortByColumn(-1, Qt::AscendingOrder);
  setAccessibleName(accessible_name);
  setTabKeyNavigation(false);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  auto* copy = new QAction(QObject::tr("Copy table"), this);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(copy, &QAction::triggered, this, [this] {
    QGuiApplication::clipboard()->setText(tab_separated(for_spreadsheet(on_screen(*this), QLocale())));
  });
  auto* save = new QAction(QObject::tr("Export as CSV or HTML …"), this);
  connect(save, &QAction::triggered, this, [this] { export_table(*this, accessibleName()); });
  addActions({copy, save});
  connect(&table, &QAbstractItemModel::modelReset, this, [this] {
    resizeColumnsToContents();
    wanted_.clear();
    placed_.clear();
  });
  connect(&table, &QAbstractItemModel::dataChanged, this, [this] { wanted_.clear(); });
}

void FigureView::measure() {
  ensurePolished();
  const int columns = model()->columnCount();
  for (int column = static_cast<int>(wanted_.size()); column < columns; ++column)
    wanted_.push_back(std::max(sizeHintForColumn(column), horizontalHeader()->sectionSizeHint(column)));
}

int FigureView::wanted_width() {
  measure();
  return std::accumulate(wanted_.begin(), wanted_.end(),
                         2 * frameWidth() + style()->pixelMetric(QStyle::PM_ScrollBarExtent));
}

void FigureView::place_columns(int width) {
  const bool cut = wanted_width() > width;
  const int widest = static_cast<int>(kMostColumnShare * width);
  placed_.resize(wanted_.size(), -1);
  int left = width - 2 * frameWidth() - style()->pixelMetric(QStyle::PM_ScrollBarExtent);
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const int column = static_cast<int>(i);
    const int wanted = cut ? std::min(wanted_[i], widest) : wanted_[i];
    if (i + 1 == wanted_.size()) {
      // The last one takes what is left; where that is too little, the table scrolls, but not for the end of a text
      // that is cut anyhow.
      const bool stretched = wanted <= left || (wanted < wanted_[i] && left >= kLeastOfCutColumn * wanted);
      horizontalHeader()->setStretchLastSection(stretched);
      if (stretched) return;
    }
    if (placed_[i] < 0 || columnWidth(column) == placed_[i]) {
      setColumnWidth(column, wanted);
      placed_[i] = columnWidth(column);
    }
    left -= columnWidth(column);
  }
}

}  // namespace stepcast
