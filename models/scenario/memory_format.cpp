#include "models/scenario/memory_format.hpp"

#include <fmt/format.h>

#include "models/workload/workload_kind.hpp"

namespace stepcast {
namespace {

bool times_both(const Scenario& scenario) {
  return scenario.accelerator != nullptr && scenario.accelerator->vendor == "NVIDIA";
}

}  // namespace

MemoryFormat memory_format(const Scenario& scenario) {
  const StrategySpec& strategy = scenario.spec.strategy;
  if (scenario.model && !reads_images(*scenario.model)) return MemoryFormat::channels_first;
  if (strategy.torch_compile) return MemoryFormat::channels_last;
  const bool wide = scenario.precision == Precision::fp32 || scenario.precision == Precision::tf32;
  return strategy.memory_format.value_or(wide ? MemoryFormat::channels_first : MemoryFormat::channels_last);
}

bool has_memory_format(const Model& model) { return has_convolutions(model) && reads_images(model); }

bool has_timed_channels_first(const Scenario& scenario) {
  return times_both(scenario) && memory_format(scenario) == MemoryFormat::channels_first;
}

std::string assumed_memory_format(const Scenario& scenario) {
  const std::optional<MemoryFormat> stated = scenario.spec.strategy.memory_format;
  if (scenario.spec.strategy.torch_compile || !scenario.model || !has_memory_format(*scenario.model)) return "";
  if (!stated && !times_both(scenario)) return "";
  if (!stated)
    return fmt::format("images {}, as most runs in {} (strategy.memory_format)", name_of(memory_format(scenario)),
                       name_of(scenario.precision));
  if (!times_both(scenario))
    return "either order of images' elements takes as long: kernels were timed in both on NVIDIA's GPUs alone";
  if (stated == MemoryFormat::channels_last && scenario.precision == Precision::fp32)
    return "convolutions in fp32 take as long in either order of images: they were timed channels first alone";
  return "";
}

}  // namespace stepcast
