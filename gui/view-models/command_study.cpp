#include "gui/view-models/command_study.hpp"

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

CommandStudy::CommandStudy(ConfigurationModel& configuration, WordsOf words, QObject* parent)
    : QObject(parent), configuration_(configuration), words_of_(std::move(words)) {
  connect(&command_, &CommandProcess::finished, this, &CommandStudy::take);
}

CommandStudy::Words CommandStudy::words() const {
  return configuration_.scenario() ? words_of_(*configuration_.scenario()) : Words{};
}

void CommandStudy::set_catalog_directories(std::vector<std::string> directories) {
  directories_ = std::move(directories);
  generation_ = -1;
}

const Json& CommandStudy::answer() {
  if (generation_ != configuration_.generation()) ask();
  return answer_;
}

void CommandStudy::ask() {
  generation_ = configuration_.generation();
  answer_ = nullptr;
  command_.cancel();
  if (!configuration_.is_valid()) return;
  status_ = tr("Predicting …");
  const std::filesystem::path file = plain(folder_.filePath(QStringLiteral("scenario.json")));
  try {
    write_file(file, configuration_.text());
  } catch (const InputError& error) {
    status_ = QString::fromUtf8(error.what());
    return;
  }
  QStringList arguments{QStringLiteral("--json")};
  for (const std::string& directory : directories_) arguments << QStringLiteral("--catalog") << qt(directory);
  const Words asked = words();
  command_.start(arguments << asked.before << qt(file.string()) << asked.after);
}

void CommandStudy::stop() {
  command_.cancel();
  status_ = tr("Stopped");
  Q_EMIT changed();
}

void CommandStudy::take(int code, const QByteArray& output, const QString& errors) {
  answer_ = Json::parse(output.toStdString(), nullptr, false);
  if (code != 0 || answer_.is_discarded()) {
    answer_ = nullptr;
    status_ = errors.isEmpty() ? tr("stepcast ended with status %1").arg(code) : errors;
  }
  Q_EMIT changed();
}

}  // namespace stepcast
