#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/key_values.hpp"
#include "models/workload/operators.hpp"
#include "models/workload/weight_matrices.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

// Attention over a window and entries that stand for several tokens each (DeepSeek-V4).
namespace stepcast::compressed_attention_test {
namespace {

using test::named;
using test::preset;
using test::shipped;
using testing::HasSubstr;

constexpr double kTokens = 4096, kHeads = 64, kHead = 512, kHidden = 4096;
/// Layers of DeepSeek-V4-Flash: the window alone, entries of 4 tokens that are indexed, entries of 128.
constexpr int kWindow = 0, kIndexed = 2, kHeavy = 3;
/// Of 4,096 queries the first 128 see those before them, the others 128.
constexpr double kSeenWindow = 128 - 128.0 * 128 / (2 * 4096);
/// Of 1,024 entries up to 512: those of the first 2,048 tokens see the entries before them.
constexpr double kSeenIndexed = 512 - 512.0 * 512 / (2 * 1024), kSeenHeavy = 4096.0 / 128 / 2;

LayerWork layer(int index, const LayerSharding& cut = {}, int tokens = static_cast<int>(kTokens)) {
  return layer_work(*preset("deepseek-v4-flash"), LayerRole::moe_block, index, 1, tokens, cut);
}

std::array<double, 3> shape_of(const LayerStep& step) { return {step.op.m, step.op.n, step.op.k}; }

// 284B-A13B and 1.6T-A49B: what a token uses, without the embedding's table.
TEST(CompressedAttention, ModelsHaveTheirPublishedSizes) {
  const auto active = [](const char* id) {
    const auto model = preset(id);
    return active_parameter_count(*model) - 129280.0 * model->transformer->hidden;
  };
  EXPECT_NEAR(active("deepseek-v4-flash"), 13e9, 0.5e9);
  EXPECT_NEAR(active("deepseek-v4-pro"), 49e9, 0.5e9);
}

// Tensors of Pro as Hugging Face counts them, 1.573 T in 4 bits, 23.2 B in 8 and 2.8 B in 16, with the block of
// multi-token prediction.
TEST(CompressedAttention, APredictionBlockMakesUpTheCheckpoint) {
  Model pro = *preset("deepseek-v4-pro");
  pro.transformer->mtp_layers = 1;
  EXPECT_NEAR(parameter_count(pro) - parameter_count(*preset("deepseek-v4-pro")), 25.8e9, 0.1e9);
  EXPECT_NEAR(parameter_count(pro), 1.573e12 + 23.2e9 + 2.8e9, 1e9);
}

// Megatron-Bridge's figures for 8,224 tokens/s of Flash on a GB300 are 748 TFLOP/s, so 91.0 GFLOP a token, with one
// block of prediction.
TEST(CompressedAttention, FlopsComeNearThePublishedCount) {
  Model flash = *preset("deepseek-v4-flash");
  flash.transformer->mtp_layers = 1;
  EXPECT_NEAR(model_flops_per_sample(flash, 4096, {}).value() / 4096 / 1e9, 91.0, 0.02 * 91.0);
}

// Queries through a latent of 1,024 to 64 heads of 512; one head of keys, which are values; the result by 8 groups of 8
// heads to 1,024 each, and all to the hidden state.
TEST(CompressedAttention, ProductsByHand) {
  const LayerWork work = layer(kWindow);
  EXPECT_EQ(shape_of(named(work.forward, "q_down")), (std::array{kTokens, 1024.0, kHidden}));
  EXPECT_EQ(shape_of(named(work.forward, "q_up")), (std::array{kTokens, 32768.0, 1024.0}));
  EXPECT_EQ(shape_of(named(work.forward, "kv")), (std::array{kTokens, kHead, kHidden}));
  EXPECT_EQ(shape_of(named(work.forward, "output_groups")), (std::array{kTokens, 1024.0, 4096.0}));
  EXPECT_EQ(named(work.forward, "output_groups").op.batch, 8);
  EXPECT_EQ(shape_of(named(work.forward, "proj")), (std::array{kTokens, kHidden, 8192.0}));
  EXPECT_THROW(named(work.forward, "compress"), std::logic_error);
  const double attention =
      kHidden * 1024 + 1024 + 1024 * 32768 + kHidden * kHead + kHead + kHeads + 32768 * 1024 + 8192 * kHidden;
  const double experts = 256 * kHidden + 3 * kHidden * 2048;  // the router's, and the shared expert
  const double streams = 2 * (24 * 4 * kHidden + 24 + 3);
  EXPECT_EQ(work.parameters, attention + experts + streams + 2 * kHidden);
  EXPECT_EQ(work.expert_parameters, 256 * 3 * kHidden * 2048);
}

// Contents of 512 and as many weights, twice where entries overlap; places have biases and entries a norm. The indexer
// pools to keys of 128 of its own.
TEST(CompressedAttention, EntriesByHand) {
  const LayerWork window = layer(kWindow), indexed = layer(kIndexed), heavy = layer(kHeavy);
  EXPECT_EQ(shape_of(named(heavy.forward, "compress")), (std::array{kTokens, 1024.0, kHidden}));
  EXPECT_EQ(heavy.parameters - window.parameters, kHidden * 1024 + 128 * kHead + kHead);
  EXPECT_EQ(shape_of(named(indexed.forward, "compress")), (std::array{kTokens, 2048.0, kHidden}));
  EXPECT_EQ(shape_of(named(indexed.forward, "index_query")), (std::array{kTokens, 8192.0, 1024.0}));
  EXPECT_EQ(shape_of(named(indexed.forward, "index_key")), (std::array{kTokens, 4 * 128.0 + 64, kHidden}));
  EXPECT_EQ(indexed.parameters - window.parameters,
            kHidden * 2048 + 4 * 1024 + kHead + 1024.0 * 8192 + kHidden * (4 * 128.0 + 64) + 4 * 256 + 128);
  EXPECT_DOUBLE_EQ(named(heavy.forward, "pool_entries").op.bytes.value(), kTokens * (1024 + kHead / 128) * 2);
  EXPECT_DOUBLE_EQ(named(indexed.backward_input, "pool_entries_backward").op.bytes.value(),
                   kTokens * (2 * 2048 + kHead / 4) * 2);
}

// What the indexer picked is read for each query; the window and entries of 128 tokens are not.
TEST(CompressedAttention, TheCoreSeesTheWindowAndEntries) {
  const auto core = [](int index) { return named(layer(index).forward, "attention").op; };
  EXPECT_DOUBLE_EQ(core(kWindow).n, kSeenWindow);
  EXPECT_DOUBLE_EQ(core(kHeavy).n, kSeenWindow + kSeenHeavy);
  EXPECT_DOUBLE_EQ(core(kIndexed).n, kSeenWindow + kSeenIndexed);
  EXPECT_DOUBLE_EQ(core(kIndexed).flops.value(), 2 * kHeads * kTokens * (kSeenWindow + kSeenIndexed) * 2 * kHead);
  EXPECT_DOUBLE_EQ(core(kIndexed).again.value(), kTokens * kSeenIndexed * kHead * 2);
  EXPECT_DOUBLE_EQ(core(kHeavy).again.value(), 0);
  const LayerWork work = layer(kIndexed);
  EXPECT_DOUBLE_EQ(named(work.forward, "index_scores").op.flops.value(), 2 * kTokens * 512 * 64 * 128);
  EXPECT_DOUBLE_EQ(named(work.backward_weight, "index_scores_backward").op.flops.value(),
                   2 * 2 * 64 * kTokens * kSeenIndexed * 128);
}

// 32 times the tokens: the window and 512 entries stay, and 32 times the entries of 128 tokens are seen.
TEST(CompressedAttention, LongSequencesCostTheirEntries) {
  const auto seen = [](int index) { return named(layer(index, {}, 131072).forward, "attention").op.n; };
  const double window = 128 - 128.0 * 128 / (2 * 131072);
  EXPECT_DOUBLE_EQ(seen(kIndexed), window + 512 - 512.0 * 512 / (2 * 32768));
  EXPECT_DOUBLE_EQ(seen(kHeavy), window + 512);
}

// Documents are sequences of their own: of 1,024 tokens all of the 256 entries are seen as far as they come before.
TEST(CompressedAttention, DocumentsEndWhatIsSeen) {
  LayerSharding cut;
  cut.document_len = 1024;
  EXPECT_DOUBLE_EQ(named(layer(kIndexed, cut).forward, "attention").op.n, 128 - 128.0 * 128 / 2048 + 128);
}

// Ranks send the next one the hidden states that its windows reach, and gather entries and index keys of all.
TEST(CompressedAttention, ContextRanksGatherEntries) {
  LayerSharding cut;
  cut.cp = 4;
  cut.context_method = ContextMethod::all_gather;
  const LayerWork work = layer(kIndexed, cut);
  EXPECT_DOUBLE_EQ(named(work.forward, "cp_send_recv").payload.value(), 128 * kHidden * 2);
  EXPECT_DOUBLE_EQ(named(work.forward, "cp_all_gather").payload.value(), kTokens * (512 + 128) / 4 * 2);
  EXPECT_DOUBLE_EQ(4 * named(work.forward, "attention").op.flops.value(),
                   named(layer(kIndexed).forward, "attention").op.flops.value());
  EXPECT_THROW(named(layer(kWindow, cut).forward, "cp_all_gather"), std::logic_error);
}

// A sequence of 1,024 tokens more holds 256 more entries and keys of theirs in each of 21 layers, and 8 in each of 20.
TEST(CompressedAttention, KeptKeysGrowWithEntries) {
  EXPECT_DOUBLE_EQ(key_value_bytes(*preset("deepseek-v4-flash")->transformer, 2) * 1024,
                   (21 * 256 * (512 + 128) + 20 * 8 * 512) * 2.0);
}

// Groups of heads are rows of one matrix, as Muon takes it.
TEST(CompressedAttention, GroupsAreOneMatrix) {
  const std::vector<WeightMatrix> matrices = hidden_matrices(layer(kWindow), LayerRole::moe_block);
  EXPECT_TRUE(std::any_of(matrices.begin(), matrices.end(),
                          [](const WeightMatrix& m) { return m.rows == 8 * 1024 && m.columns == 4096; }));
}

TEST(CompressedAttention, AStepExecutesAtLeastWhatTheModelCounts) {
  const Scenario scenario =
      shipped("llama3-70b-h100-512.json",
              {"workload.model=deepseek-v4-flash", "workload.seq_len=4096", "strategy.tensor_parallel=1",
               "strategy.pipeline_parallel=1", "strategy.expert_parallel=32", "strategy.sequence_parallel=false",
               "strategy.virtual_pipeline=1", "strategy.recompute=none", "workload.global_batch=512"});
  const Flops executed = estimate(lower(scenario)).executed_flops * 512.0;
  const Flops counted = model_flops_per_sample(*scenario.model, 4096, {}) * 512.0;
  EXPECT_GE(executed, counted);
  EXPECT_LT(executed, 1.1 * counted);
}

std::string fault(const std::vector<std::string>& changes) {
  std::vector<std::string> all{"workload.model=deepseek-v4-flash", "strategy.virtual_pipeline=1",
                               "strategy.tensor_parallel=1", "strategy.sequence_parallel=false",
                               "strategy.pipeline_parallel=1"};
  all.insert(all.end(), changes.begin(), changes.end());
  return test::refusal_of("llama3-70b-h100-512.json", all);
}

TEST(CompressedAttention, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(fault({}), "none");
  EXPECT_EQ(fault({"strategy.context_parallel=2"}), "none");  // all-gather is its default
  EXPECT_THAT(fault({"strategy.tensor_parallel=2"}), HasSubstr("would cut compressed attention"));
  EXPECT_THAT(fault({"strategy.context_parallel=2", "strategy.context_method=ring"}),
              HasSubstr("may attend to any entry before it"));
  EXPECT_THAT(fault({"strategy.context_parallel=64", "workload.seq_len=4096"}), HasSubstr("no whole entries of 128"));
  const auto faults = [](const auto& change) {
    return test::faults_of("deepseek-v4-flash", [&](Model& model) { change(*model.transformer); });
  };
  EXPECT_THAT(faults([](TransformerShape& s) { s.window = 0; }), HasSubstr("/transformer/window: missing"));
  EXPECT_THAT(faults([](TransformerShape& s) { s.kv_heads = 2; }), HasSubstr("/transformer/kv_heads: found 2"));
  EXPECT_THAT(faults([](TransformerShape& s) { s.layers = 44; }), HasSubstr("found 43 of them, expected 44"));
  EXPECT_THAT(faults([](TransformerShape& s) { s.compressed_attention->entries = 0; }),
              HasSubstr("/compressed_attention/entries: missing: layers of ratio 4"));
  EXPECT_THAT(faults([](TransformerShape& s) { s.compressed_attention->indexed_ratio = 8; }),
              HasSubstr("found 8, which is the ratio of no layer"));
  EXPECT_THAT(faults([](TransformerShape& s) { s.compressed_attention->output_groups = 7; }),
              HasSubstr("7 groups do not divide 64 heads"));
  EXPECT_THAT(faults([](TransformerShape& s) { s.global_every = 2; }), HasSubstr("/transformer/global_every"));
}

}  // namespace
}  // namespace stepcast::compressed_attention_test
