#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "models/parallelism/expert_dispatch.hpp"
#include "models/workload/operators.hpp"

namespace stepcast::layer_work_property_test {
namespace {

/// A decoder whose sizes every tensor-parallel degree up to 8 divides.
Model any_decoder() {
  Model model;
  TransformerShape shape;
  const int head = *rc::gen::element(64, 128, 192);
  shape.layers = *rc::gen::inRange(1, 9);
  shape.heads = 8 * *rc::gen::inRange(1, 13);
  shape.kv_heads = *rc::gen::element(8, shape.heads);
  shape.head_dim = head;
  shape.hidden = shape.heads * head;
  shape.ffn_hidden = 8 * *rc::gen::inRange(16, 4096);
  shape.vocab = 8 * *rc::gen::inRange(100, 20000);
  shape.gated_mlp = *rc::gen::arbitrary<bool>();
  shape.biases = *rc::gen::arbitrary<bool>();
  shape.dropout = *rc::gen::element(0.0, 0.1);
  shape.positions = *rc::gen::element(PositionKind::rotary, PositionKind::alibi);
  if (*rc::gen::arbitrary<bool>()) {
    shape.experts = 8 * *rc::gen::inRange(1, 9);
    shape.top_k = *rc::gen::inRange(1, 5);
    shape.moe_ffn_hidden = 8 * *rc::gen::inRange(8, 512);
    shape.shared_expert_ffn = *rc::gen::element(0, 1024);
  }
  model.default_seq_len = 1024;
  model.transformer = shape;
  return model;
}

LayerSharding any_sharding() {
  LayerSharding sharding;
  sharding.tp = *rc::gen::element(1, 2, 4, 8);
  sharding.cp = *rc::gen::element(1, 2, 4);
  sharding.ep = *rc::gen::element(1, 2, 4, 8);
  sharding.context_method = *rc::gen::element(ContextMethod::ring, ContextMethod::all_gather, ContextMethod::ulysses);
  sharding.sequence_parallel = sharding.tp > 1 && *rc::gen::arbitrary<bool>();
  sharding.etp = sharding.sequence_parallel ? *rc::gen::element(1, sharding.tp) : sharding.tp;
  sharding.fused_attention = *rc::gen::arbitrary<bool>();
  sharding.main_gradients_fp32 = *rc::gen::arbitrary<bool>();
  return sharding;
}

LayerRole any_role(const Model& model) {
  const LayerRole block = model.transformer->experts > 0 ? LayerRole::moe_block : LayerRole::dense_block;
  return *rc::gen::element(LayerRole::embedding, block, LayerRole::output);
}

double flops(const std::vector<LayerStep>& steps, bool attention = true) {
  double total = 0;
  for (const LayerStep& step : steps)
    if (attention || step.op.kind != OperatorKind::attention) total += step.op.flops.value();
  return total;
}

bool is_sound(const LayerStep& step) {
  const double fields[] = {
      step.op.flops.value(), step.op.bytes.value(), step.payload.value(), step.op.m, step.op.n, step.op.k,
      step.op.batch};
  for (const double field : fields)
    if (!std::isfinite(field) || field < 0) return false;
  return (step.communication != LayerCommunication::none) == (step.payload.value() > 0);
}

RC_GTEST_PROP(LayerWork, EveryFigureIsFiniteAndNotNegative, ()) {
  const Model model = any_decoder();
  const LayerSharding sharding = any_sharding();
  const LayerWork work = layer_work(model, any_role(model), 0, *rc::gen::inRange(1, 9), 1024, sharding);
  for (const auto* steps : {&work.forward, &work.backward_input, &work.backward_weight, &work.recompute_attention_core,
                            &work.recompute_attention, &work.recompute_mlp, &work.recompute_norm, &work.recompute_moe})
    for (const LayerStep& step : *steps) RC_ASSERT(is_sound(step));
  RC_ASSERT(work.activations_selective.value() >= 0);
  RC_ASSERT(work.activations >= work.activations_selective);
  RC_ASSERT(work.parameters >= 0 && work.expert_parameters >= 0);
}

// What recomputing every module frees is never more than what is kept.
RC_GTEST_PROP(LayerWork, ModulesFreeNoMoreThanIsKept, ()) {
  const Model model = any_decoder();
  const LayerRole role = model.transformer->experts > 0 ? LayerRole::moe_block : LayerRole::dense_block;
  const LayerWork work = layer_work(model, role, 0, 1, 1024, any_sharding());
  RC_ASSERT(work.freed_attention >= work.freed_attention_core);
  const Bytes freed = work.freed_attention + work.freed_mlp + work.freed_norm + work.freed_moe;
  RC_ASSERT((work.activations - freed).value() >= 0.999 * work.activation_input.value());
}

// Every product has two gradients of its own size: dx = dy·wᵀ, dw = xᵀ·dy. Attention keeps its own ratio.
RC_GTEST_PROP(LayerWork, BackwardProductsAreTwiceTheForward, ()) {
  const Model model = any_decoder();
  const LayerWork work = layer_work(model, any_role(model), 0, 2, 1024, any_sharding());
  const double forward = flops(work.forward, false);
  RC_ASSERT(std::abs(flops(work.backward_input, false) - forward) <= 1e-9 * forward);
  RC_ASSERT(std::abs(flops(work.backward_weight, false) - forward) <= 1e-9 * forward);
}

// Tensor-parallel ranks share a layer's FLOPs without repeating any; only a router without sequence parallelism is
// computed by every rank.
RC_GTEST_PROP(LayerWork, TensorParallelRanksShareTheFlops, ()) {
  const Model model = any_decoder();
  LayerSharding cut = any_sharding();
  LayerSharding whole = cut;
  whole.tp = whole.etp = 1;
  whole.sequence_parallel = false;
  const LayerRole role = any_role(model);
  const double alone = flops(layer_work(model, role, 0, 2, 1024, whole).forward);
  double together = cut.tp * flops(layer_work(model, role, 0, 2, 1024, cut).forward);
  if (role == LayerRole::moe_block && !cut.sequence_parallel)
    together -= (cut.tp - 1) * 2.0 * 2 * (1024.0 / cut.cp) * model.transformer->hidden * model.transformer->experts;
  RC_ASSERT(std::abs(together - alone) <= 1e-9 * alone);
}

// Norms, row-parallel biases and routers are on every tensor-parallel rank; everything else adds up to the whole.
RC_GTEST_PROP(LayerWork, TensorParallelParametersAddUp, ()) {
  Model model = any_decoder();
  model.transformer->biases = false;
  const TransformerShape& shape = *model.transformer;
  LayerSharding cut = any_sharding();
  LayerSharding whole = cut;
  whole.tp = whole.etp = 1;
  whole.sequence_parallel = false;
  const LayerRole role = shape.experts > 0 ? LayerRole::moe_block : LayerRole::dense_block;
  const LayerWork alone = layer_work(model, role, 0, 1, 1024, whole), part = layer_work(model, role, 0, 1, 1024, cut);
  const double held_by_all = 2.0 * shape.hidden + static_cast<double>(shape.experts) * shape.hidden;
  RC_ASSERT(std::abs(cut.tp * (part.parameters - held_by_all) - (alone.parameters - held_by_all)) <=
            1e-9 * alone.parameters);
  RC_ASSERT(std::abs(cut.etp * part.expert_parameters - alone.expert_parameters) <= 1e-9 * alone.parameters);
}

// Context-parallel ranks share fused causal attention evenly under every method (balanced order of chunks).
RC_GTEST_PROP(LayerWork, ContextParallelRanksShareTheFlops, ()) {
  const Model model = any_decoder();
  LayerSharding cut = any_sharding();
  LayerSharding whole = cut;
  whole.cp = 1;
  const LayerRole role = any_role(model);
  const double alone = flops(layer_work(model, role, 0, 2, 1024, whole).forward);
  RC_ASSERT(std::abs(cut.cp * flops(layer_work(model, role, 0, 2, 1024, cut).forward) - alone) <= 1e-9 * alone);
}

// Forward FLOPs of all layers are a third of the model's, with the mask as the kernel executes it.
RC_GTEST_PROP(LayerWork, LayersAddUpToTheModel, ()) {
  const Model model = any_decoder();
  const LayerRole role = model.transformer->experts > 0 ? LayerRole::moe_block : LayerRole::dense_block;
  LayerSharding sharding;
  sharding.fused_attention = *rc::gen::arbitrary<bool>();
  const double layers = model.transformer->layers * flops(layer_work(model, role, 0, 1, 1024, sharding).forward) +
                        flops(layer_work(model, LayerRole::output, 0, 1, 1024, sharding).forward);
  const double counted = model_flops_per_sample(model, 1024, {sharding.fused_attention, true}).value() / 3;
  RC_ASSERT(std::abs(layers - counted) <= 1e-9 * counted);
}

// A place is reached once or not at all: no more often than there are places, experts of a token, or ranks on it.
RC_GTEST_PROP(Experts, PlacesAreReachedAtMostOnce, ()) {
  TransformerShape shape;
  GroupShape group;
  const int nodes = *rc::gen::inRange(1, 33);
  group.per_node = *rc::gen::element(1, 2, 4, 8);
  group.size = nodes * group.per_node;
  shape.expert_groups = *rc::gen::element(1, 1, 2, 4, 8);
  shape.groups_per_token = *rc::gen::inRange(1, shape.expert_groups + 1);
  shape.experts = std::lcm(group.size, shape.expert_groups) * *rc::gen::inRange(1, 5);
  const int most = shape.experts / shape.expert_groups * shape.groups_per_token;
  shape.top_k = *rc::gen::inRange(1, std::min(most, 16) + 1);
  const TokenCopies copies = token_copies(shape, group);
  const double rounding = 1 + 1e-12;
  RC_ASSERT(copies.nodes >= 1 / rounding);
  RC_ASSERT(copies.nodes <= nodes * rounding);
  RC_ASSERT(copies.nodes <= copies.ranks * rounding);
  RC_ASSERT(copies.ranks <= std::min(shape.top_k, group.size) * rounding);
  // So no more leaves a node, and in one node no more is sent, than with a copy for each expert.
  Interconnect net;
  net.native = 100_GBps;
  net.nic = net.rank_network = 10_GBps;
  net.node_network = 80_GBps;
  net.nics = 8;
  const Bytes token(1e6);
  const CollectiveCost whole = collective_cost(CollectiveKind::all_to_all, token * shape.top_k, group, net);
  const CollectiveCost once = forwarded_cost(token * copies.nodes, token * copies.ranks, group, net);
  RC_ASSERT(once.network_bytes <= whole.network_bytes * rounding);
  if (nodes == 1) RC_ASSERT(once.native_bytes <= whole.native_bytes * rounding);
}

}  // namespace
}  // namespace stepcast::layer_work_property_test
