#include <gtest/gtest.h>

#include <numeric>

#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/shipped.hpp"

// Latent attention, windows, packed documents, alternating experts, further predictions and frozen models.
namespace stepcast::model_features_test {
namespace {

using test::preset;

Model with(std::string_view id, const std::function<void(TransformerShape&)>& change) {
  Model model = *preset(id);
  change(*model.transformer);
  return model;
}

double flops(const std::vector<LayerStep>& steps, std::string_view name = "") {
  double sum = 0;
  for (const LayerStep& step : steps)
    if (name.empty() || step.op.name == name) sum += step.op.flops.value();
  return sum;
}

double step_flops(const LayerWork& work) {
  return flops(work.forward) + flops(work.backward_input) + flops(work.backward_weight);
}

// config.json of deepseek-ai/DeepSeek-V3, by hand: 7168·1536 + 1536·128·192 + 7168·576 + 512·128·256 + 128·128·7168
// weights and 2,048 of the latents' norms in one attention.
TEST(LatentAttention, HasTheParametersOfDeepSeekV3) {
  const auto model = preset("deepseek-v3");
  const LayerWork dense = layer_work(*model, LayerRole::dense_block, 0, 1, 4096, {});
  const double attention = 11010048.0 + 37748736 + 4128768 + 16777216 + 117440512 + 2048;
  EXPECT_EQ(dense.parameters, attention + 3.0 * 7168 * 18432 + 2 * 7168);
  // 671 B, of which a token uses 37 B (DeepSeek-V3 report, abstract).
  EXPECT_NEAR(parameter_count(*model), 671e9, 0.1e9);
  EXPECT_NEAR(active_parameter_count(*model), 37e9, 1e9);
}

TEST(LatentAttention, MultipliesKeysOf192AndValuesOf128) {
  const auto model = preset("deepseek-v3");
  const double tokens = 4096;
  const LayerWork work = layer_work(*model, LayerRole::dense_block, 0, 1, 4096, {});
  // Half of the scores under the mask: 2·(192 + 128) FLOPs each over 128 heads.
  EXPECT_DOUBLE_EQ(flops(work.forward, "attention"), 2 * 320 * 128 * tokens * tokens / 2);
  EXPECT_DOUBLE_EQ(flops(work.forward, "q_down"), 2 * tokens * 7168 * 1536);
  EXPECT_DOUBLE_EQ(flops(work.forward, "kv_up"), 2 * tokens * 512 * 128 * 256);
  EXPECT_DOUBLE_EQ(flops(work.forward, "proj"), 2 * tokens * 128 * 128 * 7168);
}

TEST(LatentAttention, CutsHeadsAndNotLatents) {
  const auto model = preset("deepseek-v3");
  LayerSharding cut;
  cut.tp = 4;
  const LayerWork whole = layer_work(*model, LayerRole::dense_block, 0, 1, 4096, {});
  const LayerWork part = layer_work(*model, LayerRole::dense_block, 0, 1, 4096, cut);
  EXPECT_DOUBLE_EQ(flops(part.forward, "q_down"), flops(whole.forward, "q_down"));
  EXPECT_DOUBLE_EQ(4 * flops(part.forward, "q_up"), flops(whole.forward, "q_up"));
}

TEST(LatentAttention, NeedsAllItsSizes) {
  Diagnostics diagnostics("test");
  check_model(with("deepseek-v3", [](TransformerShape& s) { s.v_head_dim = 0; }), "", diagnostics);
  check_model(with("llama3-8b", [](TransformerShape& s) { s.q_lora_rank = 512; }), "", diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 2U);
  EXPECT_EQ(diagnostics.faults()[0].pointer, "/transformer/v_head_dim");
  EXPECT_EQ(diagnostics.faults()[1].pointer, "/transformer/kv_lora_rank");
}

TEST(Windows, LocalLayersSeeTheLastTokensOnly) {
  const auto model = preset("gpt-oss-120b");  // layers 0, 2, … see 128 tokens
  const LayerWork local = layer_work(*model, LayerRole::moe_block, 0, 1, 4096, {});
  const LayerWork global = layer_work(*model, LayerRole::moe_block, 1, 1, 4096, {});
  // Query i sees min(i + ½, 128) keys on average: 128 − 128²/(2·4096) = 126.
  EXPECT_DOUBLE_EQ(flops(local.forward, "attention"), 4 * 64 * 64 * 4096.0 * 126);
  EXPECT_DOUBLE_EQ(flops(global.forward, "attention"), 4 * 64 * 64 * 4096.0 * 2048);
  EXPECT_DOUBLE_EQ(step_flops(local) - flops(local.forward, "attention") * 3.5,
                   step_flops(global) - flops(global.forward, "attention") * 3.5);
}

TEST(Windows, ChunksAreSequencesOfTheirOwn) {
  const auto model = preset("llama4-scout");  // three of four layers in chunks of 8,192
  const LayerWork chunked = layer_work(*model, LayerRole::moe_block, 0, 1, 32768, {});
  const LayerWork global = layer_work(*model, LayerRole::moe_block, 3, 1, 32768, {});
  EXPECT_DOUBLE_EQ(4 * flops(chunked.forward, "attention"), flops(global.forward, "attention"));
}

TEST(Windows, CountInTheModelsFlops) {
  const ModelFlopsOptions attention_in_full{.causal_halved = false};
  const double all =
      model_flops_per_sample(with("llama4-scout", [](TransformerShape& s) { s.window = 0; }), 32768, attention_in_full)
          .value();
  const double some = model_flops_per_sample(*preset("llama4-scout"), 32768, attention_in_full).value();
  // 36 of 48 layers leave three quarters of 4·s²·h scores out, three times over.
  EXPECT_DOUBLE_EQ(all - some, 3 * 36 * 0.75 * 4 * 32768.0 * 32768.0 * 5120);
}

TEST(Experts, AlternateWithDenseLayers) {
  const TransformerShape& maverick = *preset("llama4-maverick")->transformer;
  EXPECT_FALSE(maverick.is_moe(0));
  EXPECT_TRUE(maverick.is_moe(1));
  int moe = 0;
  for (int layer = 0; layer < maverick.layers; ++layer) moe += maverick.is_moe(layer) ? 1 : 0;
  EXPECT_EQ(moe, 24);
}

TEST(Documents, KeepAttentionInsideThem) {
  const auto model = preset("llama3-8b");
  LayerSharding packed;
  packed.document_len = 512;
  const LayerWork whole = layer_work(*model, LayerRole::dense_block, 0, 1, 4096, {});
  const LayerWork parts = layer_work(*model, LayerRole::dense_block, 0, 1, 4096, packed);
  EXPECT_DOUBLE_EQ(8 * flops(parts.forward, "attention"), flops(whole.forward, "attention"));
}

// DeepSeek-V3 report, section 2.2: a block, a projection of two hidden states to one, and the output layer again.
TEST(Predictions, AddABlockAndTheOutputLayer) {
  const Model model = with("deepseek-v3", [](TransformerShape& s) { s.mtp_layers = 1; });
  const LayerWork output = layer_work(*preset("deepseek-v3"), LayerRole::output, 0, 1, 4096, {});
  const LayerWork block = layer_work(model, LayerRole::moe_block, 60, 1, 4096, {});
  const LayerWork more = layer_work(model, LayerRole::output, 0, 1, 4096, {});
  EXPECT_DOUBLE_EQ(flops(more.forward),
                   2 * flops(output.forward) + flops(block.forward) + 2 * 4096.0 * 2 * 7168 * 7168);
  EXPECT_NEAR(parameter_count(model) - parameter_count(*preset("deepseek-v3")), 11.6e9, 0.2e9);
}

TEST(Adapters, FreezeTheModel) {
  const auto model = preset("llama2-70b");
  LayerSharding adapters;
  adapters.adapter_rank = 16;
  const LayerWork whole = layer_work(*model, LayerRole::dense_block, 0, 1, 8192, {});
  const LayerWork frozen = layer_work(*model, LayerRole::dense_block, 0, 1, 8192, adapters);
  EXPECT_EQ(frozen.frozen_parameters, whole.parameters);
  // 16 columns and rows beside QKV (8192 × 10240) and the projection (8192 × 8192).
  EXPECT_EQ(frozen.parameters, 16.0 * (8192 + 10240 + 8192 + 8192));
  EXPECT_LT(flops(frozen.backward_weight), 0.01 * flops(whole.backward_weight));
  EXPECT_NEAR(flops(frozen.forward) / flops(whole.forward), 1, 0.01);
  const LayerWork table = layer_work(*model, LayerRole::embedding, 0, 1, 8192, adapters);
  EXPECT_EQ(table.parameters, 0);
  EXPECT_TRUE(table.backward_weight.empty());
}

// 16 columns and rows beside every product of Llama 2 70B's block: QKV, the projection, the two gates and the way down.
TEST(Adapters, StandBesideAllProducts) {
  LayerSharding adapters;
  adapters.adapter_rank = 16;
  adapters.adapter_targets = AdapterTargets::all_linear;
  const auto model = preset("llama2-70b");
  const LayerWork work = layer_work(*model, LayerRole::dense_block, 0, 1, 4096, adapters);
  EXPECT_EQ(work.parameters, 16.0 * (8192 + 10240 + 8192 + 8192 + 8192 + 2 * 28672 + 28672 + 8192));
  // Every product's input waits for an adapter's gradient, and what each adapter's first product gives.
  const LayerWork whole = layer_work(*model, LayerRole::dense_block, 0, 1, 4096, {});
  EXPECT_DOUBLE_EQ((work.activations - whole.activations).value(), 4 * 4096.0 * 16 * 2);
}

// The activated gate is no product's input: the other gate's gradient needs it, frozen or not.
TEST(Adapters, KeepTheActivatedGate) {
  LayerSharding adapters, whole;
  adapters.adapter_rank = 16;
  adapters.fused_activation = whole.fused_activation = false;
  const auto of = [](const LayerSharding& sharding) {
    return layer_work(*preset("llama2-70b"), LayerRole::dense_block, 0, 1, 4096, sharding).activations.value();
  };
  const double saved = of(whole) - of(adapters);
  // The inputs of the MLP's products, less what two adapters keep.
  EXPECT_DOUBLE_EQ(saved, 4096.0 * (8192 + 28672 - 2 * 16) * 2);
}

// Four bits and 0.127 of scales a weight, read and written in 16 bit before each product of both passes.
TEST(Adapters, UnpackWeights) {
  LayerSharding adapters, packed;
  adapters.adapter_rank = packed.adapter_rank = 16;
  packed.packed_weight_bytes = 0.5;
  const auto of = [](const LayerSharding& sharding) {
    return layer_work(*preset("llama2-70b"), LayerRole::dense_block, 0, 1, 4096, sharding);
  };
  const LayerWork whole = of(adapters), less = of(packed);
  ASSERT_EQ(less.forward.size(), whole.forward.size() + 1);
  EXPECT_EQ(less.forward.front().op.name, "unpack_weights");
  EXPECT_DOUBLE_EQ(less.forward.front().op.bytes.value(), less.frozen_parameters * 2.5);
  EXPECT_EQ(less.backward_input.size(), whole.backward_input.size() + 1);
}

}  // namespace
}  // namespace stepcast::model_features_test
