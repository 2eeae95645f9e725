#include "models/workload/steps.hpp"

namespace stepcast::workload {

void finish_mixer_half(LayerWork& work, const Cut& cut, const MixerHoldings& mixer) {
  leave_tensor_region(work.forward, cut);
  add_residual(work, cut);
  work.parameters += mixer.parameters;
  const bool frozen = !cut.sharding.keeps_inputs_of_all();
  const Bytes input = frozen ? Bytes(0) : cut.resident_tensor();
  const double kept = mixer.kept + (frozen ? 0 : mixer.last_input);
  work.activations += input + gathered_and_kept(cut) + Bytes(cut.tokens * kept * cut.element);
}

void finish_mixer_backward(LayerWork& work, const Cut& cut, const Linear& out, std::span<const Linear> others) {
  leave_tensor_region_backward(work.backward_input, cut);
  add_norm_backward(work, cut);
  work.backward_weight.push_back(weight_gradient(out, cut.tokens, cut.sharding));
  collect_beside_weights(work.backward_weight, cut);
  for (const Linear& linear : others) work.backward_weight.push_back(weight_gradient(linear, cut.tokens, cut.sharding));
}

}  // namespace stepcast::workload
