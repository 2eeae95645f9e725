#include "gui/views/sweep_tab.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>

#include "fields/diagnostics.hpp"
#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/sweep_model.hpp"
#include "gui/views/busy_status.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/file_choice.hpp"
#include "gui/views/heatmap_view.hpp"

namespace stepcast {

SweepTab::SweepTab(SweepModel& model, QWidget* parent) : QWidget(parent), model_(model) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 8, 0, 8);
  row->addWidget(build_form());
  auto* right = new QVBoxLayout;
  view_ = new ExhibitView(this);
  heatmap_ = new HeatmapView(this);
  right->addWidget(view_, 3);
  right->addWidget(heatmap_, 2);
  row->addLayout(right, 1);
  connect(&model_, &SweepModel::changed, this, &SweepTab::refresh);
  refresh();
}

QComboBox* SweepTab::path_box(const QString& name, bool optional) {
  auto* box = new QComboBox(this);
  box->setEditable(true);
  box->setAccessibleName(name);
  if (optional) box->addItem(QString());
  for (const FormSection& section : form_sections())
    for (const FormField& field : section.fields)
      if (field.kind != FieldKind::structure)
        box->addItem(qt(field.pointer.substr(1)).replace(QLatin1Char('/'), QLatin1Char('.')));
  return box;
}

QWidget* SweepTab::build_form() {
  auto* out = new QWidget(this);
  out->setFixedWidth(290);
  auto* form = new QFormLayout(out);
  form->setContentsMargins(0, 0, 8, 0);
  form->setRowWrapPolicy(QFormLayout::WrapAllRows);
  auto* title = new QLabel(tr("What varies?"), out);
  title->setObjectName(QStringLiteral("exhibit"));
  form->addRow(title);
  first_ = path_box(tr("First parameter"), false);
  first_->setCurrentText(QStringLiteral("cluster.nodes"));
  first_values_ = new QLineEdit(QStringLiteral("32,64..512*2"), out);
  second_ = path_box(tr("Second parameter"), true);
  second_values_ = new QLineEdit(out);
  second_values_->setPlaceholderText(tr("100,200,400"));
  first_values_->setAccessibleName(tr("Values of the first parameter"));
  second_values_->setAccessibleName(tr("Values of the second parameter"));
  form->addRow(tr("Parameter"), first_);
  form->addRow(tr("Values: a list, 1..8, 64..512*2"), first_values_);
  form->addRow(tr("Second parameter"), second_);
  form->addRow(tr("Its values"), second_values_);
  simulate_ = new QCheckBox(tr("Simulate each (else closed form)"), out);
  form->addRow(simulate_);
  store_ = new QLineEdit(out);
  store_->setPlaceholderText(tr("not kept"));
  store_->setAccessibleName(tr("File to keep the results in"));
  form->addRow(tr("Keep in file"), store_);
  run_ = new QPushButton(tr("&Run"), out);
  auto* open = new QPushButton(tr("Open a result store …"), out);
  connect(run_, &QPushButton::clicked, this, &SweepTab::run_or_stop);
  connect(first_values_, &QLineEdit::returnPressed, this, [this] {
    if (!model_.is_running()) run_or_stop();
  });
  connect(open, &QPushButton::clicked, this, &SweepTab::open_store);
  form->addRow(run_);
  form->addRow(open);
  column_ = new QComboBox(out);
  column_->addItems(SweepModel::columns());
  column_->setCurrentText(QStringLiteral("samples_per_s"));
  column_->setAccessibleName(tr("Figure to show"));
  connect(column_, &QComboBox::currentTextChanged, &model_, &SweepModel::set_column);
  form->addRow(tr("Show"), column_);
  busy_ = new BusyStatus(Qt::Vertical, tr("How far the sweep is"), out);
  form->addRow(busy_);
  return out;
}

void SweepTab::run_or_stop() {
  if (model_.is_running()) return model_.stop();
  model_.start({first_->currentText(), first_values_->text(), second_->currentText(), second_values_->text(),
                simulate_->isChecked(), store_->text()});
}

void SweepTab::open_store() {
  const QString file =
      file_to_open(this, tr("Open a result store"), tr("Result stores (*.db *.sqlite);;All files (*)"));
  if (file.isEmpty()) return;
  try {
    model_.open(plain(file));
  } catch (const std::exception& error) {
    QMessageBox::warning(this, tr("Open a result store"), QString::fromUtf8(error.what()));
  }
}

void SweepTab::refresh() {
  run_->setText(model_.is_running() ? tr("Stop") : tr("&Run"));
  if (model_.is_running())
    busy_->show_running(model_.progress());
  else
    busy_->show_ended(model_.status());
  Exhibit exhibit = model_.exhibit();
  if (model_.is_outdated())
    exhibit.remark = tr("Of an earlier configuration: run again.") + QLatin1Char(' ') + exhibit.remark;
  view_->show_exhibit(std::move(exhibit));
  heatmap_->setVisible(model_.grid().y.size() > 1);
  heatmap_->show_grid(model_.grid());
}

}  // namespace stepcast
