#include "models/workload/backward_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/workload/early_stop.hpp"
#include "models/workload/operator_recompute.hpp"
#include "models/workload/products.hpp"

namespace stepcast::backward_memory_test {
namespace {

const Model& preset(const char* id) {
  Diagnostics diagnostics("test");
  static std::vector<std::shared_ptr<const Model>> kept;
  kept.push_back(find_model(id, "", diagnostics));
  return *kept.back();
}

LayerWork block(const char* id, const LayerSharding& sharding, LayerRole role = LayerRole::dense_block) {
  return layer_work(preset(id), role, 0, 1, 4096, sharding);
}

// Llama 3 70B: QKV 8192 × (8192 + 2·1024), projection, gate and up in one, down.
TEST(WeightShapes, OfADenseBlock) {
  const std::vector<WeightShape> shapes = weight_shapes(block("llama3-70b", {}));
  ASSERT_EQ(shapes.size(), 4U);
  double elements = 0;
  for (const WeightShape& shape : shapes) elements += shape.in * shape.out;
  EXPECT_DOUBLE_EQ(elements, 8192.0 * (10240 + 8192 + 3 * 28672));
}

TEST(WeightShapes, OfExpertsCountOne) {
  const std::vector<WeightShape> shapes = weight_shapes(block("mixtral-8x7b", {}, LayerRole::moe_block));
  double elements = 0;
  for (const WeightShape& shape : shapes) elements += shape.in * shape.out;
  // QKV 4096 × 6144, projection, router 4096 × 8, one expert of 3 × 4096 × 14336.
  EXPECT_DOUBLE_EQ(elements, 4096.0 * (6144 + 4096 + 8 + 3 * 14336));
}

// The widest product: 4096 tokens, gradients of gate and up (2·28672) and of the block's input (8192), 2 bytes.
TEST(GradientsAtOnce, AreThoseAroundTheWidestProduct) {
  EXPECT_DOUBLE_EQ(gradients_at_once(block("llama3-70b", {}), {}).value(), 4096.0 * (2 * 28672 + 8192) * 2);
}

TEST(GradientsAtOnce, OfTheOutputLayerAreTheLogits) {
  const LayerWork work = block("llama3-70b", {}, LayerRole::output);
  EXPECT_DOUBLE_EQ(gradients_at_once(work, {}).value(), 4096.0 * (128256 + 8192) * 2);
}

// Eight ranks: the product's width is cut, its input's gradient is whole, the input is gathered again (whole), and the
// scattered result is an eighth.
TEST(GradientsAtOnce, SequenceParallelismGathersAndScatters) {
  LayerSharding sharding;
  sharding.tp = 8;
  sharding.sequence_parallel = true;
  const double elements = 2 * 28672 / 8.0 + 8192 + 8192 + 8192 / 8.0;
  EXPECT_DOUBLE_EQ(gradients_at_once(block("llama3-70b", sharding), sharding).value(), 4096 * elements * 2);
}

// Stored scores: their gradient before and after the softmax, heads·s² each.
TEST(GradientsAtOnce, UnfusedAttentionHasGradientsOfScores) {
  LayerSharding sharding;
  sharding.fused_attention = false;
  EXPECT_DOUBLE_EQ(gradients_at_once(block("llama3-70b", sharding), sharding).value(), 2 * 64.0 * 4096 * 4096 * 2);
}

// Llama 3 8B: input, half of the products' outputs (QKV 6144, projection 4096, gates 2·14336, down 4096), attention.
// Two norms a block, each an fp32 copy of its input and the 16-bit result instead of the 16-bit input.
TEST(Kept, SeparateKernelsOfANorm) {
  LayerSharding separate;
  separate.fused_norm = false;
  const double fused = block("llama3-70b", {}).activations.value();
  const LayerWork work = block("llama3-70b", separate);
  EXPECT_DOUBLE_EQ(work.activations.value() - fused, 2 * 4096.0 * 8192 * (4 + 2 - 2));
  EXPECT_DOUBLE_EQ((work.freed_norm - block("llama3-70b", {}).freed_norm).value(), 2 * 4096.0 * 8192 * 4);
}

TEST(Kept, LayerNormsAreOneKernelEverywhere) {
  LayerSharding separate;
  separate.fused_norm = false;
  EXPECT_DOUBLE_EQ(block("gpt3-175b", separate).activations.value(), block("gpt3-175b", {}).activations.value());
}

// The inputs of attention and of the MLP: seven eighths more of each, and nothing to gather in the backward pass.
TEST(Kept, GatheredInputs) {
  LayerSharding again;
  again.tp = 8;
  again.sequence_parallel = true;
  LayerSharding kept = again;
  kept.keeps_gathered_inputs = true;
  const auto gathers = [](const LayerWork& work) {
    return std::count_if(work.backward_input.begin(), work.backward_input.end(),
                         [](const LayerStep& step) { return step.op.name == "tp_regather_input"; });
  };
  const LayerWork work = block("llama3-70b", kept);
  EXPECT_DOUBLE_EQ((work.activations - block("llama3-70b", again).activations).value(), 2 * 4096.0 * 8192 * 2 * 7 / 8);
  EXPECT_EQ(gathers(work), 0);
  EXPECT_EQ(gathers(block("llama3-70b", again)), 2);
}

// Under adapters nothing is kept for frozen products, so what they need is gathered as everywhere.
TEST(Kept, NoGatheredInputsUnderAdapters) {
  LayerSharding again;
  again.tp = 8;
  again.sequence_parallel = true;
  again.adapter_rank = 16;
  LayerSharding kept = again;
  kept.keeps_gathered_inputs = true;
  EXPECT_DOUBLE_EQ(block("llama3-70b", kept).activations.value(), block("llama3-70b", again).activations.value());
  EXPECT_EQ(block("llama3-70b", kept).backward_input.size(), block("llama3-70b", again).backward_input.size());
}

TEST(PerOperator, KeepsHalfOfTheProducts) {
  const LayerWork work = block("llama3-8b", {});
  const double elements = 4096 + (6144 + 4096 + 2 * 14336 + 4096) / 2.0 + 4096;
  EXPECT_DOUBLE_EQ(activations_kept_per_operator(work, {}).value(), 4096 * elements * 2);
}

// Qwen3 30B-A3B: of a token's 19.6 kB a layer, half of Q, K, V, of the projection and of the router; the products of
// its eight experts, 28.7 kB at half, are all made again.
TEST(PerOperator, KeepsNoProductsOfExperts) {
  const LayerWork work = layer_work(preset("qwen3-30b-a3b"), LayerRole::moe_block, 0, 1, 4096, {});
  const double elements = 2048 + (5120 + 2048 + 128) / 2.0 + 4096;
  EXPECT_DOUBLE_EQ(activations_kept_per_operator(work, {}).value(), 4096 * elements * 2);
  double all = 0, repeated = 0;
  for (const LayerStep& step : work.forward)
    if (step.op.kind == OperatorKind::grouped_gemm) all += step.op.flops.value();
  for (const LayerStep& step : steps_repeated_per_operator(work))
    if (step.op.kind == OperatorKind::grouped_gemm) repeated += step.op.flops.value();
  EXPECT_DOUBLE_EQ(repeated, all);
}

// What ranks have sent one another is kept instead of sent again: tokens to experts and back.
TEST(PerOperator, KeepsWhatIsReceived) {
  LayerSharding sharding;
  sharding.ep = 8;
  const Model model = preset("qwen3-30b-a3b");
  const LayerWork cut = layer_work(model, LayerRole::moe_block, 0, 1, 4096, sharding);
  const LayerWork whole = layer_work(model, LayerRole::moe_block, 0, 1, 4096, {});
  EXPECT_DOUBLE_EQ(activations_kept_per_operator(cut, sharding).value(),
                   activations_kept_per_operator(whole, {}).value() + 2 * 4096.0 * 8 * 2048 * 2);
  for (const LayerStep& step : steps_repeated_per_operator(cut))
    EXPECT_EQ(step.communication, LayerCommunication::none);
}

TEST(PerOperator, RepeatsTheOtherHalfAndNoAttention) {
  const LayerWork work = block("llama3-8b", {});
  double all = 0, repeated = 0;
  for (const LayerStep& step : work.forward)
    if (step.op.kind == OperatorKind::gemm) all += step.op.flops.value();
  for (const LayerStep& step : steps_repeated_per_operator(work)) {
    EXPECT_NE(step.op.kind, OperatorKind::attention);
    if (step.op.kind == OperatorKind::gemm) repeated += step.op.flops.value();
  }
  EXPECT_DOUBLE_EQ(repeated, all / 2);
}

double product_flops(const std::vector<LayerStep>& steps) {
  double flops = 0;
  for (const LayerStep& step : steps)
    if (step.communication == LayerCommunication::none && is_product(step.op)) flops += step.op.flops.value();
  return flops;
}

// Llama 3 8B: 4,096 tokens, the last product is 14,336 to 4,096; with tensor parallelism its scatter goes with it.
TEST(EarlyStop, LeavesOutTheLastProductAndItsScatter) {
  for (const int tp : {1, 4}) {
    LayerSharding sharding;
    sharding.tp = tp;
    sharding.sequence_parallel = tp > 1;
    const LayerWork work = block("llama3-8b", sharding);
    const auto repeated = steps_repeated_with_early_stop(work);
    EXPECT_DOUBLE_EQ(product_flops(work.forward) - product_flops(repeated), 2.0 * 4096 * 14336 * 4096 / tp);
    EXPECT_DOUBLE_EQ(product_flops(steps_before_last_product(work.recompute_mlp)), 2.0 * 4096 * 2 * 14336 * 4096 / tp);
    const auto scatters = [](const std::vector<LayerStep>& steps) {
      return std::count_if(steps.begin(), steps.end(),
                           [](const LayerStep& step) { return step.collective == LayerCollective::reduce_scatter; });
    };
    EXPECT_EQ(scatters(work.forward) - scatters(repeated), tp > 1 ? 1 : 0);
  }
}

TEST(EarlyStop, RepeatsExpertsWhole) {
  const LayerWork work = block("mixtral-8x7b", {}, LayerRole::moe_block);
  EXPECT_EQ(steps_repeated_with_early_stop(work).size(), work.forward.size());
}

}  // namespace
}  // namespace stepcast::backward_memory_test
