#include "gui/views/calibrate_tab.hpp"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/view-models/calibrate_model.hpp"
#include "gui/views/exhibit_view.hpp"

namespace stepcast {

CalibrateTab::CalibrateTab(CalibrateModel& model, QWidget* parent) : QWidget(parent), model_(model) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 8, 0, 0);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(12, 0, 12, 0);
  shipped_ = new QPushButton(tr("&Score the shipped measurements"), this);
  own_ = new QPushButton(tr("Load measurements …"), this);
  own_->setToolTip(tr("A CSV of measured runs, in the columns of one of the shipped sets"));
  busy_ = new QProgressBar(this);
  busy_->setRange(0, 0);
  busy_->setTextVisible(false);
  busy_->setFixedSize(120, 8);
  status_ = new QLabel(this);
  status_->setObjectName(QStringLiteral("muted"));
  status_->setWordWrap(true);
  row->addWidget(shipped_);
  row->addWidget(own_);
  row->addWidget(busy_);
  row->addWidget(status_, 1);
  column->addLayout(row);
  rests_on_ = new QLabel(this);
  rests_on_->setWordWrap(true);
  rests_on_->setContentsMargins(12, 4, 12, 0);
  column->addWidget(rests_on_);
  sets_ = new ExhibitView(this);
  scatter_ = new ExhibitView(this);
  column->addWidget(sets_, 1);
  column->addWidget(scatter_, 1);
  connect(shipped_, &QPushButton::clicked, this, [this] {
    if (model_.is_running()) {
      model_.stop();
      refresh();
    } else {
      model_.start({});
    }
  });
  connect(own_, &QPushButton::clicked, this, [this] {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Measured runs"), {}, tr("Tables (*.csv);;All files (*)"));
    if (!file.isEmpty()) model_.start(file);
  });
  connect(&model_, &CalibrateModel::changed, this, &CalibrateTab::refresh);
  refresh();
}

void CalibrateTab::refresh() {
  busy_->setVisible(model_.is_running());
  shipped_->setText(model_.is_running() ? tr("Stop") : tr("&Score the shipped measurements"));
  own_->setEnabled(!model_.is_running());
  status_->setText(model_.status());
  rests_on_->setText(model_.rests_on());
  const auto put = [](ExhibitView& view, Exhibit exhibit) {
    if (exhibit.chart.series.empty()) {
      view.show_reason(exhibit.title, exhibit.remark);
    } else {
      view.show_exhibit(std::move(exhibit));
    }
  };
  put(*sets_, model_.sets_exhibit());
  put(*scatter_, model_.scatter_exhibit());
}

}  // namespace stepcast
