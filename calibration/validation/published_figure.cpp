#include <fmt/format.h>

#include "calibration/validation/machines.hpp"
#include "calibration/validation/published_row.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// TFLOP/s of a row that states them or a share of the peak; null otherwise, or where it counts what only the source
/// knows ("hardware": recomputation included).
std::optional<double> model_tflops(const PublishedRow& reading) {
  const std::string convention = reading.row.text("flop_convention");
  if (convention.find("hardware") == 0) return std::nullopt;
  if (const std::optional<double> rate = reading.row.number("tflops_per_gpu")) return rate;
  const std::optional<double> share = reading.row.number("mfu");
  if (!share) return std::nullopt;
  return *share * dense_peak_tflops(reading.row.text("accelerator_id"));
}

/// Whether causal attention counts half: by the row's words, else by the framework's counter.
bool causal_halved(const PublishedRow& reading) {
  const std::string convention = reading.row.text("flop_convention");
  if (convention.find("not halved") != std::string::npos) return false;
  if (convention.find("halved") != std::string::npos) return true;
  return reading.defaults->causal_halved;
}

double flops_per_token(const PublishedRow& reading, const Json& described) {
  Diagnostics diagnostics("model");
  Model model;
  Model::fields().read(model, described, "", diagnostics);
  const int seq_len = model.default_seq_len;
  return model_flops_per_sample(model, seq_len, {.causal_halved = causal_halved(reading)}).value() / seq_len;
}

}  // namespace

void read_published_figure(PublishedRow& reading, const Json& model) {
  MeasuredRun& out = reading.out;
  if (const std::optional<double> memory = reading.row.number("peak_memory_GiB")) out.measured_memory = *memory * 1_GiB;
  out.memory_count = reading.defaults->memory_count;
  if (const std::optional<double> rate = reading.row.number("tokens_per_s_per_gpu")) {
    out.metric = Metric::tokens_per_s_per_gpu;
    out.measured = *rate;
  } else if (const std::optional<double> time = reading.row.number("step_time_s")) {
    out.metric = Metric::step_time;
    out.measured = *time;
  } else if (const std::optional<double> tflops = model_tflops(reading); tflops && !model.is_null()) {
    out.metric = Metric::tokens_per_s_per_gpu;
    out.measured = *tflops * 1e12 / flops_per_token(reading, model);
  } else {
    reading.refuse("neither tokens per second nor a step time is stated");
  }
}

}  // namespace stepcast
