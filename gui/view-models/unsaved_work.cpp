#include "gui/view-models/unsaved_work.hpp"

#include <QCoreApplication>
#include <QDir>
#include <QStandardPaths>
#include <csignal>

#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {

QDir folder() {
  QDir out(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/autosave"));
  out.mkpath(QStringLiteral("."));
  return out;
}

std::filesystem::path own_copy() {
  return plain(folder().filePath(QStringLiteral("%1.json").arg(QCoreApplication::applicationPid())));
}

/// A copy is named after the process that keeps it.
bool is_abandoned(const QString& name) {
  bool number = false;
  const long long owner = name.section(QLatin1Char('.'), 0, 0).toLongLong(&number);
  return number && ::kill(static_cast<pid_t>(owner), 0) != 0;
}

}  // namespace

void UnsavedCopy::keep(const UnsavedWork& work) {
  const Json copy{{"file", work.file.empty() ? std::string() : std::filesystem::absolute(work.file).string()},
                  {"scenario", work.document}};
  write_file(own_copy(), copy.dump(2) + "\n");
}

void UnsavedCopy::remove() {
  std::error_code ignored;
  std::filesystem::remove(own_copy(), ignored);
}

std::optional<UnsavedWork> UnsavedCopy::take_over() {
  const QDir copies = folder();
  for (const QString& name : copies.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Time)) {
    if (!is_abandoned(name)) continue;
    std::error_code taken;
    std::filesystem::rename(plain(copies.filePath(name)), own_copy(), taken);
    if (taken) continue;
    try {
      Diagnostics diagnostics(own_copy().string());
      const Json copy = read_json(own_copy(), diagnostics);
      diagnostics.throw_if_faulty();
      if (!copy.at("scenario").is_object()) throw std::runtime_error("no scenario");
      return UnsavedWork{copy.at("file").get<std::string>(), copy.at("scenario")};
    } catch (const std::exception&) {
      remove();
    }
  }
  return std::nullopt;
}

}  // namespace stepcast
