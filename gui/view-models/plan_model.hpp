#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <stop_token>
#include <vector>

#include "fields/json_text.hpp"
#include "gui/view-models/exhibit.hpp"

class QThread;

namespace stepcast {

class ConfigurationModel;
struct PlanAnswer;

/// A question to the planner as the form has it, in a user's words.
struct PlanForm {
  QString servers, counts;                                           ///< ids apart by commas; "8, 16" or "8..64"
  QString first_objective, second_objective;                         ///< second: empty for none
  QString deadline_days, budget_of_run, budget_per_month, power_kW;  ///< empty: no limit
};

/// The planner at work beside the window.
class PlanModel : public QObject {
  Q_OBJECT
 public:
  explicit PlanModel(ConfigurationModel& configuration, QObject* parent = nullptr);
  ~PlanModel() override;

  /// What the form asks about the workload on screen. Throws InputError with every fault of the form.
  [[nodiscard]] Json question(const PlanForm& form) const;
  /// Starts planning; what ran before is stopped. Faults of the question come with `finished`.
  void start(const Json& question);
  void stop();
  [[nodiscard]] bool is_running() const { return thread_ != nullptr; }
  [[nodiscard]] const PlanAnswer* answer() const { return answer_.get(); }
  [[nodiscard]] const QString& why() const { return why_; }
  [[nodiscard]] const QString& progress() const { return progress_; }
  /// Puts an answer on screen.
  void open(std::size_t candidate);
  void set_catalog_directories(std::vector<std::string> directories) { directories_ = std::move(directories); }

  [[nodiscard]] Exhibit answers_exhibit() const;
  [[nodiscard]] Exhibit rejected_exhibit() const;

 Q_SIGNALS:
  void progressed();
  void finished();

 private:
  ConfigurationModel& configuration_;
  std::unique_ptr<PlanAnswer> answer_;
  QString why_, progress_;
  QThread* thread_ = nullptr;
  std::stop_source stop_;
  std::vector<std::string> directories_;
};

}  // namespace stepcast
