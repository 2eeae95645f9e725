#include "gui/view-models/recent_files.hpp"

#include <QDir>
#include <QSettings>

#include "fields/data_directory.hpp"
#include "fields/json_text.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {

constexpr int kMostRecent = 12;
const QString kRecentKey = QStringLiteral("recent");

/// Questions to the planner and studies lie beside the scenarios.
bool is_scenario(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  const Json document = read_json(file, diagnostics);
  return diagnostics.ok() && document.is_object() && document.contains("cluster");
}

}  // namespace

QStringList recent_files() {
  QStringList out;
  for (const QString& file : QSettings().value(kRecentKey).toStringList())
    if (QFile::exists(file)) out << file;
  return out;
}

void remember_file(const std::filesystem::path& file) {
  QSettings settings;
  QStringList files = settings.value(kRecentKey).toStringList();
  const QString name = qt(std::filesystem::absolute(file).lexically_normal().string());
  files.removeAll(name);
  files.prepend(name);
  while (files.size() > kMostRecent) files.removeLast();
  settings.setValue(kRecentKey, files);
}

QStringList example_scenarios() {
  QStringList out;
  try {
    const QDir folder(qt(data_directory("scenarios").string()));
    for (const QString& name : folder.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name))
      if (is_scenario(plain(folder.filePath(name)))) out << folder.filePath(name);
  } catch (const InputError&) {
    // A program without its examples still works.
  }
  return out;
}

}  // namespace stepcast
