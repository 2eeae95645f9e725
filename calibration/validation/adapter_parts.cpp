#include "calibration/validation/adapter_parts.hpp"

#include <fmt/format.h>

namespace stepcast {

MeasuredRun refused(std::string reason) {
  MeasuredRun run;
  run.refusal = std::move(reason);
  return run;
}

Json scenario_of(const Json& cluster, const Json& workload, const Json& strategy) {
  return {{"cluster", cluster}, {"workload", workload}, {"strategy", strategy}, {"run", {{"fidelity", "analytic"}}}};
}

std::string group_of(const std::string& model, const std::string& accelerator, const Json& cluster,
                     const Json& workload) {
  return fmt::format("{} {} {} {} {}", model, accelerator, cluster.at("node").get<std::string>(),
                     cluster.at("nodes").dump(), workload.at("global_batch").dump());
}

void name_run(MeasuredRun& run, std::string_view framework, std::string accelerator, long gpus, std::string precision) {
  run.framework = framework;
  run.accelerator = std::move(accelerator);
  run.gpus = static_cast<int>(gpus);
  run.precision = std::move(precision);
}

}  // namespace stepcast
