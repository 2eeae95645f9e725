#pragma once

#include <QStringList>
#include <filesystem>

namespace stepcast {

/// Scenario files opened or saved lately, the latest first; those that are gone are left out.
QStringList recent_files();
void remember_file(const std::filesystem::path& file);

/// The scenarios that come with the program.
QStringList example_scenarios();

}  // namespace stepcast
