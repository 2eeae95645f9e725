#include "calibration/validation/data_sets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fields/data_directory.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

const std::vector<std::string>& run_set_names() {
  static const std::vector<std::string> kNames{"megatron-a100-single-node", "megatron-a100-multi-node",
                                               "megatron-published",        "fsdp-runs",
                                               "b200-single-node",          "llm-runs-published"};
  return kNames;
}

std::filesystem::path run_set_file(const std::string& name) {
  const std::vector<std::string>& names = run_set_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string nearest = did_you_mean(name, names);
    throw InputError({{"--set", "", fmt::format("there is no set \"{}\"", name),
                       nearest.empty() ? expected_one_of(names) : nearest}});
  }
  return data_directory("calibration/data") / (name + ".csv");
}

}  // namespace stepcast
