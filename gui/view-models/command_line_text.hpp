#pragma once

#include <QString>

namespace stepcast {

class ConfigurationModel;

/// The command that prints what is on screen: of the file where it is saved, else with every difference from it as a
/// `--set`, quoted for a shell.
QString command_line_text(const ConfigurationModel& configuration, const QString& tab);

}  // namespace stepcast
