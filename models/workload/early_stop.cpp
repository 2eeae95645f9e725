#include "models/workload/early_stop.hpp"

#include <algorithm>

#include "models/workload/products.hpp"

namespace stepcast {

std::vector<LayerStep> steps_repeated_with_early_stop(const LayerWork& work) {
  const std::vector<LayerStep>& all = work.forward;
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const LayerStep& step) {
    return step.communication == LayerCommunication::none && is_product(step.op);
  });
  if (last == all.rend() || work.expert_parameters > 0 || work.frozen_expert_parameters > 0) return all;
  return {all.begin(), std::prev(last.base())};
}

}  // namespace stepcast
