#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/workload/key_values.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"
#include "tests/unit/tiny_model.hpp"

// Layers that attend over keys and values of an earlier one (Gemma 3n, Gemma 4).
namespace stepcast::shared_keys_test {
namespace {

using test::faults_of;
using test::named;
using test::tiny_model;
using testing::HasSubstr;

/// Hidden 8, two heads over one of keys, of 4 in layers with a window and of 8 in the others, MLP 16; the last two of
/// four layers take keys and values of the first two, and their MLP is 32 wide.
Model tiny() {
  Model model = tiny_model();
  TransformerShape& shape = *model.transformer;
  shape.layers = 4;
  shape.kv_heads = 1;
  shape.head_dim = 4;
  shape.qk_norm = true;
  shape.window = 2;
  shape.global_every = 2;
  shape.global_head_dim = 8;
  shape.shared_kv_layers = 2;
  shape.shared_kv_ffn_hidden = 32;
  return model;
}

LayerWork block(const Model& model, int layer, const LayerSharding& sharding = {}) {
  return layer_work(model, LayerRole::dense_block, layer, 1, 4, sharding);
}

bool has(const std::vector<LayerStep>& steps, std::string_view name) {
  return std::any_of(steps.begin(), steps.end(), [&](const LayerStep& step) { return step.op.name == name; });
}

TEST(SharedKeys, TheLastLayerOfEachKindBeforeThemLends) {
  TransformerShape shape = *tiny().transformer;
  const auto keys = [&] {
    std::string out;
    for (int layer = 0; layer < shape.layers; ++layer) out += "olb"[static_cast<std::size_t>(shape.keys_of(layer))];
    return out;
  };
  EXPECT_EQ(keys(), "llbb");
  shape.layers = 8;
  EXPECT_EQ(keys(), "oooollbb");
  shape.shared_kv_layers = 1;  // sees all
  EXPECT_EQ(keys(), "ooooolob");
  shape.shared_kv_layers = 0;
  EXPECT_EQ(keys(), "oooooooo");
}

// Queries and results 2·8·8 of local layers, twice that of global ones, keys and values 2·8·4 and 2·8·8 where they are
// made; MLPs 2·8·16 and 2·8·32; norms of heads and two of 8.
TEST(SharedKeys, BlocksByHand) {
  const Model model = tiny();
  EXPECT_EQ(block(model, 0).parameters, 128 + 64 + 256 + 2 * 4 + 16);
  EXPECT_EQ(block(model, 1).parameters, 256 + 128 + 256 + 2 * 8 + 16);
  EXPECT_EQ(block(model, 2).parameters, 128 + 512 + 4 + 16);
  EXPECT_EQ(block(model, 3).parameters, 256 + 512 + 8 + 16);
  const LayerWork borrowing = block(model, 2);
  EXPECT_DOUBLE_EQ(named(borrowing.forward, "qkv").op.n, 8);
  EXPECT_DOUBLE_EQ(named(borrowing.forward, "mlp_up").op.n, 32);
  EXPECT_DOUBLE_EQ(named(borrowing.forward, "qk_norm").op.bytes.value(), 2 * 4 * 8 * 2);
}

// The core reads keys and values as if the layer had made them; their gradients are added to those of other layers.
TEST(SharedKeys, TheCoreIsTheSameAndGradientsAreAdded) {
  const Model model = tiny();
  EXPECT_EQ(named(block(model, 2).forward, "attention").op.bytes, named(block(model, 0).forward, "attention").op.bytes);
  EXPECT_DOUBLE_EQ(named(block(model, 2).backward_input, "shared_kv_gradient").op.bytes.value(), 3 * 4 * (4 + 4) * 2);
  EXPECT_DOUBLE_EQ(named(block(model, 3).backward_input, "shared_kv_gradient").op.bytes.value(), 3 * 4 * (8 + 8) * 2);
  EXPECT_FALSE(has(block(model, 0).backward_input, "shared_kv_gradient"));
}

// In 16 bit over 4 tokens: without keys and values of 8 and the normed keys' input of 4; beside an MLP that keeps 2·16
// more. Recomputed whole, the lender keeps its keys and values.
TEST(SharedKeys, KeptOnceByTheLender) {
  const Model model = tiny();
  const LayerWork lending = block(model, 0), borrowing = block(model, 2);
  EXPECT_DOUBLE_EQ((lending.activations - borrowing.activations).value(), 4 * 2 * (8 + 4 - 2 * 16));
  EXPECT_DOUBLE_EQ(lending.activation_input.value(), 4 * 2 * (8 + 8));
  EXPECT_DOUBLE_EQ(borrowing.activation_input.value(), 4 * 2 * 8);
  Model apart = model;
  apart.transformer->shared_kv_layers = apart.transformer->shared_kv_ffn_hidden = 0;
  EXPECT_EQ(block(apart, 0).freed_attention - lending.freed_attention, Bytes(4 * 2 * 8));
}

// An 8-bit core reads copies that each layer casts and keeps for itself, of one byte.
TEST(SharedKeys, EightBitCopiesAreOfEachLayer) {
  const Model model = tiny();
  LayerSharding eight;
  eight.eight_bit_attention = true;
  EXPECT_DOUBLE_EQ((block(model, 2, eight).activations - block(model, 2).activations).value(), 4 * (8 - 8));
}

TEST(SharedKeys, TheModelCountsThemOnce) {
  const Model model = tiny();
  const double blocks = (448 + 24) + (640 + 32) + (640 + 20) + (768 + 24);
  EXPECT_EQ(parameter_count(model), blocks + 2 * 80 + 8);
  // The window of 2 leaves 12 of 16 scores of heads of 4, all layers mask half.
  const double products = 448 + 640 + 640 + 768, scores = 2 * (12 * 2 * (4 + 4) + 16 * 2 * (8 + 8));
  EXPECT_DOUBLE_EQ(model_flops_per_sample(model, 4, {}).value(), 3 * (2 * 4 * (products + 80) + scores));
  EXPECT_DOUBLE_EQ(key_value_bytes(*model.transformer, 2), 2 * ((4 + 4) + (8 + 8)));
}

TEST(SharedKeys, FaultsOfAShape) {
  EXPECT_EQ(faults_of("gemma4-2b", [](Model&) {}), "");
  EXPECT_EQ(
      faults_of("gemma4-2b", [](Model& m) { m.transformer->shared_kv_layers = 31; }),
      "/transformer/shared_kv_layers: found 31, but no layer before them sees all, as layer 5 does, whose keys it "
      "would take\n");
  EXPECT_EQ(faults_of("llama3-8b", [](Model& m) { m.transformer->shared_kv_ffn_hidden = 8; }),
            "/transformer/shared_kv_layers: missing: shared_kv_ffn_hidden is of layers that take an earlier one's "
            "keys\n");
  EXPECT_EQ(faults_of("gemma4-2b", [](Model& m) { m.transformer->mtp_layers = 1; }),
            "/transformer/mtp_layers: found beside shared_kv_layers, with which it has no description\n");
}

std::string fault_of(const Json& strategy) {
  try {
    resolve({{"cluster", {{"node", "dgx-h100"}, {"nodes", 1}}},
             {"workload", {{"model", "gemma4-2b"}, {"global_batch", 8}, {"seq_len", 4096}}},
             {"strategy", strategy}},
            "test", {}, test::catalog());
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(SharedKeys, StagesAndContextRanksAreRefused) {
  EXPECT_EQ(fault_of({{"framework", "megatron-lm"}, {"tensor_parallel", 2}}), "none");
  EXPECT_EQ(fault_of({{"framework", "pytorch-fsdp"}, {"sharding", "fsdp"}}), "none");
  EXPECT_THAT(
      fault_of({{"framework", "megatron-lm"}, {"pipeline_parallel", 2}, {"uneven_stages", true}}),
      HasSubstr("/strategy/pipeline_parallel: found 2, but layers of gemma4-2b share keys and values, which has "
                "no description with it; pipeline_parallel 1"));
  EXPECT_THAT(fault_of({{"framework", "megatron-lm"}, {"context_parallel", 2}}),
              HasSubstr("/strategy/context_parallel: found 2, but layers of gemma4-2b share keys and values"));
}

}  // namespace
}  // namespace stepcast::shared_keys_test
