#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "fields/json_text.hpp"
#include "gui/view-models/command_study.hpp"

namespace stepcast {

class ConfigurationModel;

/// What else is on screen than the scenario.
struct ScreenWork {
  QStringList catalog;                       ///< directories and files of own hardware
  QString calibration;                       ///< that predictions rest on; empty: none
  QString server;                            ///< that is selected in the catalogue, or that the scenario names
  bool closed_form = false;                  ///< no simulation is shown, and none runs
  std::vector<CommandStudy::Words> studies;  ///< that the tab shows
  std::vector<Json> compared;                ///< the configurations side by side, as they were predicted
  Json plan_question;                        ///< the last one asked; null: none
  Json swept;                                ///< the scenario of the last sweep; null: none
  QStringList sweep;                         ///< its values, as `--set` takes them, and options
  QStringList calibrate;                     ///< the command of the open page of the calibration; empty: a run
};

/// The command that prints what is on screen: of the file where it is saved, else with every difference from it as a
/// `--set`, quoted for a shell (bash, where a document has to be passed along). A tab that shows the answers of several
/// commands has them all, one after the other.
QString command_line_text(const ConfigurationModel& configuration, const QString& tab, const ScreenWork& work = {});

}  // namespace stepcast
