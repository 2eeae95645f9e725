#include "gui/views/server_browser.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QTableView>
#include <QTextBrowser>
#include <QTextOption>
#include <set>

#include "gui/theme/theme.hpp"
#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/workspace.hpp"
#include "gui/views/figure_view.hpp"

namespace stepcast {

namespace {
constexpr int kWidestName = 180;  // pixels
}

ServerBrowser::ServerBrowser(ConfigurationModel& configuration, QWidget* parent)
    : QWidget(parent), configuration_(configuration) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 8, 12, 8);
  // What is searched for has a line of its own: beside the lists nothing is left for it on a small screen.
  auto *search = new QHBoxLayout, *filters = new QHBoxLayout;
  build_filters(*search, *filters);
  layout->addLayout(search);
  layout->addLayout(filters);
  auto* split = new QSplitter(Qt::Horizontal, this);
  split->setObjectName(QStringLiteral("servers"));
  split->setChildrenCollapsible(false);
  table_ = new FigureTable(this);
  view_ = new FigureView(*table_, tr("Servers of the catalogue"), split);
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  auto* right = new QWidget(split);
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(8, 0, 0, 0);
  card_ = new QTextBrowser(right);
  card_->setAccessibleName(tr("Specification of the selected server"));
  card_->setFrameShape(QFrame::NoFrame);
  // Where its columns are too narrow for their words it scrolls.
  card_->setWordWrapMode(QTextOption::WordWrap);
  use_ = new QPushButton(tr("&Use this server"), right);
  auto* own = new QPushButton(tr("Own server like this …"), right);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(use_, 1);
  buttons->addWidget(own);
  edit_ = new QPushButton(tr("Edit …"), right);
  remove_ = new QPushButton(tr("Remove"), right);
  buttons->addWidget(edit_);
  buttons->addWidget(remove_);
  column->addWidget(card_, 1);
  column->addLayout(buttons);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 2);
  split->setSizes({660, 350});
  layout->addWidget(split, 1);
  connect(view_, &QTableView::activated, this, &ServerBrowser::take_selected);
  connect(use_, &QPushButton::clicked, this, &ServerBrowser::take_selected);
  connect(own, &QPushButton::clicked, this, [this] { Q_EMIT wants_own_server(qt(selected())); });
  connect(edit_, &QPushButton::clicked, this, [this] { Q_EMIT wants_to_edit(qt(selected())); });
  connect(remove_, &QPushButton::clicked, this, [this] { Q_EMIT wants_to_remove(qt(selected())); });
  reload();
}

void ServerBrowser::show_current() {
  const Json node = configuration_.value("/cluster/node");
  if (selected().empty() && node.is_string()) select(node.get<std::string>());
}

void ServerBrowser::build_filters(QHBoxLayout& search, QHBoxLayout& row) {
  words_ = new QLineEdit(this);
  words_->setPlaceholderText(tr("Search servers: h100, nvlink, aws …"));
  words_->setClearButtonEnabled(true);
  words_->setAccessibleName(tr("Search servers"));
  accelerator_ = new QComboBox(this);
  accelerator_->setAccessibleName(tr("Accelerator"));
  memory_ = new QComboBox(this);
  memory_->setAccessibleName(tr("Memory of a device"));
  memory_->addItem(tr("any memory"), 0.0);
  for (const int gigabytes : {16, 24, 40, 80, 96, 140, 180, 250})
    memory_->addItem(tr("≥ %1 GB each").arg(gigabytes), static_cast<double>(gigabytes));
  price_ = new QComboBox(this);
  price_->setAccessibleName(tr("Price"));
  price_->addItem(tr("any price"), 0.0);
  for (const double dollars : {1.0, 5.0, 15.0, 30.0, 60.0, 100.0})
    price_->addItem(tr("≤ $%1 an hour").arg(dollars), dollars);
  count_ = new QLabel(this);
  count_->setObjectName(QStringLiteral("muted"));
  search.addWidget(words_, 1);
  search.addWidget(count_);
  for (QWidget* widget : {accelerator_, memory_, price_}) row.addWidget(widget);
  row.addStretch(1);
  connect(words_, &QLineEdit::textChanged, this, &ServerBrowser::apply_filter);
  for (QComboBox* box : {accelerator_, memory_, price_})
    connect(box, &QComboBox::currentIndexChanged, this, &ServerBrowser::apply_filter);
  connect(words_, &QLineEdit::returnPressed, this, [this] {
    view_->setFocus();
    if (view_->model()->rowCount() > 0 && !view_->currentIndex().isValid()) view_->selectRow(0);
  });
}

