#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>
#include <functional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "gui/worker/command_process.hpp"

namespace stepcast {

class ConfigurationModel;
struct Scenario;

/// What a subcommand of `stepcast` says about the scenario on screen: asked in a process beside the window when
/// somebody looks, and only once for each state of the scenario.
class CommandStudy : public QObject {
  Q_OBJECT
 public:
  /// The words of the command before and after the file of the scenario.
  struct Words {
    QStringList before, after;
  };
  using WordsOf = std::function<Words(const Scenario&)>;

  CommandStudy(ConfigurationModel& configuration, WordsOf words, QObject* parent = nullptr);

  /// The command's JSON about what is on screen; null while it is not there: it has been asked for then.
  const Json& answer();
  /// Why there is no answer yet, or none at all.
  [[nodiscard]] const QString& status() const { return status_; }
  [[nodiscard]] bool is_running() const { return command_.is_running(); }
  /// The command about what is on screen; empty while that is faulty.
  [[nodiscard]] Words words() const;
  void stop();
  void set_catalog_directories(std::vector<std::string> directories);

 Q_SIGNALS:
  void changed();

 private:
  void ask();
  void take(int code, const QByteArray& output, const QString& errors);

  ConfigurationModel& configuration_;
  WordsOf words_of_;
  CommandProcess command_;
  QTemporaryDir folder_;
  std::vector<std::string> directories_;
  QString status_;
  Json answer_;
  long generation_ = -1;  ///< of the scenario that was asked about
};

}  // namespace stepcast
