#include "calibration/validation/report/validation_scores.hpp"

#include <fmt/format.h>

#include "report/humane.hpp"

namespace stepcast {

std::vector<NamedFigures> figures_of_sets(const ValidationScores& scores) {
  std::vector<NamedFigures> out;
  for (const SetScore& set : scores.runs) out.push_back({set.name, static_cast<const AccuracyFigures&>(set)});
  for (const OperatorSetScore& set : scores.operators) out.push_back({set.name, set.errors});
  for (const CollectiveScore& set : scores.collectives) out.push_back({set.name, accuracy_of(set)});
  return out;
}

std::string row_title(const MeasuredRun& run) {
  if (run.id.find("line ") != 0 || run.model.empty()) return run.id;
  return fmt::format("{}: {}, {} {}", run.line, run.model, run.gpus, run.accelerator);
}

std::string metric_text(double value, Metric metric) {
  switch (metric) {
    case Metric::step_time:
      return humane(Seconds(value));
    case Metric::tokens_per_s_per_gpu:
      return humane_count(value) + " tok/s";
    case Metric::samples_per_s:
      return humane_count(value) + " samples/s";
    case Metric::minutes_to_target:
      break;
  }
  return humane(value * 60_s);
}

}  // namespace stepcast
