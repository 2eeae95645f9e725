#include "models/workload/early_stop.hpp"

#include <algorithm>

#include "models/workload/products.hpp"

namespace stepcast {

namespace {

using StepIterator = std::vector<LayerStep>::const_iterator;

/// The last product, or the end.
StepIterator last_product(const std::vector<LayerStep>& all) {
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const LayerStep& step) {
    return step.communication == LayerCommunication::none && is_product(step.op);
  });
  return last == all.rend() ? all.end() : std::prev(last.base());
}

}  // namespace

std::vector<LayerStep> steps_before_last_product(const std::vector<LayerStep>& all) {
  return {all.begin(), last_product(all)};
}

std::vector<LayerStep> steps_repeated_with_early_stop(const LayerWork& work) {
  const bool experts = work.expert_parameters > 0 || work.frozen_expert_parameters > 0;
  if (experts) return work.forward;
  const auto last = last_product(work.forward);
  // A norm behind the last product reads what that gives, and so does its backward pass.
  const bool normed =
      std::any_of(last, work.forward.end(), [](const LayerStep& step) { return step.op.name == "norm"; });
  return {work.forward.begin(), normed ? std::next(last) : last};
}

}  // namespace stepcast
