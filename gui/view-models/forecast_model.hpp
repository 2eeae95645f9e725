#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTemporaryDir>
#include <QTimer>
#include <memory>
#include <optional>

#include "gui/view-models/work_progress.hpp"
#include "gui/worker/worker_process.hpp"
#include "report/prediction.hpp"

namespace stepcast {

class ConfigurationModel;

/// The prediction on screen: the closed form at once, and the simulation's in its place as soon as it is there.
class ForecastModel : public QObject {
  Q_OBJECT
 public:
  enum class State { idle, waiting, running, simulated, failed, cancelled };

  explicit ForecastModel(ConfigurationModel& configuration, QObject* parent = nullptr);

  /// Null while the scenario is faulty.
  [[nodiscard]] const Prediction* shown() const;
  [[nodiscard]] bool is_simulated() const { return state_ == State::simulated; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_busy() const { return state_ == State::waiting || state_ == State::running; }
  /// What is running, or how the last run ended, in words.
  [[nodiscard]] QString status() const;
  [[nodiscard]] double seconds_running() const;
  /// How far the simulation is, as its worker last said.
  [[nodiscard]] WorkProgress progress() const;

  /// Simulations also write the timeline from now on (or no longer); the last is run again if it has none.
  void want_trace(bool wanted);
  /// Why the step on screen is no one timeline (models/updates/timeline_fault.hpp); empty: it is one.
  [[nodiscard]] QString without_timeline() const;
  /// The timeline's file, of the simulation on screen; empty when there is none.
  [[nodiscard]] QString trace() const { return is_simulated() ? trace_ : QString(); }

  /// Whether simulations start by themselves after each change.
  void set_automatic(bool automatic);
  void simulate();
  void cancel();
  [[nodiscard]] WorkerProcess& worker() { return worker_; }
  /// Directories that the worker shall read the catalogue from.
  void set_catalog_directories(std::vector<std::string> directories) { catalog_ = std::move(directories); }

 Q_SIGNALS:
  /// Another prediction is shown.
  void changed();
  void state_changed();

 private:
  void follow_change();
  void take(const Reply& reply);
  void set_state(State state, const QString& why = {});
  [[nodiscard]] QString progress_file() const;

  ConfigurationModel& configuration_;
  WorkerProcess worker_;
  QTimer delay_;
  QElapsedTimer running_;
  QTemporaryDir folder_;
  State state_ = State::idle;
  QString why_, trace_;
  double took_ = 0;
  bool want_trace_ = false, automatic_ = true;
  long generation_ = -1;  ///< that runs or is simulated
  int traces_ = 0;
  std::optional<Prediction> simulated_;
  std::vector<std::string> catalog_;
};

}  // namespace stepcast
