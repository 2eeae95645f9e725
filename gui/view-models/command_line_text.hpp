#pragma once

#include <QString>
#include <QStringList>

#include "fields/json_text.hpp"

namespace stepcast {

class ConfigurationModel;

/// What else is on screen than the scenario.
struct ScreenWork {
  QString calibration;  ///< that predictions rest on; empty: none
  QString server;       ///< that is selected in the catalogue
  Json plan_question;   ///< the last one asked; null: none
  QStringList sweep;    ///< values of the last sweep, as `--set` takes them, and options
  QStringList fit;      ///< arguments of the last fit; empty: none
};

/// The command that prints what is on screen: of the file where it is saved, else with every difference from it as a
/// `--set`, quoted for a shell (bash, where a document has to be passed along).
QString command_line_text(const ConfigurationModel& configuration, const QString& tab, const ScreenWork& work = {});

}  // namespace stepcast
