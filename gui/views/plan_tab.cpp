#include "gui/views/plan_tab.hpp"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/plan_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/views/exhibit_view.hpp"

namespace stepcast {

PlanTab::PlanTab(PlanModel& model, ConfigurationModel& configuration, QWidget* parent)
    : QWidget(parent), model_(model), configuration_(configuration) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 8, 0, 8);
  row->addWidget(build_form());
  auto* right = new QVBoxLayout;
  answers_ = new ExhibitView(this);
  rejected_ = new ExhibitView(this);
  right->addWidget(answers_, 3);
  right->addWidget(rejected_, 2);
  row->addLayout(right, 1);
  connect(&model_, &PlanModel::progressed, this, &PlanTab::show_progress);
  connect(&model_, &PlanModel::finished, this, &PlanTab::show_answer);
  connect(answers_, &ExhibitView::clicked, this, [this](int series, int index) {
    if (series == 0 && index >= 0) model_.open(static_cast<std::size_t>(index));
  });
  connect(answers_->findChild<QTableView*>(), &QTableView::activated, this, [this](const QModelIndex& at) {
    const int number = at.siblingAtColumn(0).data().toInt();
    if (number > 0) model_.open(static_cast<std::size_t>(number - 1));
  });
  show_answer();
}

QLineEdit* PlanTab::add_line(QFormLayout& form, const QString& label, const QString& hint) {
  auto* line = new QLineEdit(this);
  line->setPlaceholderText(hint);
  line->setAccessibleName(label);
  form.addRow(label, line);
  connect(line, &QLineEdit::returnPressed, this, [this] {
    if (!model_.is_running()) run_or_stop();
  });
  return line;
}

QWidget* PlanTab::build_form() {
  auto* out = new QWidget(this);
  out->setFixedWidth(290);
  auto* form = new QFormLayout(out);
  form->setContentsMargins(0, 0, 8, 0);
  form->setRowWrapPolicy(QFormLayout::WrapLongRows);
  auto* title = new QLabel(tr("Which servers, how many, and how?"), out);
  title->setObjectName(QStringLiteral("exhibit"));
  form->addRow(title);
  auto* words =
      new QLabel(tr("For the training in the form on the left: the planner tries every legal strategy."), out);
  words->setObjectName(QStringLiteral("muted"));
  words->setWordWrap(true);
  form->addRow(words);
  servers_ = add_line(*form, tr("Servers"), tr("dgx-h100, dgx-a100-80gb"));
  counts_ = add_line(*form, tr("How many"), tr("8, 16 or 8..64"));
  counts_->setText(QStringLiteral("8..64"));
  first_ = new QComboBox(out);
  second_ = new QComboBox(out);
  second_->addItem(tr("nothing else"), QString());
  for (const char* name : {"time", "cost", "energy", "carbon", "throughput-per-watt"}) {
    first_->addItem(QLatin1String(name), QLatin1String(name));
    second_->addItem(QLatin1String(name), QLatin1String(name));
  }
  second_->setCurrentIndex(2);
  first_->setAccessibleName(tr("What matters most"));
  second_->setAccessibleName(tr("What matters, too"));
  form->addRow(tr("Least"), first_);
  form->addRow(tr("against"), second_);
  deadline_ = add_line(*form, tr("Deadline, days"), tr("none"));
  run_budget_ = add_line(*form, tr("Run, $ at most"), tr("none"));
  month_budget_ = add_line(*form, tr("$ a month at most"), tr("none"));
  power_ = add_line(*form, tr("Power, kW at most"), tr("none"));
  run_ = new QPushButton(tr("&Plan"), out);
  connect(run_, &QPushButton::clicked, this, &PlanTab::run_or_stop);
  form->addRow(run_);
  busy_ = new QProgressBar(out);
  busy_->setRange(0, 0);
  busy_->setTextVisible(false);
  busy_->setFixedHeight(8);
  form->addRow(busy_);
  status_ = new QLabel(out);
  status_->setWordWrap(true);
  status_->setObjectName(QStringLiteral("muted"));
  form->addRow(status_);
  return out;
}

void PlanTab::refresh() {
  const Json node = configuration_.value("/cluster/node");
  if (servers_->text().isEmpty() && node.is_string()) servers_->setText(qt(node.get<std::string>()));
}

void PlanTab::run_or_stop() {
  if (model_.is_running()) return model_.stop();
  try {
    model_.start(model_.question({servers_->text(), counts_->text(), first_->currentData().toString(),
                                  second_->currentData().toString() == first_->currentData().toString()
                                      ? QString()
                                      : second_->currentData().toString(),
                                  deadline_->text(), run_budget_->text(), month_budget_->text(), power_->text()}));
  } catch (const InputError& error) {
    status_->setText(QString::fromUtf8(error.what()));
  }
}

void PlanTab::show_progress() {
  run_->setText(model_.is_running() ? tr("Stop") : tr("&Plan"));
  busy_->setVisible(model_.is_running());
  status_->setText(model_.progress());
}

void PlanTab::show_answer() {
  run_->setText(tr("&Plan"));
  busy_->hide();
  status_->setText(model_.why());
  const auto put = [](ExhibitView& view, Exhibit exhibit) {
    if (exhibit.chart.series.empty()) {
      view.show_reason(exhibit.title, exhibit.remark);
    } else {
      view.show_exhibit(std::move(exhibit));
    }
  };
  put(*answers_, model_.answers_exhibit());
  put(*rejected_, model_.rejected_exhibit());
}

}  // namespace stepcast
