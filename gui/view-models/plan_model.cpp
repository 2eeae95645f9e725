#include "gui/view-models/plan_model.hpp"

#include <QRegularExpression>
#include <QThread>
#include <algorithm>
#include <cmath>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/view-models/qt_text.hpp"
#include "planner/plan.hpp"

namespace stepcast {

namespace {

/// "8, 16, 32" or "8..64" (doubling) as the question wants it.
Json counts_of(const QString& text, Diagnostics& diagnostics) {
  Json out = Json::array();
  for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    static const QRegularExpression kRange(QStringLiteral("^\\s*(\\d+)\\s*\\.\\.\\s*(\\d+)\\s*$"));
    const auto range = kRange.match(part);
    bool number = false;
    if (range.hasMatch()) {
      for (long n = std::max(1L, range.captured(1).toLong()); n <= range.captured(2).toLong(); n *= 2) out.push_back(n);
      number = true;
    } else if (const int n = part.trimmed().toInt(&number); number) {
      out.push_back(n);
    }
    if (!number) diagnostics.error("how many", "found \"" + plain(part.trimmed()) + "\", expected a number or 8..64");
  }
  if (out.empty()) diagnostics.error("how many", "no number of servers is named", "8, 16 or 8..64");
  return out;
}

void add_limit(Json& constraints, const char* key, const QString& text, Diagnostics& diagnostics) {
  if (text.trimmed().isEmpty()) return;
  bool number = false;
  const double value = QString(text).remove(QLatin1Char(',')).toDouble(&number);
  if (number) {
    constraints[key] = value;
  } else {
    diagnostics.error(key, "found \"" + plain(text) + "\", expected a number");
  }
}

}  // namespace

PlanModel::PlanModel(ConfigurationModel& configuration, QObject* parent)
    : QObject(parent), configuration_(configuration) {}

PlanModel::~PlanModel() {
  if (thread_ == nullptr) return;
  thread_->disconnect(this);
  stop_.request_stop();
  thread_->wait();
  delete thread_;
}

Json PlanModel::question(const PlanForm& form) const {
  Diagnostics diagnostics("plan");
  Json out{{"name", "Plan from the window"}, {"workload", configuration_.value("/workload")}};
  if (out["workload"].is_null() || out["workload"].empty())
    diagnostics.error("training", "no model is chosen", "choose one in the form on the left");
  const Json counts = counts_of(form.counts, diagnostics);
  for (const QString& server : form.servers.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    Json cluster{{"node", plain(server.trimmed())}, {"nodes", counts}};
    const Json site = configuration_.value("/cluster/site");
    if (site.is_string()) cluster["site"] = site;
    out["clusters"].push_back(std::move(cluster));
  }
  if (!out.contains("clusters"))
    diagnostics.error("servers", "no server is named", "ids of the catalogue, apart by commas");
  out["objective"] = form.second_objective.isEmpty()
                         ? Json(plain(form.first_objective))
                         : Json::array({plain(form.first_objective), plain(form.second_objective)});
  Json constraints = Json::object();
  add_limit(constraints, "deadline_days", form.deadline_days, diagnostics);
  add_limit(constraints, "budget_of_run_usd", form.budget_of_run, diagnostics);
  add_limit(constraints, "budget_usd_per_month", form.budget_per_month, diagnostics);
  add_limit(constraints, "power_kW", form.power_kW, diagnostics);
  if (!constraints.empty()) out["constraints"] = std::move(constraints);
  diagnostics.throw_if_faulty();
  return out;
}

void PlanModel::start(const Json& question) {
  if (is_running()) return;
  answer_.reset();
  why_.clear();
  progress_ = tr("Searching …");
  stop_ = std::stop_source();
  struct Result {
    std::unique_ptr<PlanAnswer> answer;
    QString why;
  };
  auto result = std::make_shared<Result>();
  const Catalog* catalog = &configuration_.catalog();
  PlanOptions options;
  options.top = 12;
  options.jobs = std::max(1, QThread::idealThreadCount());
  options.stop = stop_.get_token();
  for (const std::string& directory : directories_) options.catalog_directories.emplace_back(directory);
  options.progress = [this](const PlanProgress& progress) {
    const QString words = progress.stage == PlanProgress::Stage::searching
                              ? tr("Searching: %1 options").arg(shown_whole(progress.evaluated))
                              : tr("Simulating the best: %1 of %2").arg(progress.done).arg(progress.all);
    QMetaObject::invokeMethod(this, [this, words] {
      progress_ = words;
      Q_EMIT progressed();
    });
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
    Q_EMIT finished();
  });
  thread_->start();
  Q_EMIT progressed();
}

void PlanModel::stop() { stop_.request_stop(); }

void PlanModel::open(std::size_t candidate) {
  if (answer_ && candidate < answer_->candidates.size())
    configuration_.set_document(answer_->candidates[candidate].scenario, tr("planned configuration"));
}

