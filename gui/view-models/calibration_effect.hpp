#pragma once

#include <QObject>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gui/view-models/exhibit.hpp"
#include "gui/worker/worker_process.hpp"
#include "report/prediction.hpp"

namespace stepcast {

/// A scenario whose prediction may rest on a calibration.
struct NamedScenario {
  QString name;
  Json document;
  friend bool operator==(const NamedScenario&, const NamedScenario&) = default;
};

/// Step times with and without a calibration, in closed form, and why they rest on it or not: predicted in a process
/// beside the window.
class CalibrationEffect : public QObject {
  Q_OBJECT
 public:
  struct Question {
    std::vector<NamedScenario> scenarios;
    std::string calibration;               ///< its file; empty: none is chosen
    std::vector<std::string> directories;  ///< the catalogue without it, in order of precedence
    friend bool operator==(const Question&, const Question&) = default;
  };

  explicit CalibrationEffect(QObject* parent = nullptr);
  /// Asks, unless that is what was asked last.
  void ask(Question question);
  void stop();
  [[nodiscard]] bool is_running() const { return worker_.is_running(); }
  /// What is known so far.
  [[nodiscard]] Exhibit exhibit() const;

 Q_SIGNALS:
  void changed();

 private:
  void take(const Reply& reply);

  Question question_;
  WorkerProcess worker_;
  QString why_;
  std::map<std::size_t, Reply> replies_;  ///< two for each scenario: without, then with it
};

}  // namespace stepcast
