#include "report/goodput_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/humane.hpp"
#include "report/text_layout.hpp"

namespace stepcast {

namespace {

/// Tried around the formula's best.
constexpr double kIntervals[] = {0.125, 0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8};
constexpr double kRates[] = {0, 0.5, 1, 2, 4, 8};

class Study {
 public:
  Study(RunRisk risk, const RunSpec& run, int workers) : run_(run), risk_(std::move(risk)), workers_(workers) {}

  GoodputStudy make() {
    GoodputStudy out;
    const RunHazard hazard = hazard_of(risk_);
    out.work = risk_.work;
    out.checkpoint = risk_.checkpoint;
    out.trials = run_.reliability.trials;
    out.basis = risk_.rates.basis;
    if (hazard.interruptions > PerSecond(0) && risk_.saves) {
      out.between_interruptions = 1.0 / hazard.interruptions;
      out.young = young_interval(hazard);
      out.daly = daly_interval(hazard);
      out.best_by_formula = best_interval(hazard, risk_.checkpoint.shortest_interval);
      for (const double factor : kIntervals) try_interval(out, *out.best_by_formula * factor);
    }
    for (const double factor : kRates) out.rates.push_back(at_rate(factor));
    return out;
  }

 private:
  void try_interval(GoodputStudy& out, Seconds interval) {
    if (interval < risk_.checkpoint.shortest_interval) return;
    RunRisk risk = risk_;
    risk.interval = interval;
    out.intervals.push_back(point(risk, 1));
    const auto best = std::max_element(out.intervals.begin(), out.intervals.end(),
                                       [](const GoodputPoint& a, const GoodputPoint& b) { return a.mean < b.mean; });
    out.best_simulated = best->interval;
  }

  GoodputPoint at_rate(double factor) const {
    RunRisk risk = risk_;
    for (PerSecond* rate : {&risk.rates.interruptions, &risk.rates.spot, &risk.rates.slow, &risk.rates.flaps})
      *rate *= factor;
    if (!run_.checkpoint.interval) risk.interval = best_interval(hazard_of(risk), risk.checkpoint.shortest_interval);
    return point(risk, factor);
  }

  [[nodiscard]] GoodputPoint point(const RunRisk& risk, double factor) const {
    const GoodputTrials trials =
        simulate_runs(risk, static_cast<std::uint64_t>(run_.seed), run_.reliability.trials, workers_);
    const RunShares mean = trials.mean();
    return {risk.interval,     factor, mean.useful, trials.quantile(0.05), trials.quantile(0.95), formula_goodput(risk),
            mean.interruptions};
  }

  const RunSpec& run_;
  RunRisk risk_;
  int workers_;
};

std::string row(const std::string& first, const GoodputPoint& point) {
  return fmt::format("  {}{}{}{}{}{}\n", pad_right(first, 14), pad_left(percent(point.mean), 12),
                     pad_left(percent(point.p05), 10), pad_left(percent(point.p95), 10),
                     pad_left(percent(point.formula), 14), pad_left(humane_count(point.interruptions), 16));
}

std::string columns(const char* first) {
  return fmt::format("  {}{}{}{}{}{}\n", pad_right(first, 14), pad_left("goodput", 12), pad_left("p05", 10),
                     pad_left("p95", 10), pad_left("Daly", 14), pad_left("interruptions", 16));
}

Json seconds_or_null(const std::optional<Seconds>& time) {
  return time && is_finite(*time) ? Json(time->value()) : Json(nullptr);
}

Json point_json(const GoodputPoint& point) {
  return {{"interval_s", seconds_or_null(point.interval)},
          {"rate_factor", point.rate_factor},
          {"mean", point.mean},
          {"p05", point.p05},
          {"p95", point.p95},
          {"formula", point.formula},
          {"interruptions", point.interruptions}};
}

}  // namespace

GoodputStudy study_goodput(const RunRisk& risk, const RunSpec& run, int workers) {
  return Study(risk, run, workers).make();
}

std::string text_report(const GoodputStudy& study) {
  std::string out =
      opening("Goodput", fmt::format("{} of training, {} trials", humane(study.work), study.trials)) + rule();
  out += wrapped(study.basis, "  Failures      ", "                ");
  if (study.between_interruptions)
    out += fmt::format("  Interrupted   every {}\n", humane(*study.between_interruptions));
  const std::string checkpoint =
      study.checkpoint.kind == CheckpointKind::none
          ? std::string("none: every interruption starts the run anew")
          : fmt::format("{}, stalls {}, safe after {}, read back in {}", study.checkpoint.basis,
                        humane(study.checkpoint.stall), humane(study.checkpoint.write), humane(study.checkpoint.read));
  out += wrapped(checkpoint, "  Checkpoint    ", "                ");
  if (study.best_simulated) {
    out +=
        fmt::format("  Best interval {} simulated, {} by formula (Young {}, Daly {})\n", humane(*study.best_simulated),
                    humane(*study.best_by_formula), humane(*study.young), humane(*study.daly));
    out += heading("By interval between checkpoints") + columns("interval");
    for (const GoodputPoint& point : study.intervals) out += row(humane(point.interval), point);
  }
  out += heading("By rate of failures, times the scenario's") + columns("factor");
  for (const GoodputPoint& point : study.rates) out += row(fmt::format("× {:.3g}", point.rate_factor), point);
  return out;
}

Json to_json(const GoodputStudy& study) {
  Json intervals = Json::array(), rates = Json::array();
  for (const GoodputPoint& point : study.intervals) intervals.push_back(point_json(point));
  for (const GoodputPoint& point : study.rates) rates.push_back(point_json(point));
  return {{"work_s", study.work.value()},
          {"trials", study.trials},
          {"basis", study.basis},
          {"between_interruptions_s", seconds_or_null(study.between_interruptions)},
          {"checkpoint",
           {{"size_GB", study.checkpoint.size.in(1_GB)},
            {"stall_s", study.checkpoint.stall.value()},
            {"write_s", study.checkpoint.write.value()},
            {"read_s", study.checkpoint.read.value()},
            {"basis", study.checkpoint.basis}}},
          {"young_s", seconds_or_null(study.young)},
          {"daly_s", seconds_or_null(study.daly)},
          {"best_by_formula_s", seconds_or_null(study.best_by_formula)},
          {"best_simulated_s", seconds_or_null(study.best_simulated)},
          {"by_interval", std::move(intervals)},
          {"by_rate", std::move(rates)}};
}

}  // namespace stepcast
