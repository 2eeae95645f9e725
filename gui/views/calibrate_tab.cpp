#include "gui/views/calibrate_tab.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QTabWidget>
#include <QVBoxLayout>

#include "fields/diagnostics.hpp"
#include "gui/view-models/calibrate_model.hpp"
#include "gui/view-models/fit_exhibits.hpp"
#include "gui/view-models/fit_model.hpp"
#include "gui/view-models/work_progress.hpp"
#include "gui/views/busy_status.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/file_choice.hpp"

namespace stepcast {

namespace {
/// Between names of files: what no shell and no file dialog writes inside of one.
const QLatin1Char kBetweenFiles(';');
}  // namespace

CalibrateTab::CalibrateTab(CalibrateModel& scores, FitModel& fit, QWidget* parent)
    : QWidget(parent), scores_(scores), fit_(fit) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 8, 0, 8);
  row->addWidget(build_form());
  pages_ = new QTabWidget(this);
  pages_->setObjectName(QStringLiteral("calibration"));
  pages_->setAccessibleName(tr("What is shown of the calibration"));
  QWidget* fitted = add_page(tr("F&it"));
  constants_ = add_exhibit(*fitted);
  held_out_ = add_exhibit(*fitted);
  words_ = new QLabel(fitted);
  words_->setObjectName(QStringLiteral("muted"));
  words_->setWordWrap(true);
  words_->setContentsMargins(12, 0, 12, 8);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  fitted->layout()->addWidget(words_);
  QWidget* residuals = add_page(tr("&Residuals"));
  measured_ = add_exhibit(*residuals);
  residuals_ = add_exhibit(*residuals);
  QWidget* effect = add_page(tr("What rests &on it"));
  rests_on_ = new QLabel(effect);
  rests_on_->setWordWrap(true);
  rests_on_->setContentsMargins(12, 8, 12, 0);
  effect->layout()->addWidget(rests_on_);
  effect_ = add_exhibit(*effect);
  pages_->addTab(build_scores(), tr("Predicted against &measured"));
  row->addWidget(pages_, 1);
  connect(&fit_, &FitModel::changed, this, &CalibrateTab::show_fit);
  connect(&fit_, &FitModel::effect_changed, this, [this] { effect_->show_exhibit(fit_.effect().exhibit()); });
  connect(&scores_, &CalibrateModel::changed, this, &CalibrateTab::show_scores);
  // Predictions of many scenarios are made for those who look at them only.
  connect(pages_, &QTabWidget::currentChanged, this, &CalibrateTab::refresh);
  show_scores();
  show_fit();
}

QWidget* CalibrateTab::add_page(const QString& title) {
  auto* page = new QWidget(pages_);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  pages_->addTab(page, title);
  return page;
}

ExhibitView* CalibrateTab::add_exhibit(QWidget& page) {
  auto* out = new ExhibitView(&page);
  qobject_cast<QVBoxLayout*>(page.layout())->addWidget(out, 1);
  return out;
}

QWidget* CalibrateTab::build_form() {
  auto* out = new QWidget(this);
  out->setFixedWidth(290);
  auto* form = new QFormLayout(out);
  form->setContentsMargins(0, 0, 8, 0);
  form->setRowWrapPolicy(QFormLayout::WrapLongRows);
  auto* title = new QLabel(tr("What was measured?"), out);
  title->setObjectName(QStringLiteral("exhibit"));
  form->addRow(title);
  auto* words = new QLabel(tr("Results of the probes on your cluster, or of <i>stepcast import</i>."), out);
  words->setObjectName(QStringLiteral("muted"));
  words->setWordWrap(true);
  form->addRow(words);
  const auto line = [&](const QString& name, const QString& hint) {
    auto* edit = new QLineEdit(out);
    edit->setPlaceholderText(hint);
    edit->setAccessibleName(name);
    connect(edit, &QLineEdit::returnPressed, this, [this] {
      if (!fit_.is_running()) fit_or_stop();
    });
    return edit;
  };
  auto* load = new QPushButton(tr("&Load measurements …"), out);
  connect(load, &QPushButton::clicked, this, &CalibrateTab::choose_files);
  form->addRow(load);
  files_ = line(tr("Files of measurements"), tr("files, apart by ;"));
  form->addRow(files_);
  node_ = line(tr("Servers"), tr("id of the catalogue"));
  form->addRow(tr("Servers"), node_);
  fabric_ = line(tr("Fabric"), tr("cluster.fabric.nics_per_node=1 …"));
  fabric_->setToolTip(tr("Keys of the fabric that differ from the catalogue's, apart by blanks"));
  form->addRow(tr("Fabric"), fabric_);
  name_ = line(tr("Name"), tr("of the calibration"));
  form->addRow(tr("Name"), name_);
  stand_in_ = new QCheckBox(tr("From a stand-in for the hardware"), out);
  form->addRow(stand_in_);
  run_ = new QPushButton(tr("&Calibrate"), out);
  connect(run_, &QPushButton::clicked, this, &CalibrateTab::fit_or_stop);
  form->addRow(run_);
  fit_busy_ = new BusyStatus(Qt::Vertical, tr("A fit is running"), out);
  form->addRow(fit_busy_);
  auto* chosen = new QLabel(tr("Which calibration?"), out);
  chosen->setObjectName(QStringLiteral("exhibit"));
  form->addRow(chosen);
  profiles_ = new QComboBox(out);
  profiles_->setAccessibleName(tr("Calibration to look at"));
  connect(profiles_, &QComboBox::activated, this,
          [this](int index) { open_profile(profiles_->itemData(index).toString()); });
  form->addRow(profiles_);
  auto* open = new QPushButton(tr("Ope&n a calibration …"), out);
  connect(open, &QPushButton::clicked, this, [this] {
    const QString file = QFileDialog::getOpenFileName(this, tr("Open a calibration"), FitModel::folder(),
                                                      tr("Calibrations (*.json);;All files (*)"));
    if (!file.isEmpty()) open_profile(file);
  });
  form->addRow(open);
  use_ = new QCheckBox(tr("&Use it for every prediction"), out);
  connect(use_, &QCheckBox::clicked, this, [this](bool on) { Q_EMIT fit_.chosen(on ? fit_.file() : QString()); });
  form->addRow(use_);
  return out;
}