void ServerBrowser::reload() {
  rows_ = server_rows(configuration_.catalog());
  std::set<QString> accelerators;
  for (const ServerRow& row : rows_)
    if (!row.accelerator.isEmpty()) accelerators.insert(row.accelerator);
  const QString chosen = accelerator_->currentData().toString();
  const QSignalBlocker quiet(accelerator_);
  accelerator_->clear();
  accelerator_->addItem(tr("any accelerator"), QString());
  for (const QString& name : accelerators) accelerator_->addItem(name, name);
  accelerator_->setCurrentIndex(std::max(0, accelerator_->findData(chosen)));
  apply_filter();
}

void ServerBrowser::apply_filter() {
  const std::string before = selected();
  const ServerFilter filter{.words = words_->text(),
                            .accelerator = accelerator_->currentData().toString(),
                            .least_memory_GB = memory_->currentData().toDouble(),
                            .most_usd_per_h = price_->currentData().toDouble()};
  Figures2D figures{server_headings(), {}};
  for (const ServerRow& row : rows_)
    if (passes(row, filter)) figures.rows.push_back(row.cells);
  count_->setText(tr("%1 of %2").arg(figures.rows.size()).arg(rows_.size()));
  table_->set(std::move(figures));
  view_->resizeColumnsToContents();
  view_->setColumnWidth(0, std::min(view_->columnWidth(0), kWidestName));
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &ServerBrowser::show_selected,
          Qt::UniqueConnection);
  select(before);
  show_selected();
}

void ServerBrowser::select(const std::string& id) {
  const QAbstractItemModel& model = *view_->model();
  for (int row = 0; row < model.rowCount(); ++row)
    if (plain(model.index(row, 0).data().toString()) == id) {
      view_->selectRow(row);
      view_->scrollTo(model.index(row, 0), QAbstractItemView::PositionAtCenter);
      return;
    }
}

std::string ServerBrowser::selected() const {
  const QModelIndex current = view_->currentIndex();
  return current.isValid() ? plain(current.siblingAtColumn(0).data().toString()) : std::string();
}

void ServerBrowser::show_selected() {
  const std::string id = selected();
  use_->setEnabled(!id.empty());
  const bool own = !id.empty() && Workspace::is_own(configuration_.catalog(), "nodes", id);
  edit_->setVisible(own);
  remove_->setVisible(own);
  if (id.empty()) {
    card_->setHtml(QStringLiteral("<p>%1</p>").arg(tr("Select a server to see its specification.")));
    return;
  }
  const ThemeColors& colors = theme_colors();
  card_->document()->setDefaultStyleSheet(
      QStringLiteral("h3 { color: %1; margin: 8px 0 2px 0 } td { border-bottom: 1px solid %2 } "
                     ".e { color: %3; padding-left: 8px; white-space: nowrap } .s { color: %3; font-size: small; "
                     "padding-left: 8px }")
          .arg(colors.accent.name(), colors.line.name(), colors.muted.name()));
  card_->setHtml((own ? QStringLiteral("<p><b>%1</b></p>").arg(tr("An entry of your own")) : QString()) +
                 server_card(configuration_.catalog(), id));
}

void ServerBrowser::take_selected() {
  if (const std::string id = selected(); !id.empty()) configuration_.set_value("/cluster/node", id);
}

void ServerBrowser::focus_search() { words_->setFocus(); }

}  // namespace stepcast
