#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gui/view-models/calibration_effect.hpp"
#include "gui/worker/command_process.hpp"

namespace stepcast {

class CompareModel;
class ConfigurationModel;
struct CalibrationProfile;

/// What `stepcast calibrate fit` is asked, in a user's words.
struct FitForm {
  QStringList files;  ///< results of probes, or of `stepcast import`
  QString node;       ///< what was measured: an id of the catalogue
  QString fabric;     ///< keys of the fabric that differ: "cluster.fabric.nics_per_node=1 …"
  QString name;       ///< of the calibration
  bool stand_in = false;
  int refits = 0;  ///< of the bootstrap that gives the intervals; 0: as many as the command makes
};

/// Fits the model to measurements in a process of its own, keeps the calibrations of this user, and shows one.
class FitModel : public QObject {
  Q_OBJECT
 public:
  /// `pinned`: further scenarios that are asked whether they rest on a calibration.
  FitModel(ConfigurationModel& configuration, const CompareModel& pinned, QObject* parent = nullptr);
  ~FitModel() override;

  /// The form for the servers on screen.
  [[nodiscard]] FitForm suggested() const;
  /// Starts a fit. What is wrong comes with `changed`, in the command's words.
  void start(const FitForm& form);
  void stop();
  [[nodiscard]] bool is_running() const { return command_.is_running(); }
  [[nodiscard]] const QString& status() const { return status_; }
  /// The command that the shown calibration came of, or that draws it where it was opened; empty: none is shown.
  [[nodiscard]] QStringList command() const;
  /// The command that does what the form says.
  [[nodiscard]] static QStringList arguments(const FitForm& form, const QString& output);

  /// Where calibrations of this user are kept; those that are there, and others that were opened.
  [[nodiscard]] static QString folder();
  [[nodiscard]] QStringList known() const;
  /// Shows a calibration; empty: none. Throws InputError when the file is none.
  void open(const QString& file);
  [[nodiscard]] const QString& file() const { return file_; }
  /// Null while none is shown.
  [[nodiscard]] const CalibrationProfile* profile() const { return profile_.get(); }
  /// Whether predictions rest on the one that is shown.
  [[nodiscard]] bool is_used() const;
  /// Predicts what is on screen, pinned and of late, with and without the one that is shown; `effect_changed` follows.
  void ask_effect();
  [[nodiscard]] const CalibrationEffect& effect() const { return effect_; }
  /// Directories with hardware of the user's own; a fit rests on no calibration.
  void set_catalog_directories(std::vector<std::string> directories) { directories_ = std::move(directories); }

 Q_SIGNALS:
  /// Something runs, has ended, or another calibration is shown.
  void changed();
  void effect_changed();
  /// Predictions shall rest on this file; empty: on the catalogue alone.
  void chosen(const QString& file);

 private:
  ConfigurationModel& configuration_;
  const CompareModel& pinned_;
  CommandProcess command_;
  CalibrationEffect effect_;
  std::vector<std::string> directories_;
  QString status_, file_, output_;
  QStringList opened_, asked_;
  std::unique_ptr<CalibrationProfile> profile_;
};

}  // namespace stepcast
