#include "gui/views/compare_tab.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/view-models/compare_model.hpp"
#include "gui/views/exhibit_view.hpp"

namespace stepcast {

CompareTab::CompareTab(CompareModel& model, QWidget* parent) : QWidget(parent), model_(model) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 8, 0, 0);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(12, 0, 12, 0);
  auto* pin = new QPushButton(tr("&Pin what is on screen"), this);
  pins_ = new QComboBox(this);
  pins_->setAccessibleName(tr("Pinned configurations"));
  pins_->setMinimumContentsLength(24);
  auto* open = new QPushButton(tr("Put on screen"), this);
  auto* remove = new QPushButton(tr("Remove"), this);
  auto* clear = new QPushButton(tr("Remove all"), this);
  row->addWidget(pin);
  row->addStretch(1);
  for (QWidget* widget : {static_cast<QWidget*>(pins_), static_cast<QWidget*>(open), static_cast<QWidget*>(remove),
                          static_cast<QWidget*>(clear)})
    row->addWidget(widget);
  column->addLayout(row);
  view_ = new ExhibitView(this);
  column->addWidget(view_, 1);
  const auto index = [this] { return static_cast<std::size_t>(std::max(0, pins_->currentIndex())); };
  connect(pin, &QPushButton::clicked, this, [this] { model_.pin(); });
  connect(open, &QPushButton::clicked, this, [this, index] { model_.open(index()); });
  connect(remove, &QPushButton::clicked, this, [this, index] { model_.remove(index()); });
  connect(clear, &QPushButton::clicked, this, [this] { model_.clear(); });
  connect(&model_, &CompareModel::changed, this, &CompareTab::refresh);
  refresh();
}

void CompareTab::refresh() {
  const int chosen = pins_->currentIndex();
  pins_->clear();
  for (std::size_t i = 0; i < model_.count(); ++i) pins_->addItem(model_.name(i));
  pins_->setCurrentIndex(std::min(chosen < 0 ? 0 : chosen, pins_->count() - 1));
  view_->show_exhibit(model_.exhibit());
}

}  // namespace stepcast
