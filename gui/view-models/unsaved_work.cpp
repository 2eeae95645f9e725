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

/// A name beside a copy that no earlier one has.
std::filesystem::path unreadable_name(const std::filesystem::path& copy) {
  std::filesystem::path out = copy.string() + ".unreadable";
  for (int again = 2; std::filesystem::exists(out); ++again)
    out = copy.string() + "." + std::to_string(again) + ".unreadable";
  return out;
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

LeftBehind UnsavedCopy::take_over() {
  LeftBehind out;
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
      out.work = UnsavedWork{copy.at("file").get<std::string>(), copy.at("scenario")};
      return out;
    } catch (const std::exception& error) {
      const std::filesystem::path kept = unreadable_name(plain(copies.filePath(name)));
      std::error_code stays;
      std::filesystem::rename(own_copy(), kept, stays);
      out.unreadable.push_back({stays ? own_copy() : kept, error.what()});
    }
  }
  return out;
}

}  // namespace stepcast
