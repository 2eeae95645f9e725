#include "checks/measured/measured_step.hpp"

#include <fmt/format.h>

#include "calibration/validation/statistics.hpp"

namespace stepcast {

namespace {

std::optional<double> steady_median(const MeasuredResults& run, const std::string& metric) {
  const auto found = run.samples.find(metric);
  if (found == run.samples.end()) return std::nullopt;
  std::vector<double> steady;
  for (const std::vector<double>& part : found->second) {
    const std::vector<double> half = after_warmup(part, part.size() / 2);
    steady.insert(steady.end(), half.begin(), half.end());
  }
  return quantile(steady, 0.5);
}

/// The last sample, which in the Trainer's logs is of the whole run.
std::optional<double> last_of(const SampleParts& parts) {
  return parts.empty() || parts.back().empty() ? std::nullopt : std::optional(parts.back().back());
}

}  // namespace

void require_batch(const MeasuredResults& run, long global_batch, const std::string& file,
                   const std::string& scenario) {
  if (run.global_batches.empty() || run.global_batches == std::set<long>{global_batch}) return;
  const bool one = run.global_batches.size() == 1;
  throw InputError({{file, "",
                     fmt::format("its steps have a global batch of {}, and that of {} is {}",
                                 fmt::join(run.global_batches, ", "), scenario, global_batch),
                     one ? fmt::format("--set workload.global_batch={}, or the log of steps of {}",
                                       *run.global_batches.begin(), global_batch)
                         : fmt::format("keep the lines of one batch, that of {}", scenario)}});
}

void count_devices(MeasuredResults& run, int devices) {
  if (run.samples_per_s_per_device.empty() || run.samples.contains("samples_per_s")) return;
  SampleParts all = std::move(run.samples_per_s_per_device);
  run.samples_per_s_per_device.clear();
  for (std::vector<double>& part : all)
    for (double& rate : part) rate *= devices;
  run.samples["samples_per_s"] = std::move(all);
  run.notes.push_back(fmt::format("samples_per_s: those of each device × {} devices", devices));
}

void settle_tokens(MeasuredResults& run, double tokens_of_sample, int devices, const std::string& file) {
  if (run.trainers_tokens_per_s.empty()) return;
  const SampleParts tokens = std::move(run.trainers_tokens_per_s);
  run.trainers_tokens_per_s.clear();
  const auto rates = run.samples.find("samples_per_s");
  const auto samples = rates == run.samples.end() ? std::nullopt : last_of(rates->second);
  // Rates have three digits behind the point, and last batches may be smaller.
  constexpr double kRounding = 1.02;
  const bool of_device =
      samples && !run.counts_all_tokens && *last_of(tokens) * devices <= *samples * tokens_of_sample * kRounding;
  if (samples || run.counts_all_tokens) {
    run.samples[of_device ? "tokens_per_s_per_gpu" : "tokens_per_s"] = tokens;
    run.notes.push_back(fmt::format("\"{}\" is taken to be of {}", kTrainersTokens,
                                    of_device ? "each device, which leaves as many for the others" : "all devices"));
    return;
  }
  const std::string two = fmt::format("\"{}\" may be of one device or of all", kTrainersTokens);
  const std::string way =
      fmt::format("--series tokens_per_s_per_gpu={0} or --series tokens_per_s={0} says which", kTrainersTokens);
  if (run.samples.empty()) throw InputError({{file, "", two, way}});
  run.notes.push_back(fmt::format("{} and does not count: {}", two, way));
}

std::optional<Seconds> measured_step(const MeasuredResults& run, const Scenario& scenario) {
  if (const auto time = steady_median(run, "step_time_s")) return Seconds(*time);
  const auto samples = static_cast<double>(scenario.spec.workload.global_batch);
  const double tokens = samples * scenario.seq_len;
  if (const auto rate = steady_median(run, "samples_per_s")) return Seconds(samples / *rate);
  if (const auto rate = steady_median(run, "tokens_per_s")) return Seconds(tokens / *rate);
  if (const auto rate = steady_median(run, "tokens_per_s_per_gpu")) return Seconds(tokens / *rate / scenario.devices());
  return std::nullopt;
}

}  // namespace stepcast
