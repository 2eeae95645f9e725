#pragma once

#include <QObject>
#include <QRectF>
#include <QString>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include "gui/view-models/plan_exhibits.hpp"
#include "gui/view-models/work_progress.hpp"

class QThread;

namespace stepcast {

class ConfigurationModel;

/// How many answers the planner is asked for: as `stepcast plan --top`.
inline constexpr int kPlanAnswers = 12;

/// The planner at work beside the window, its answers, and which of them are looked at.
class PlanModel : public QObject {
  Q_OBJECT
 public:
  explicit PlanModel(ConfigurationModel& configuration, QObject* parent = nullptr);
  ~PlanModel() override;

  /// Whose training a question is about: that of the form, on whose surroundings its answers are put, or one of its
  /// own, as files have it.
  enum class Of { form, file };
  /// Starts planning, unless it runs. Faults of the question come with `finished`.
  void start(const Json& question, Of training = Of::form);
  void stop();
  [[nodiscard]] bool is_running() const { return thread_ != nullptr; }
  [[nodiscard]] const PlanAnswer* answer() const { return answer_.get(); }
  [[nodiscard]] const QString& why() const { return why_; }
  /// The question of the answer, or of the search; null before the first one.
  [[nodiscard]] const Json& question() const { return question_; }
  /// The question is about another training than the one on screen.
  [[nodiscard]] bool is_outdated() const { return outdated_; }
  [[nodiscard]] const WorkProgress& progress() const { return progress_; }
  /// Puts an option on screen.
  void open(std::size_t option);
  void set_catalog_directories(std::vector<std::string> directories) { directories_ = std::move(directories); }

  /// What the scatter has on its axes: a place in plan_axes().
  void set_axes(std::size_t axes);
  /// Keeps only options in a part of the scatter, of those that are kept now.
  void keep_within(const QRectF& part);
  /// Keeps only these rows of the table.
  void keep_rows(const std::vector<std::size_t>& rows);
  void keep_all();
  [[nodiscard]] bool is_filtered() const { return kept_.has_value(); }

  /// While a search runs: what it has found so far.
  [[nodiscard]] const Exhibit& answers_exhibit() const { return scatter_.exhibit; }
  [[nodiscard]] Exhibit rejected() const;
  /// The option at a point of the scatter, or in a row of its table; nothing when there is none.
  [[nodiscard]] std::optional<std::size_t> option_at_point(int series, int index) const;
  [[nodiscard]] std::optional<std::size_t> option_in_row(std::size_t row) const;

 Q_SIGNALS:
  void progressed();
  void finished();
  /// Other options are shown, or otherwise.
  void shown();
  /// `is_outdated` changed.
  void aged();

 private:
  void take(const PlanProgress& progress, double seconds);
  void rebuild();
  void look_at_configuration();

  ConfigurationModel& configuration_;
  std::unique_ptr<PlanAnswer> answer_;
  Json question_;
  Json asked_;  ///< what the question rests on; null: on nothing of the form
  bool outdated_ = false;
  QString why_;
  WorkProgress progress_;
  std::vector<ObjectiveValues> found_;
  std::optional<std::set<std::size_t>> kept_;
  std::size_t axes_ = 0;
  PlanScatter scatter_;
  QThread* thread_ = nullptr;
  std::stop_source stop_;
  std::vector<std::string> directories_;
};

}  // namespace stepcast
