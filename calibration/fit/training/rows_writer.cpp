#include "calibration/fit/training/rows_writer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

namespace stepcast {

namespace {

/// Sum of a dimension's collectives, of all kinds.
StepBreakdown::Communication of_dimension(const StepBreakdown& step, Dimension dimension) {
  StepBreakdown::Communication out;
  for (const auto& kind : step.communication) {
    out.total += kind[static_cast<std::size_t>(dimension)].total;
    out.exposed += kind[static_cast<std::size_t>(dimension)].exposed;
  }
  return out;
}

std::string shape_of(const TrainingPoint& point) {
  const Scenario& scenario = *point.scenario;
  if (!scenario.model->transformer) return ",,,,";
  const TransformerShape& shape = *scenario.model->transformer;
  return fmt::format("{},{},{},{},{}", shape.layers, shape.hidden, shape.heads, shape.vocab, shape.experts);
}

std::string mapping_of(const TrainingPoint& point) {
  const Scenario& scenario = *point.scenario;
  const Degrees& degrees = scenario.degrees;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{}", scenario.seq_len, degrees.tp, degrees.cp, degrees.ep,
                     degrees.dp, degrees.pp, degrees.vpp, degrees.micro_batch, degrees.micro_batches,
                     name_of(scenario.spec.strategy.recompute), name_of(scenario.sharding));
}

double ms(Seconds time) { return 1e3 * time.value(); }

}  // namespace

void write_rows(const std::string& file, std::vector<TrainingPoint>& points,
                const std::vector<TrainingConstant>& constants, const std::vector<double>& values,
                const std::vector<double>& left_out) {
  std::ofstream out(file);
  out << "set,line,framework,accelerator,family,precision,devices,layers,hidden,heads,vocab,experts,seq_len,tp,cp,ep,"
         "dp,"
         "pp,vpp,micro_batch,micro_batches,recompute,sharding,measured_ms,predicted_ms,log_ratio,left_out_log_ratio,"
         "matrix_ms,memory_ms,"
         "host_ms,optimizer_ms,overhead_ms,bubble_ms,wait_ms";
  for (const std::string_view dimension : EnumNames<Dimension>::names)
    out << fmt::format(",{0}_total_ms,{0}_exposed_ms", dimension);
  out << '\n';
  for (std::size_t i = 0; i < points.size(); ++i) {
    TrainingPoint& point = points[i];
    const StepBreakdown step = point.predict(constants, values);
    out << fmt::format(
        "{},{},{},{},{},{},{},{},{},{:.4f},{:.4f},{:.5f},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}",
        point.set, point.run.line, point.framework->id, point.accelerator, point.family,
        name_of(point.scenario->precision), point.scenario->devices(), shape_of(point), mapping_of(point),
        ms(point.measured()), ms(step.step_time), std::log(step.step_time / point.measured()),
        left_out.empty() ? "" : fmt::format("{:.5f}", left_out[i]), ms(step.matrix_time), ms(step.memory_time),
        ms(step.host), ms(step.optimizer), ms(step.overhead), ms(step.bubble), ms(step.synchronization_wait));
    for (std::size_t d = 0; d < kDimensions; ++d) {
      const StepBreakdown::Communication sum = of_dimension(step, static_cast<Dimension>(d));
      out << fmt::format(",{:.4f},{:.4f}", ms(sum.total), ms(sum.exposed));
    }
    out << '\n';
  }
}

}  // namespace stepcast
