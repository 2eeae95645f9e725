#include "gui/views/plan_tab.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/plan_form.hpp"
#include "gui/view-models/plan_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/views/busy_status.hpp"
#include "gui/views/exhibit_view.hpp"

namespace stepcast {

namespace {

/// The scenario's own number of servers, half and twice as many.
QString counts_around(int nodes) {
  QStringList out;
  if (nodes > 1 && nodes % 2 == 0) out << QString::number(nodes / 2);
  out << QString::number(nodes) << QString::number(2L * nodes);
  return out.join(QStringLiteral(", "));
}

}  // namespace

PlanTab::PlanTab(PlanModel& model, ConfigurationModel& configuration, QWidget* parent)
    : QWidget(parent), model_(model), configuration_(configuration) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 8, 0, 8);
  row->addWidget(build_form());
  auto* right = new QVBoxLayout;
  right->addWidget(build_filter());
  answers_ = new ExhibitView(this);
  answers_->setObjectName(QStringLiteral("answers"));
  answers_->set_markable(true);
  rejected_ = new ExhibitView(this);
  rejected_->setObjectName(QStringLiteral("rejected"));
  right->addWidget(answers_, 3);
  right->addWidget(rejected_, 2);
  row->addLayout(right, 1);
  connect(&model_, &PlanModel::progressed, this, &PlanTab::show_progress);
  connect(&model_, &PlanModel::finished, this, [this] {
    show_progress();
    rejected_->show_exhibit(model_.rejected());
  });
  connect(&model_, &PlanModel::shown, this, &PlanTab::show_options);
  connect(answers_, &ExhibitView::marked, &model_, &PlanModel::keep_within);
  // The chart stays as it is: it may be the one that was clicked.
  connect(&model_, &PlanModel::aged, this, [this] { answers_->set_remark(remark()); });
  connect(answers_, &ExhibitView::clicked, this, [this](int series, int index) {
    if (const auto option = model_.option_at_point(series, index)) model_.open(*option);
  });
  connect(answers_, &ExhibitView::row_activated, this, [this](std::size_t at) {
    if (const auto option = model_.option_in_row(at)) model_.open(*option);
  });
  show_progress();
  show_options();
  rejected_->show_exhibit(model_.rejected());
}

QLineEdit* PlanTab::add_line(QFormLayout& form, const QString& label, const QString& hint, const char* pointer) {
  auto* line = new QLineEdit(this);
  line->setPlaceholderText(hint);
  line->setAccessibleName(label);
  form.addRow(label, line);
  auto* fault = new QLabel(this);
  fault->setObjectName(QStringLiteral("fault"));
  fault->setWordWrap(true);
  fault->hide();
  form.addRow(fault);
  faults_[pointer] = fault;
  connect(line, &QLineEdit::textEdited, fault, &QLabel::hide);
  connect(line, &QLineEdit::textEdited, this, &PlanTab::drop_question);
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
  auto* title = new QLabel(tr("Which servers, and how many?"), out);
  title->setObjectName(QStringLiteral("exhibit"));
  form->addRow(title);
  words_ = new QLabel(out);
  words_->setObjectName(QStringLiteral("muted"));
  words_->setWordWrap(true);
  form->addRow(words_);
  servers_ = add_line(*form, tr("Servers"), tr("dgx-h100, dgx-a100-80gb"), PlanForm::kServers);
  counts_ = add_line(*form, tr("How many"), tr("8, 16 or 8..64*2"), PlanForm::kCounts);
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
  for (QComboBox* objective : {first_, second_})
    connect(objective, &QComboBox::activated, this, &PlanTab::drop_question);
  form->addRow(tr("Least"), first_);
  form->addRow(tr("against"), second_);
  deadline_ = add_line(*form, tr("Deadline, days"), tr("none"), "/constraints/deadline_days");
  run_budget_ = add_line(*form, tr("Run, $ at most"), tr("none"), "/constraints/budget_of_run_usd");
  month_budget_ = add_line(*form, tr("$ a month at most"), tr("none"), "/constraints/budget_usd_per_month");
  power_ = add_line(*form, tr("Power, kW at most"), tr("none"), "/constraints/power_kW");
  any_framework_ = new QCheckBox(tr("Other frameworks, too"), out);
  any_framework_->setToolTip(tr("Else the framework of the form on the left alone, where it names one"));
  connect(any_framework_, &QCheckBox::clicked, this, &PlanTab::drop_question);
  form->addRow(any_framework_);
  run_ = new QPushButton(tr("&Plan"), out);
  connect(run_, &QPushButton::clicked, this, &PlanTab::run_or_stop);
  form->addRow(run_);
  busy_ = new BusyStatus(Qt::Vertical, tr("How far the planner is"), out);
  form->addRow(busy_);
  return out;
}

