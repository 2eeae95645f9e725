#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/backward_memory.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

// Latent attention over the tokens that an indexer picks (DeepSeek-V3.2, GLM-5).
namespace stepcast::sparse_attention_test {
namespace {

using test::named;
using test::preset;
using test::shipped;
using testing::HasSubstr;

constexpr double kTokens = 8192, kPicked = 2048;
/// Of 8,192 queries the first 2,048 see those before them, the others 2,048.
constexpr double kSeen = kPicked - kPicked * kPicked / (2 * kTokens);

LayerWork layer(const Model& model, double tokens = kTokens, const LayerSharding& cut = {}) {
  return layer_work(model, LayerRole::dense_block, 0, 1, static_cast<int>(tokens), cut);
}

std::array<double, 3> shape_of(const LayerStep& step) { return {step.op.m, step.op.n, step.op.k}; }

// DeepSeek-V3.2: 64 heads of 128 from the queries' latent of 1,536; one key of 128 and 64 weights from the 7,168 wide
// state; a norm of the key with scale and shift.
TEST(SparseAttention, AnIndexerByHand) {
  const LayerWork sparse = layer(*preset("deepseek-v3.2")), dense = layer(*preset("deepseek-v3"));
  EXPECT_EQ(shape_of(named(sparse.forward, "index_query")), (std::array{kTokens, 8192.0, 1536.0}));
  EXPECT_EQ(shape_of(named(sparse.forward, "index_key")), (std::array{kTokens, 192.0, 7168.0}));
  EXPECT_EQ(sparse.parameters - dense.parameters, 1536.0 * 8192 + 7168.0 * 192 + 2 * 128);
  // Scores of 64 heads with the 4,096 tokens before a query on average, written in fp32 and read twice.
  EXPECT_DOUBLE_EQ(named(sparse.forward, "index_scores").op.flops.value(), 2 * kTokens * 4096 * 64 * 128);
  EXPECT_DOUBLE_EQ(named(sparse.forward, "index_select").op.bytes.value(), kTokens * 4096 * 12);
  // Queries, key and weights in 16 bit, and the places of 2,048 tokens.
  EXPECT_DOUBLE_EQ((sparse.activations - dense.activations).value(), kTokens * ((8192 + 128 + 64) * 2 + 2048 * 4));
}

// 128 heads share what a query picked: keys of 576, values of 512 of the latent, gathered for each query. Backward 2.5
// times the products, and what was gathered once more with gradients in fp32.
TEST(SparseAttention, TheCoreSeesWhatWasPicked) {
  const LayerWork work = layer(*preset("deepseek-v3.2"));
  const Operator& forward = named(work.forward, "attention").op;
  const Operator& backward = named(work.backward_input, "attention_backward").op;
  EXPECT_DOUBLE_EQ(forward.n, kSeen);
  EXPECT_DOUBLE_EQ(forward.flops.value(), 2 * 128 * kTokens * kSeen * (576 + 512));
  EXPECT_DOUBLE_EQ(backward.flops.value(), 2.5 * forward.flops.value());
  const double tensors = 2 * (576 + 512) * (kTokens * 128 + kTokens);
  EXPECT_DOUBLE_EQ(forward.bytes.value(), tensors + kTokens * kSeen * 576 * 2);
  EXPECT_DOUBLE_EQ(backward.bytes.value(), 2 * tensors + kTokens * kSeen * 576 * (2 + 8));
}

// What is gathered for each query lies nowhere: gradients at once are those of a dense core's size.
TEST(SparseAttention, GatheredTokensTakeNoMemory) {
  const LayerWork work = layer(*preset("deepseek-v3.2"));
  const double tensors = 2 * (576 + 512) * (kTokens * 128 + kTokens);
  EXPECT_DOUBLE_EQ(gradients_at_once(work, {}).value(), tensors);
}

// Ranks hand one another latents of 512 and rotary parts of 64, and the indexer's keys of 128.
TEST(SparseAttention, ContextRanksGatherLatents) {
  LayerSharding cut;
  cut.cp = 4;
  cut.context_method = ContextMethod::all_gather;
  const LayerWork work = layer(*preset("deepseek-v3.2"), kTokens, cut);
  EXPECT_DOUBLE_EQ(named(work.forward, "cp_all_gather").payload.value(), kTokens * (512 + 64 + 128) * 2);
  EXPECT_DOUBLE_EQ(named(work.forward, "attention").op.n, kSeen);
  EXPECT_DOUBLE_EQ(named(work.forward, "index_scores").op.flops.value(), 2 * kTokens / 4 * 4096 * 64 * 128);
}

// The indexer learns from the picked tokens alone, and hands the model no gradient.
TEST(SparseAttention, TheIndexerLearnsBesideTheModel) {
  const LayerWork work = layer(*preset("deepseek-v3.2"));
  EXPECT_DOUBLE_EQ(named(work.backward_weight, "index_target").op.flops.value(), 2 * 128 * kTokens * kSeen * 576);
  EXPECT_DOUBLE_EQ(named(work.backward_weight, "index_scores_backward").op.flops.value(),
                   2 * 2 * 64 * kTokens * kSeen * 128);
  EXPECT_THROW(named(work.backward_input, "index_query_dgrad"), std::logic_error);
  LayerSharding adapters;
  adapters.adapter_rank = 16;
  const LayerWork frozen = layer(*preset("deepseek-v3.2"), kTokens, adapters);
  EXPECT_THROW(named(frozen.backward_weight, "index_scores_backward"), std::logic_error);
}

// Attention's FLOPs grow with the length, not with its square: 128 times the tokens are 256 times the picked ones (7/8
// of 2,048 of the first half), which the dense model pays 16,384 times.
TEST(SparseAttention, LongSequencesCostTheirTokens) {
  const auto flops = [](const std::string& id, double tokens) {
    return named(layer(*preset(id), tokens).forward, "attention").op.flops.value();
  };
  EXPECT_NEAR(flops("deepseek-v3.2", 131072) / flops("deepseek-v3.2", 8192), 16 * (1 - 1.0 / 128) / (1 - 1.0 / 8),
              1e-9);
  EXPECT_DOUBLE_EQ(flops("deepseek-v3", 131072) / flops("deepseek-v3", 8192), 256);
}

// Of up to 2,048 tokens all are seen.
TEST(SparseAttention, ShortSequencesAreSeenWhole) {
  const LayerWork work = layer(*preset("deepseek-v3.2"), 2048);
  EXPECT_TRUE(named(work.forward, "attention").op.causal);
  EXPECT_DOUBLE_EQ(named(work.forward, "attention").op.n, 2048);
}

// 744B-A40B: what a token uses, embeddings included.
TEST(SparseAttention, Glm5HasItsPublishedSize) {
  EXPECT_NEAR(parameter_count(*preset("glm-5")), 744e9, 1e9);
  EXPECT_NEAR(active_parameter_count(*preset("glm-5")), 41e9, 1.5e9);
}

/// Four layers of GLM-5.2 share an indexer: each has a quarter of one, of GLM-5 a whole one.
TEST(SparseAttention, LayersThatShareAnIndexerCountTheirPart) {
  const Model &whole_model = *preset("glm-5"), &shared_model = *preset("glm-5.2");
  const LayerWork whole = layer(whole_model), shared = layer(shared_model);
  const double indexer = 2048.0 * 32 * 128 + 6144.0 * (128 + 32) + 2 * 128;
  EXPECT_DOUBLE_EQ(whole.parameters - shared.parameters, 0.75 * indexer);
  for (const char* name : {"index_query", "index_key", "index_scores", "index_select"})
    EXPECT_DOUBLE_EQ(named(shared.forward, name).op.flops.value(), named(whole.forward, name).op.flops.value() / 4)
        << name;
  EXPECT_DOUBLE_EQ(named(shared.forward, "attention").op.flops.value(),
                   named(whole.forward, "attention").op.flops.value());
  EXPECT_LT(shared.activations, whole.activations);
  EXPECT_NEAR(parameter_count(whole_model) - parameter_count(shared_model), 78 * 0.75 * indexer, 1e3);
}

TEST(SparseAttention, AStepExecutesAtLeastWhatTheModelCounts) {
  const Scenario scenario =
      shipped("llama3-70b-h100-512.json",
              {"workload.model=glm-5", "workload.seq_len=8192", "strategy.tensor_parallel=1",
               "strategy.pipeline_parallel=2", "strategy.expert_parallel=32", "strategy.sequence_parallel=false",
               "strategy.virtual_pipeline=1", "strategy.recompute=none", "workload.global_batch=256"});
  const Flops executed = estimate(lower(scenario)).executed_flops * 512.0;
  const Flops counted = model_flops_per_sample(*scenario.model, 8192, {}) * 256.0;
  EXPECT_GE(executed, counted);
}

std::string fault(const std::vector<std::string>& changes) {
  std::vector<std::string> all{"workload.model=deepseek-v3.2", "strategy.virtual_pipeline=1",
                               "strategy.tensor_parallel=1", "strategy.sequence_parallel=false",
                               "strategy.pipeline_parallel=1"};
  all.insert(all.end(), changes.begin(), changes.end());
  return test::refusal_of("llama3-70b-h100-512.json", all);
}

TEST(SparseAttention, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(fault({}), "none");
  EXPECT_EQ(fault({"strategy.context_parallel=2"}), "none");  // all-gather is its default
  EXPECT_THAT(fault({"strategy.context_parallel=2", "strategy.context_method=ring"}),
              HasSubstr("may attend to any token before it"));
  const auto faults = [](const auto& change) {
    return test::faults_of("deepseek-v3.2", [&](Model& model) { change(*model.transformer); });
  };
  EXPECT_THAT(faults([](TransformerShape& s) { s.window = 1024; }), HasSubstr("/transformer/window: found beside"));
  EXPECT_THAT(faults([](TransformerShape& s) {
                s.q_lora_rank = s.kv_lora_rank = s.qk_nope_head_dim = s.qk_rope_head_dim = s.v_head_dim = 0;
              }),
              HasSubstr("/transformer/kv_lora_rank: missing: sparse_attention is over the latents"));
}

}  // namespace
}  // namespace stepcast::sparse_attention_test