Exhibit PlanModel::answers_exhibit() const {
  Exhibit out;
  out.title = tr("Answers");
  if (!answer_ || answer_->candidates.empty()) {
    out.remark = answer_ ? tr("No option keeps every limit. Below is what stood in the way.") : why_;
    return out;
  }
  out.remark =
      tr("%1 options looked at, %2 keep every limit%3. Click a point or press Enter on a row to put it on screen.")
          .arg(shown_whole(answer_->tally.evaluated), shown_whole(answer_->tally.feasible),
               answer_->stopped ? tr(" (stopped early: the best so far)") : QString());
  out.chart.kind = ChartData::Kind::scatter;
  out.chart.x_title = tr("milliseconds a sample");
  const auto time = static_cast<std::size_t>(Objective::time), cost = static_cast<std::size_t>(Objective::cost),
             energy = static_cast<std::size_t>(Objective::energy);
  const bool priced = std::all_of(answer_->candidates.begin(), answer_->candidates.end(), [&](const PlanCandidate& c) {
    return std::isfinite(c.objective[cost]) && c.objective[cost] > 0;
  });
  out.chart.y_title = priced ? tr("$ a thousand samples") : tr("kilojoules a sample");
  const auto point = [&](const ObjectiveValues& values) {
    return QPointF(values[time] * 1e3, priced ? values[cost] * 1e3 : values[energy] / 1e3);
  };
  ChartData::Series answers{.name = tr("answers"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  ChartData::Series front{
      .name = tr("Pareto front"), .hue = Hue::orange, .values = {}, .points = {}, .dashed = true, .tips = {}};
  out.table.headings = {tr("#"),          tr("Servers"), tr("Strategy"), tr("Step time"),
                        tr("Throughput"), tr("Run"),     tr("Power"),    tr("What decides")};
  for (std::size_t i = 0; i < answer_->candidates.size(); ++i) {
    const PlanCandidate& candidate = answer_->candidates[i];
    const Prediction& p = candidate.prediction;
    const QString servers =
        QStringLiteral("%1 × %2").arg(shown_whole(p.nodes), qt(candidate.scenario["cluster"].value("node", "")));
    const QString tip =
        tr("%1. %2, %3: step %4").arg(i + 1).arg(servers, degrees_in_words(p.degrees), shown(p.step_time));
    answers.points.push_back(point(candidate.objective));
    answers.tips << tip;
    QStringList words;
    for (const Binding& binding : candidate.binding) words << qt(binding.words);
    const double rate = p.tokens_per_s > 0 ? p.tokens_per_s : p.samples_per_s;
    out.table.rows.push_back({{.text = QString::number(i + 1), .number = static_cast<double>(i + 1)},
                              {.text = servers},
                              {.text = degrees_in_words(p.degrees), .tip = degrees_in_words(p.degrees)},
                              {.text = shown(p.step_time), .number = p.step_time.value()},
                              {.text = shown_count(rate), .number = rate},
                              {.text = p.run_cost ? shown(*p.run_cost) : QStringLiteral("—"),
                               .number = p.run_cost ? p.run_cost->value() : 0},
                              {.text = shown(p.average_power), .number = p.average_power.value()},
                              {.text = words.join(QStringLiteral(", ")), .tip = words.join(QLatin1Char('\n'))}});
  }
  for (const ParetoPoint& pareto : answer_->pareto) {
    front.points.push_back(point(pareto.figures.objective));
    front.tips << tr("on the Pareto front: step %1").arg(shown(pareto.figures.step_time));
  }
  out.chart.series.push_back(std::move(answers));
  if (!front.points.empty()) out.chart.series.push_back(std::move(front));
  return out;
}

Exhibit PlanModel::rejected_exhibit() const {
  Exhibit out;
  out.title = tr("Why other options are not among them");
  if (!answer_) return out;
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("% of the options");
  out.chart.legend = false;
  out.chart.y_from = 0;
  out.table.headings = {tr("Why"), tr("Options"), tr("Share")};
  ChartData::Series bars{.name = tr("options"), .hue = Hue::purple, .values = {}, .points = {}, .tips = {}};
  const auto row = [&](const QString& why, long options) {
    if (options == 0) return;
    const double share = static_cast<double>(options) / static_cast<double>(std::max(1L, answer_->tally.evaluated));
    out.chart.categories << (why.size() > 44 ? why.left(42) + QStringLiteral("…") : why);
    bars.values.push_back(share * 100);
    bars.tips << tr("%1: %2 options").arg(why, shown_whole(options));
    out.table.rows.push_back({{.text = why, .tip = why},
                              {.text = shown_whole(options), .number = static_cast<double>(options)},
                              {.text = shown_percent(share), .number = share}});
  };
  row(tr("keeps every limit"), answer_->tally.feasible);
  for (std::size_t i = 0; i < kRejections; ++i) row(qt(EnumNames<Rejection>::names[i]), answer_->tally.rejected[i]);
  if (!bars.values.empty()) out.chart.series.push_back(std::move(bars));
  return out;
}

}  // namespace stepcast