QWidget* CalibrateTab::build_scores() {
  auto* page = new QWidget(pages_);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 8, 0, 0);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(12, 0, 12, 0);
  shipped_ = new QPushButton(tr("Score the shippe&d measurements"), page);
  own_ = new QPushButton(tr("Score runs of your own …"), page);
  own_->setToolTip(tr("A CSV of measured runs, in the columns of one of the shipped sets"));
  scores_busy_ = new BusyStatus(Qt::Horizontal, tr("Measured runs are predicted"), page);
  row->addWidget(shipped_);
  row->addWidget(own_);
  row->addWidget(scores_busy_, 1);
  column->addLayout(row);
  sets_ = new ExhibitView(page);
  scatter_ = new ExhibitView(page);
  column->addWidget(sets_, 1);
  column->addWidget(scatter_, 1);
  connect(shipped_, &QPushButton::clicked, this, [this] {
    if (scores_.is_running())
      scores_.stop();
    else
      scores_.start({});
  });
  connect(own_, &QPushButton::clicked, this, [this] {
    const QString file = file_to_open(this, tr("Measured runs"), tr("Tables (*.csv);;All files (*)"));
    if (!file.isEmpty()) scores_.start(file);
  });
  return page;
}

void CalibrateTab::choose_files() {
  const QStringList files =
      files_to_open(this, tr("Load measurements"), tr("Results of probes (*.json);;All files (*)"));
  if (!files.isEmpty()) files_->setText(files.join(kBetweenFiles));
}

void CalibrateTab::fit_or_stop() {
  if (fit_.is_running()) return fit_.stop();
  FitForm form;
  for (const QString& file : files_->text().split(kBetweenFiles, Qt::SkipEmptyParts)) form.files << file.trimmed();
  form.node = node_->text();
  form.fabric = fabric_->text();
  form.name = name_->text();
  form.stand_in = stand_in_->isChecked();
  pages_->setCurrentIndex(0);
  fit_.start(form);
}

void CalibrateTab::open_profile(const QString& file) {
  const bool used = fit_.is_used();
  try {
    fit_.open(file);
    // What is looked at instead of one that is in use takes its place.
    if (used) Q_EMIT fit_.chosen(file);
  } catch (const InputError& error) {
    list_profiles();
    QMessageBox::warning(this, tr("Open a calibration"), QString::fromUtf8(error.what()));
  }
}

void CalibrateTab::list_profiles() {
  profiles_->clear();
  profiles_->addItem(tr("none"), QString());
  for (const QString& file : fit_.known()) profiles_->addItem(QFileInfo(file).fileName(), file);
  profiles_->setCurrentIndex(std::max(0, profiles_->findData(fit_.file())));
}

void CalibrateTab::show_fit() {
  run_->setText(fit_.is_running() ? tr("Stop") : tr("&Calibrate"));
  if (fit_.is_running())
    fit_busy_->show_running({tr("Fitting"), tr("rows")});
  else
    fit_busy_->show_ended(fit_.status());
  list_profiles();
  use_->setEnabled(fit_.profile() != nullptr);
  use_->setChecked(fit_.is_used());
  const CalibrationProfile* profile = fit_.profile();
  if (profile == nullptr) {
    constants_->show_reason(tr("No calibration"),
                            tr("Load what was measured on your cluster and calibrate, or open a calibration."));
    measured_->show_reason(tr("No calibration"), {});
  } else {
    constants_->show_exhibit(constants_exhibit(*profile));
    held_out_->show_exhibit(held_out_exhibit(*profile));
    measured_->show_exhibit(measured_exhibit(*profile));
    residuals_->show_exhibit(residuals_exhibit(*profile));
    words_->setText(words_of(*profile));
  }
  for (ExhibitView* view : {held_out_, residuals_}) view->setVisible(profile != nullptr);
  words_->setVisible(profile != nullptr && !words_->text().isEmpty());
  refresh();
}

void CalibrateTab::refresh() {
  const FitForm form = fit_.suggested();
  if (node_->text().isEmpty()) {
    node_->setText(form.node);
    fabric_->setText(form.fabric);
    name_->setText(form.name);
  }
  rests_on_->setText(scores_.rests_on());
  if (!isVisible() || !effect_->isVisible()) return;
  fit_.ask_effect();
  effect_->show_exhibit(fit_.effect().exhibit());
}

QStringList CalibrateTab::command() const {
  if (sets_->isVisibleTo(pages_)) return scores_.command();
  if (effect_->isVisibleTo(pages_)) return {};
  return fit_.command();
}

void CalibrateTab::show_scores() {
  shipped_->setText(scores_.is_running() ? tr("Stop") : tr("Score the shippe&d measurements"));
  own_->setEnabled(!scores_.is_running());
  if (scores_.is_running())
    scores_busy_->show_running({tr("Predicting measured runs"), tr("runs")});
  else
    scores_busy_->show_ended(scores_.status());
  sets_->show_exhibit(scores_.sets_exhibit());
  scatter_->show_exhibit(scores_.scatter_exhibit());
}

}  // namespace stepcast
