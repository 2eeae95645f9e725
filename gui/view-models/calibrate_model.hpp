#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "gui/view-models/exhibit.hpp"
#include "gui/worker/command_process.hpp"

namespace stepcast {

class ConfigurationModel;

/// Predicted against measured: `stepcast validate` in a process of its own, over the shipped sets or a table of the
/// user's, and what the scenario on screen rests on.
class CalibrateModel : public QObject {
  Q_OBJECT
 public:
  explicit CalibrateModel(ConfigurationModel& configuration, QObject* parent = nullptr);

  /// Scores the shipped sets, or a CSV of measured runs (empty: the shipped ones).
  void start(const QString& file);
  void stop();
  [[nodiscard]] bool is_running() const { return command_.is_running(); }
  /// Catalogue directories and calibrations that predictions rest on.
  void set_catalog_directories(std::vector<std::string> directories) { directories_ = std::move(directories); }
  [[nodiscard]] const QString& status() const { return status_; }
  /// The command that was asked last, or would be.
  [[nodiscard]] QStringList command() const;

  /// Error by set.
  [[nodiscard]] Exhibit sets_exhibit() const;
  /// Step times predicted against measured, of the runs that are ranked in groups and of the worst rows.
  [[nodiscard]] Exhibit scatter_exhibit() const;
  /// Profiles that the scenario on screen takes its constants from.
  [[nodiscard]] QString rests_on() const;

 Q_SIGNALS:
  void changed();

 private:
  void take(int code, const QByteArray& answer, const QString& errors);

  ConfigurationModel& configuration_;
  CommandProcess command_;
  std::vector<std::string> directories_;
  QString status_, file_;
  Json scores_;
};

}  // namespace stepcast
