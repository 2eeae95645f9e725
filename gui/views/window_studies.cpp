// Questions that the window puts to the libraries and commands beside the forecast: what they rest on, and their
// commands.
#include "gui/view-models/calibrate_model.hpp"
#include "gui/view-models/command_line_text.hpp"
#include "gui/view-models/compare_model.hpp"
#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/fit_model.hpp"
#include "gui/view-models/forecast_model.hpp"
#include "gui/view-models/plan_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/studies.hpp"
#include "gui/view-models/sweep_model.hpp"
#include "gui/view-models/workspace.hpp"
#include "gui/views/calibrate_tab.hpp"
#include "gui/views/main_window.hpp"
#include "gui/views/plan_tab.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/server_browser.hpp"
#include "gui/views/status_line.hpp"
#include "gui/views/sweep_tab.hpp"

namespace stepcast {

/// Tabs that put questions of their own to the libraries, and work on them in the background.
void MainWindow::add_studies() {
  plan_ = new PlanModel(configuration_, this);
  plan_tab_ = new PlanTab(*plan_, configuration_, tabs_);
  tabs_->add(QStringLiteral("plan"), tr("Plan"), plan_tab_, [this] { plan_tab_->refresh(); });
  sweep_ = new SweepModel(configuration_, this);
  tabs_->add(QStringLiteral("sweep"), tr("Sweep"), new SweepTab(*sweep_, tabs_), [] {});
  calibrate_ = new CalibrateModel(configuration_, this);
  fit_ = new FitModel(configuration_, *compare_, this);
  auto* calibrate = new CalibrateTab(*calibrate_, *fit_, tabs_);
  tabs_->add(QStringLiteral("calibrate"), tr("Calibrate"), calibrate, [calibrate] { calibrate->refresh(); });
  connect(fit_, &FitModel::chosen, this, &MainWindow::use_calibration);
  hand_out_catalog();
  const auto busy = [](const QString& what) { return WorkProgress{what, {}}; };
  status_->add(
      {[this] { return plan_->is_running(); }, [this] { return plan_->progress(); }, [this] { plan_->stop(); }});
  status_->add(
      {[this] { return sweep_->is_running(); }, [this] { return sweep_->progress(); }, [this] { sweep_->stop(); }});
  status_->add(
      {[this] { return fit_->is_running(); }, [busy] { return busy(tr("Fitting")); }, [this] { fit_->stop(); }});
  status_->add({[this] { return calibrate_->is_running(); }, [busy] { return busy(tr("Predicting measured runs")); },
                [this] { calibrate_->stop(); }});
  settled_.emplace_back([this] {
    return !plan_->is_running() && !sweep_->is_running() && !fit_->is_running() && !fit_->effect().is_running() &&
           !calibrate_->is_running();
  });
}

/// What commands say about the scenario on screen.
void MainWindow::add_command_studies() {
  const auto add = [this](const QString& tab, const QString& words, CommandStudy::WordsOf words_of) {
    auto* study = new CommandStudy(configuration_, std::move(words_of), this);
    studies_.emplace_back(tab, study);
    connect(study, &CommandStudy::changed, this, [this, tab] { tabs_->refresh(tab); });
    status_->add({[study] { return study->is_running(); },
                  [words] {
                    return WorkProgress{words, {}};
                  },
                  [study] { study->stop(); }});
    settled_.emplace_back([study] { return !study->is_running(); });
    return study;
  };
  const QString scaling = QStringLiteral("scaling");
  strong_ = add(scaling, tr("Strong scaling"),
                [](const Scenario& scenario) { return scaling_words(scenario, ScalingMode::strong); });
  weak_ = add(scaling, tr("Weak scaling"),
              [](const Scenario& scenario) { return scaling_words(scenario, ScalingMode::weak); });
  explanation_ = add(QStringLiteral("sensitivity"), tr("Explaining"), explanation_words);
}

QString MainWindow::command_line() const {
  const QString tab = tabs_->current_name();
  ScreenWork work;
  for (const std::string& directory : workspace_.user_directories()) work.catalog << qt(directory);
  work.calibration = qt(workspace_.calibration().string());
  work.closed_form = !forecast_.is_simulated() && !forecast_.is_busy();
  const Json node = configuration_.value("/cluster/node");
  work.server = tab == QLatin1String("servers") ? qt(findChild<ServerBrowser*>()->selected())
                : node.is_string()              ? qt(node.get<std::string>())
                                                : QString();
  for (const auto& [name, study] : studies_)
    if (name == tab && configuration_.is_valid()) work.studies.push_back(study->words());
  work.compared = compare_->compared();
  work.plan_question = plan_->question();
  work.swept = sweep_->swept();
  work.sweep = sweep_->options();
  if (const auto* calibrate = findChild<CalibrateTab*>(); calibrate && tab == QLatin1String("calibrate")) {
    work.calibrate = calibrate->command();
    // The page about what rests on a calibration is about one that may not be in use.
    if (work.calibrate.isEmpty() && !fit_->file().isEmpty()) {
      work.calibration = fit_->file();
      work.closed_form = true;
    }
  }
  return command_line_text(configuration_, tab, work);
}

void MainWindow::hand_out_catalog() {
  const auto all = workspace_.catalog_arguments();
  plan_->set_catalog_directories(all);
  sweep_->set_catalog_directories(all);
  calibrate_->set_catalog_directories(all);
  fit_->set_catalog_directories(workspace_.user_directories());
  for (const auto& [tab, study] : studies_) study->set_catalog_directories(all);
}

void MainWindow::use_calibration(const QString& file) {
  try {
    workspace_.use_calibration(plain(file));
  } catch (const InputError& error) {
    complain(tr("Cannot use the calibration"), QString::fromUtf8(error.what()));
  }
  hand_out_catalog();
  Q_EMIT fit_->changed();
}

}  // namespace stepcast
