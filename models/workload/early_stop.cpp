#include "models/workload/early_stop.hpp"

#include <algorithm>

#include "models/workload/products.hpp"

namespace stepcast {

std::vector<LayerStep> steps_before_last_product(const std::vector<LayerStep>& all) {
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const LayerStep& step) {
    return step.communication == LayerCommunication::none && is_product(step.op);
  });
  if (last == all.rend()) return all;
  return {all.begin(), std::prev(last.base())};
}

std::vector<LayerStep> steps_repeated_with_early_stop(const LayerWork& work) {
  const bool experts = work.expert_parameters > 0 || work.frozen_expert_parameters > 0;
  return experts ? work.forward : steps_before_last_product(work.forward);
}

}  // namespace stepcast
