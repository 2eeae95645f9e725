#include "gui/view-models/plan_model.hpp"

#include <QElapsedTimer>
#include <QThread>
#include <algorithm>
#include <utility>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/plan_form.hpp"
#include "planner/plan.hpp"

namespace stepcast {

PlanModel::PlanModel(ConfigurationModel& configuration, QObject* parent)
    : QObject(parent), configuration_(configuration) {
  rebuild();
  connect(&configuration_, &ConfigurationModel::changed, this, &PlanModel::look_at_configuration);
}

void PlanModel::look_at_configuration() {
  const bool outdated = !asked_.is_null() && planned_surroundings(configuration_.document()) != asked_;
  if (std::exchange(outdated_, outdated) != outdated) Q_EMIT aged();
}

PlanModel::~PlanModel() {
  if (thread_ == nullptr) return;
  thread_->disconnect(this);
  stop_.request_stop();
  thread_->wait();
  delete thread_;
}

void PlanModel::start(const Json& question, Of training) {
  if (is_running()) return;
  question_ = question;
  asked_ = training == Of::form ? planned_surroundings(configuration_.document()) : Json();
  outdated_ = false;
  answer_.reset();
  found_.clear();
  kept_.reset();
  why_.clear();
  progress_ = {tr("Searching"), tr("blocks")};
  stop_ = std::stop_source();
  rebuild();
  struct Result {
    std::unique_ptr<PlanAnswer> answer;
    QString why;
  };
  auto result = std::make_shared<Result>();
  const Catalog* catalog = &configuration_.catalog();
  PlanOptions options;
  options.top = kPlanAnswers;
  options.jobs = std::max(1, QThread::idealThreadCount());
  options.stop = stop_.get_token();
  for (const std::string& directory : directories_) options.catalog_directories.emplace_back(directory);
  // Of the search and of the simulations, each by itself: their rates have nothing to do with each other.
  struct Clock {
    QElapsedTimer timer;
    PlanProgress::Stage stage = PlanProgress::Stage::searching;
  };
  auto clock = std::make_shared<Clock>();
  clock->timer.start();
  options.progress = [this, clock](const PlanProgress& progress) {
    if (progress.stage != clock->stage) clock->timer.restart();
    clock->stage = progress.stage;
    const double seconds = static_cast<double>(clock->timer.elapsed()) / 1e3;
    QMetaObject::invokeMethod(this, [this, progress, seconds] { take(progress, seconds); });
  };
  thread_ = QThread::create([result, question, catalog, options] {
    try {
      result->answer =
          std::make_unique<PlanAnswer>(plan(read_plan_question(question, "plan", {}, *catalog), *catalog, options));
    } catch (const std::exception& error) {
      result->why = QString::fromUtf8(error.what());
    }
  });
  connect(thread_, &QThread::finished, this, [this, result] {
    answer_ = std::move(result->answer);
    why_ = result->why;
    thread_->deleteLater();
    thread_ = nullptr;
    rebuild();
    Q_EMIT finished();
  });
  thread_->start();
  Q_EMIT progressed();
}

void PlanModel::take(const PlanProgress& progress, double seconds) {
  if (!is_running()) return;
  const bool searching = progress.stage == PlanProgress::Stage::searching;
  const auto done = static_cast<double>(progress.done);
  progress_ = {.what = searching ? tr("Searching") : tr("Simulating the best"),
               .things = searching ? tr("blocks of options") : tr("options"),
               .done = done,
               .all = static_cast<double>(progress.all),
               .per_second = seconds > 0 ? done / seconds : 0};
  if (!progress.found.empty()) {
    found_ = progress.found;
    rebuild();
  }
  Q_EMIT progressed();
}

void PlanModel::stop() { stop_.request_stop(); }

void PlanModel::rebuild() {
  const PlanAxes& axes = plan_axes()[axes_];
  const PlanScale scale = scale_of(question_.is_object() ? question_.value("workload", Json()) : Json());
  if (answer_) {
    scatter_ = plan_scatter(*answer_, scale, axes, kept_);
  } else {
    scatter_ = {};
    scatter_.exhibit = found_so_far(found_, scale, axes);
    if (found_.empty()) scatter_.exhibit.title = tr("Answers");
    scatter_.exhibit.remark =
        !why_.isEmpty() ? why_
        : is_running()
            ? tr("These and others are simulated before they are ranked. Figures are for %1.").arg(scale.work)
            : tr("Ask on the left. Answers appear here as points to choose from.");
  }
  Q_EMIT shown();
}

void PlanModel::set_axes(std::size_t axes) {
  axes_ = std::min(axes, plan_axes().size() - 1);
  rebuild();
}

void PlanModel::keep_within(const QRectF& part) {
  std::set<std::size_t> kept;
  const std::vector<ChartData::Series>& series = scatter_.exhibit.chart.series;
  for (std::size_t s = 0; s < scatter_.of_point.size(); ++s)
    for (std::size_t i = 0; i < scatter_.of_point[s].size(); ++i) {
      const std::size_t option = scatter_.of_point[s][i];
      if (part.contains(series[s].points[i]) && (!kept_ || kept_->contains(option))) kept.insert(option);
    }
  // A drag over nothing is a slip.
  if (kept.empty()) return;
  kept_ = std::move(kept);
  rebuild();
}

void PlanModel::keep_rows(const std::vector<std::size_t>& rows) {
  std::set<std::size_t> kept;
  for (const std::size_t row : rows)
    if (const auto option = option_in_row(row)) kept.insert(*option);
  if (kept.empty()) return;
  kept_ = std::move(kept);
  rebuild();
}

void PlanModel::keep_all() {
  kept_.reset();
  rebuild();
}

std::optional<std::size_t> PlanModel::option_at_point(int series, int index) const {
  const auto s = static_cast<std::size_t>(series), i = static_cast<std::size_t>(index);
  if (series < 0 || index < 0 || s >= scatter_.of_point.size() || i >= scatter_.of_point[s].size()) return std::nullopt;
  return scatter_.of_point[s][i];
}

std::optional<std::size_t> PlanModel::option_in_row(std::size_t row) const {
  if (row >= scatter_.of_row.size()) return std::nullopt;
  return scatter_.of_row[row];
}

void PlanModel::open(std::size_t option) {
  if (!answer_) return;
  const std::vector<PlanOption> options = options_of(*answer_);
  if (option >= options.size()) return;
  const Json& found = *options[option].scenario;
  configuration_.set_document(asked_.is_null() ? found : with_plan(configuration_.document(), asked_, found),
                              tr("planned configuration"));
}

Exhibit PlanModel::rejected() const {
  if (answer_) return rejected_exhibit(*answer_);
  Exhibit none;
  none.title = tr("What became of every option");
  return none;
}

}  // namespace stepcast