/// What the scatter shows, and of which options.
QWidget* PlanTab::build_filter() {
  auto* out = new QWidget(this);
  auto* row = new QHBoxLayout(out);
  row->setContentsMargins(12, 0, 12, 0);
  auto* label = new QLabel(tr("A&xes"), out);
  axes_ = new QComboBox(out);
  axes_->setAccessibleName(tr("Axes of the scatter"));
  for (const PlanAxes& axes : plan_axes()) axes_->addItem(axes.name);
  label->setBuddy(axes_);
  keep_ = new QPushButton(tr("&Keep the selected rows"), out);
  keep_->setToolTip(tr("The same by mouse: drag over points of the scatter"));
  all_ = new QPushButton(tr("Show &all"), out);
  row->addWidget(label);
  row->addWidget(axes_);
  row->addStretch(1);
  row->addWidget(keep_);
  row->addWidget(all_);
  connect(axes_, &QComboBox::currentIndexChanged, &model_,
          [this](int index) { model_.set_axes(static_cast<std::size_t>(std::max(0, index))); });
  connect(keep_, &QPushButton::clicked, this, [this] { model_.keep_rows(answers_->selected_rows()); });
  connect(all_, &QPushButton::clicked, &model_, &PlanModel::keep_all);
  return out;
}

void PlanTab::take_question(Json question, const QString& name) {
  const PlanForm form = form_of_question(question);
  question_ = std::move(question);
  question_name_ = name;
  servers_->setText(form.servers);
  servers_->setCursorPosition(0);
  counts_->setText(form.counts);
  first_->setCurrentIndex(std::max(0, first_->findData(form.first_objective)));
  second_->setCurrentIndex(std::max(0, second_->findData(form.second_objective)));
  deadline_->setText(form.deadline_days);
  run_budget_->setText(form.budget_of_run);
  month_budget_->setText(form.budget_per_month);
  power_->setText(form.power_kW);
  any_framework_->setChecked(form.any_framework);
  for (const auto& [pointer, label] : faults_) label->hide();
  suggested_.clear();
  refresh();
}

void PlanTab::drop_question() {
  if (question_.is_null()) return;
  question_ = nullptr;
  refresh();
}

void PlanTab::refresh() {
  if (!question_.is_null())
    return words_->setText(
        tr("The question of %1 as it stands, whatever the form on the left says; it may ask for more "
           "than these lines do. Change one to ask about the training on the left instead.")
            .arg(question_name_));
  const Json node = configuration_.value("/cluster/node");
  if (servers_->text().isEmpty() && node.is_string()) servers_->setText(qt(node.get<std::string>()));
  const Json nodes = configuration_.value("/cluster/nodes");
  // Until somebody types another, or has asked.
  if (counts_->text() == suggested_) {
    suggested_ = counts_around(nodes.is_number_integer() ? nodes.get<int>() : 1);
    counts_->setText(suggested_);
  }
  QString words = tr("For the training in the form on the left: the planner tries every legal strategy.");
  const QStringList taken = taken_by_plans(configuration_.document()),
                    left_out = left_out_of_plans(configuration_.document());
  if (!taken.isEmpty()) words += QLatin1Char(' ') + tr("As in the form: %1.").arg(taken.join(QStringLiteral(", ")));
  if (!left_out.isEmpty())
    words += QLatin1Char(' ') + tr("Plans do not heed: %1.").arg(left_out.join(QStringLiteral(", ")));
  words_->setText(words);
}

void PlanTab::run_or_stop() {
  if (model_.is_running()) return model_.stop();
  configuration_.finish_edits();
  const QString second = second_->currentData().toString();
  suggested_.clear();
  for (const auto& [pointer, label] : faults_) label->hide();
  if (!question_.is_null()) return model_.start(question_, PlanModel::Of::file);
  try {
    model_.start(
        plan_question({servers_->text(), counts_->text(), first_->currentData().toString(),
                       second == first_->currentData().toString() ? QString() : second, deadline_->text(),
                       run_budget_->text(), month_budget_->text(), power_->text(), any_framework_->isChecked()},
                      configuration_));
  } catch (const InputError& error) {
    show_faults(error.faults());
  }
}

/// Each below its field; those of no field below the form.
void PlanTab::show_faults(const std::vector<Fault>& faults) {
  QStringList others;
  for (const Fault& fault : faults) {
    const QString words = qt(fault.suggestion.empty() ? fault.message : fault.message + "; " + fault.suggestion);
    const auto field = faults_.find(fault.pointer);
    if (field == faults_.end()) {
      others << words;
      continue;
    }
    field->second->setText(words);
    field->second->show();
  }
  busy_->show_ended(others.join(QLatin1Char('\n')));
}

void PlanTab::show_progress() {
  run_->setText(model_.is_running() ? tr("Stop") : tr("&Plan"));
  if (model_.is_running())
    busy_->show_running(model_.progress());
  else
    busy_->show_ended(model_.why());
}

QString PlanTab::remark() const {
  const QString own = model_.answers_exhibit().remark;
  return model_.is_outdated() ? tr("For an earlier training: plan again.") + QLatin1Char(' ') + own : own;
}

void PlanTab::show_options() {
  Exhibit answers = model_.answers_exhibit();
  answers.remark = remark();
  answers_->show_exhibit(std::move(answers));
  keep_->setEnabled(model_.answer() != nullptr);
  all_->setEnabled(model_.is_filtered());
}

}  // namespace stepcast
