#include "sweeps/row.hpp"

#include <limits>

#include "report/scaling.hpp"

namespace stepcast {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double exposed_of_dimension(const Prediction& p, int dimension) {
  const auto& shares = p.communication.by_dimension;
  const auto found = shares.find(EnumNames<Dimension>::names[static_cast<std::size_t>(dimension)]);
  return found == shares.end() ? 0 : found->second.exposed.value();
}

const MemoryFootprint& worst_stage(const Prediction& p) {
  return p.memory.stages.at(static_cast<std::size_t>(p.memory.worst_stage));
}

using P = const Prediction&;

std::vector<FigureColumn> make_columns() {
  constexpr auto whole = FigureKind::whole;
  std::vector<FigureColumn> out{
      {"step_time_s", {}, [](P p, int) { return p.step_time.value(); }},
      {"evidence.step_time_low_s", {}, [](P p, int) { return p.step_time_low().value(); }},
      {"evidence.step_time_high_s", {}, [](P p, int) { return p.step_time_high().value(); }},
      {"samples_per_s", {}, [](P p, int) { return p.samples_per_s; }},
      {"tokens_per_s", {}, [](P p, int) { return p.tokens_per_s > 0 ? p.tokens_per_s : kUnknown; }},
      {"tokens_per_s_per_gpu", {}, [](P p, int) { return p.tokens_per_s > 0 ? p.tokens_per_s_per_gpu : kUnknown; }},
      {"model_tflops_per_gpu", {}, [](P p, int) { return p.model_tflops_per_gpu; }},
      {"mfu", {}, [](P p, int) { return p.mfu; }},
      {"hfu", {}, [](P p, int) { return p.hfu; }},
      {"compute_s", {}, [](P p, int) { return p.compute.value(); }},
      {"communication.total_s", {}, [](P p, int) { return p.communication.total.value(); }},
      {"communication.exposed_s", {}, [](P p, int) { return p.communication.exposed.value(); }}};
  const std::vector<std::string> dimensions = names_of<Dimension>();
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    out.push_back({"communication.by_dimension." + dimensions[i] + ".exposed_s", FigureKind::number,
                   exposed_of_dimension, static_cast<int>(i)});
  const std::vector<FigureColumn> rest{
      {"bubble_s", {}, [](P p, int) { return p.bubble.value(); }},
      {"synchronization_wait_s", {}, [](P p, int) { return p.synchronization_wait.value(); }},
      {"optimizer_s", {}, [](P p, int) { return p.optimizer.value(); }},
      {"overhead_s", {}, [](P p, int) { return p.overhead.value(); }},
      {"host_s", {}, [](P p, int) { return p.host.value(); }},
      {"gpu_utilization", {}, [](P p, int) { return p.gpu_utilization; }},
      {"memory.fits", FigureKind::truth, [](P p, int) { return p.memory.fits ? 1.0 : 0.0; }},
      {"memory.peak_GiB", {}, [](P p, int) { return worst_stage(p).total().in(1_GiB); }},
      {"memory.capacity_GiB", {}, [](P p, int) { return p.memory.capacity.in(1_GiB); }},
      {"power.average_W", {}, [](P p, int) { return p.average_power.value(); }},
      {"power.peak_W", {}, [](P p, int) { return p.peak_power.value(); }},
      {"energy.per_step_J", {}, [](P p, int) { return p.energy_per_step.value(); }},
      {"energy.per_sample_J", {}, [](P p, int) { return p.energy_per_sample.value(); }},
      {"cost.per_hour_usd", {}, [](P p, int) { return p.cost_rate ? p.cost_rate->in(1_usd / 1_h) : kUnknown; }},
      {"cost.run_usd", {}, [](P p, int) { return p.run_cost ? p.run_cost->value() : kUnknown; }},
      {"time_to_train_s", {}, [](P p, int) { return p.time_to_train ? p.time_to_train->value() : kUnknown; }},
      {"nodes", whole, [](P p, int) { return static_cast<double>(p.nodes); }},
      {"devices", whole, [](P p, int) { return static_cast<double>(p.devices); }},
      {"parallelism.tensor", whole, [](P p, int) { return static_cast<double>(p.degrees.tp); }},
      {"parallelism.pipeline", whole, [](P p, int) { return static_cast<double>(p.degrees.pp); }},
      {"parallelism.virtual_pipeline", whole, [](P p, int) { return static_cast<double>(p.degrees.vpp); }},
      {"parallelism.context", whole, [](P p, int) { return static_cast<double>(p.degrees.cp); }},
      {"parallelism.expert", whole, [](P p, int) { return static_cast<double>(p.degrees.ep); }},
      {"parallelism.data", whole, [](P p, int) { return static_cast<double>(p.degrees.dp); }},
      {"parallelism.micro_batch", whole, [](P p, int) { return static_cast<double>(p.degrees.micro_batch); }},
      {"parallelism.micro_batches", whole, [](P p, int) { return static_cast<double>(p.degrees.micro_batches); }},
      {"largest_loss_share", {}, [](P p, int) { return largest_loss(p).second; }}};
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

}  // namespace

const std::vector<FigureColumn>& figure_columns() {
  static const std::vector<FigureColumn> columns = make_columns();
  return columns;
}

SweepRow row_of(std::int64_t point, const Prediction& prediction) {
  SweepRow out;
  out.point = point;
  out.figures.reserve(figure_columns().size());
  for (const FigureColumn& column : figure_columns()) out.figures.push_back(column.read(prediction, column.index));
  out.words = {std::string(name_of(prediction.expected_error.grade)), largest_loss(prediction).first};
  return out;
}

SweepRow invalid_row(std::int64_t point, const std::vector<Fault>& faults) {
  SweepRow out;
  out.point = point;
  out.status = PointStatus::invalid;
  for (const Fault& fault : faults) {
    if (!out.error.empty()) out.error += " | ";
    out.error += Fault{"", fault.pointer, fault.message, fault.suggestion}.text();
  }
  return out;
}

SweepRow failed_row(std::int64_t point, std::string error) {
  SweepRow out;
  out.point = point;
  out.status = PointStatus::failed;
  out.error = std::move(error);
  return out;
}

}  // namespace stepcast
