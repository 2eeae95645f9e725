#pragma once

#include <QStringList>
#include <filesystem>
#include <optional>

namespace stepcast {

/// Scenario files opened or saved lately, the latest first; those that are gone are left out.
QStringList recent_files();
void remember_file(const std::filesystem::path& file);

/// The scenarios that come with the program.
QStringList example_scenarios();

/// The copy of unsaved work, so that a crash loses nothing: written while the user works, removed when he leaves.
std::filesystem::path autosave_file();
/// What a crash left behind; empty when there is nothing. An abandoned copy is of no running program.
std::optional<std::filesystem::path> abandoned_autosave();

}  // namespace stepcast
