#include "calibration/validation/data_sets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fields/data_directory.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

const std::vector<std::string>& run_set_names() {
  static const std::vector<std::string> kNames{"megatron-a100-single-node",
                                               "megatron-a100-multi-node",
                                               "megatron-published",
                                               "fsdp-runs",
                                               "b200-single-node",
                                               "llm-runs-published",
                                               "never-fit-runs",
                                               "own-runs",
                                               "mlperf-training",
                                               "dl-runs-published",
                                               "own-workloads",
                                               "bridge-cards",
                                               "public-runs"};
  return kNames;
}

const std::vector<std::string>& operator_set_names() {
  static const std::vector<std::string> kNames{"operators-gemm", "operators-attention", "operators-memory",
                                               "operators-conv", "operators-power"};
  return kNames;
}

const std::vector<std::string>& collective_set_names() {
  static const std::vector<std::string> kNames{"collectives-nvlink", "collectives-singlenode", "collectives-multinode",
                                               "collectives-cpu"};
  return kNames;
}

std::filesystem::path run_set_file(const std::string& name) {
  std::vector<std::string> names = run_set_names();
  names.insert(names.end(), operator_set_names().begin(), operator_set_names().end());
  names.insert(names.end(), collective_set_names().begin(), collective_set_names().end());
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string nearest = did_you_mean(name, names);
    throw InputError({{"--set", "", fmt::format("there is no set \"{}\"", name),
                       nearest.empty() ? expected_one_of(names) : nearest}});
  }
  return data_directory("calibration/data") / (name + ".csv");
}

}  // namespace stepcast
