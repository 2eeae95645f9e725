#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/parallelism/job.hpp"
#include "models/workload/operators.hpp"
#include "models/workload/workload_kind.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"
#include "tests/unit/tiny_model.hpp"

// Diffusion transformers (DiT, MM-DiT as FLUX, Wan).
namespace stepcast::diffusion_test {
namespace {

using test::faults_of;
using test::named;
using test::tiny_model;

/// Two blocks, hidden 8, two heads of 4, MLP 16; patches of 4 values; a text of 2 tokens of width 6.
Model tiny(ContextKind context) {
  Model model = tiny_model();
  model.family = ModelFamily::diffusion;
  TransformerShape& shape = *model.transformer;
  shape.vocab = 0;
  DiffusionShape& diffusion = shape.diffusion.emplace();
  diffusion.patch_elements = 4;
  diffusion.context_tokens = 2;
  diffusion.context_width = 6;
  diffusion.context = context;
  return model;
}

/// The first block has two streams, the second runs on three vectors.
Model joint() {
  Model model = tiny(ContextKind::joint_attention);
  model.transformer->diffusion->two_stream_layers = 1;
  model.transformer->diffusion->single_stream_vectors = 3;
  return model;
}

Model crossed() {
  Model model = tiny(ContextKind::cross_attention);
  model.transformer->diffusion->shared_modulation = true;
  return model;
}

LayerWork work_of(const Model& model, LayerRole role, int layer = 0, const LayerSharding& cut = {}) {
  return layer_work(model, role, layer, 1, 4, cut);
}

double flops_of(const std::vector<LayerStep>& steps) {
  Flops out;
  for (const LayerStep& step : steps) out += step.op.flops;
  return out.value();
}

// A block's products are 4·8² + 2·8·16 = 512 multiply-adds a token. All six tokens see one another: 6·6 scores in two
// heads of 4, twice. The vectors, 12 of two streams or 3, come of one vector of width 8.
constexpr double kBlock = 2 * 6 * 512 + 4 * 36 * 8, kTwoStreams = 2 * 8 * 12 * 8, kOneStream = 2 * 8 * 3 * 8;

TEST(Diffusion, JointBlocksByHand) {
  const Model model = joint();
  const LayerWork two = work_of(model, LayerRole::dense_block, 0), one = work_of(model, LayerRole::dense_block, 1);
  EXPECT_DOUBLE_EQ(flops_of(two.forward), kBlock + kTwoStreams);
  EXPECT_DOUBLE_EQ(flops_of(one.forward), kBlock + kOneStream);
  EXPECT_EQ(two.parameters, 2 * 512 + 12 * 8 * 8 + 12 * 8);
  EXPECT_EQ(one.parameters, 512 + 3 * 8 * 8 + 3 * 8);
  // Backward: every product twice, attention's fused kernel 2.5 times.
  EXPECT_DOUBLE_EQ(flops_of(two.backward_input) + flops_of(two.backward_weight),
                   2 * (2 * 6 * 512 + kTwoStreams) + 2.5 * 4 * 36 * 8);
}

// Each product of a two-stream block is two: over the latent's four tokens, and over the text's two by other weights.
// In 16 bit the first moves 2·(4·8 + 8·24 + 4·24) bytes.
TEST(Diffusion, TwoStreamsHaveWeightsOfTheirOwn) {
  const LayerWork work = work_of(joint(), LayerRole::dense_block, 0);
  std::vector<Operator> qkv, gradients;
  for (const LayerStep& step : work.forward)
    if (step.op.name == "qkv") qkv.push_back(step.op);
  for (const LayerStep& step : work.backward_weight)
    if (step.op.name == "qkv_wgrad") gradients.push_back(step.op);
  ASSERT_EQ(qkv.size(), 2);
  EXPECT_DOUBLE_EQ(qkv[0].m, 4);
  EXPECT_DOUBLE_EQ(qkv[1].m, 2);
  EXPECT_DOUBLE_EQ(qkv[0].bytes.value(), 2 * (4 * 8 + 8 * 24 + 4 * 24));
  EXPECT_DOUBLE_EQ(qkv[1].bytes.value(), 2 * (2 * 8 + 8 * 24 + 2 * 24));
  ASSERT_EQ(gradients.size(), 2);
  EXPECT_DOUBLE_EQ(gradients[0].k, 4);
  EXPECT_DOUBLE_EQ(gradients[1].k, 2);
  EXPECT_DOUBLE_EQ(gradients[1].bytes.value(), 2 * (2 * (8 + 24) + 8 * 24));
}

// Over the text: queries and results of four tokens, keys and values of two, 4·2 scores.
TEST(Diffusion, CrossAttentionByHand) {
  const LayerWork work = work_of(crossed(), LayerRole::dense_block, 0);
  EXPECT_DOUBLE_EQ(flops_of(work.forward), 2 * 4 * 512 + 4 * 16 * 8 + 2 * 4 * 128 + 2 * 2 * 128 + 4 * 8 * 8);
  EXPECT_EQ(work.parameters, 512 + 256 + 6 * 8);
}

// In: patches, text and time, whose features are 256; out: 4 values of a token, behind a norm of two vectors.
TEST(Diffusion, TheModelCountsItsEnds) {
  constexpr double kEmbedded = (4 * 8 + 8) + (6 * 8 + 8) + (256 * 8 + 8) + (8 * 8 + 8), kLast = 4 * 8 + 4;
  EXPECT_EQ(parameter_count(joint()), kEmbedded + (1024 + 864) + (512 + 216) + (2 * 8 * 8 + 2 * 8) + kLast);
  EXPECT_EQ(parameter_count(crossed()), kEmbedded + (8 * 48 + 48) + 2 * (512 + 256 + 48) + 2 * 8 + kLast);
  // Of the model's FLOPs the vectors, one a sample, and what goes in are none.
  EXPECT_DOUBLE_EQ(model_flops_per_sample(joint(), 4, {}).value(), 3 * (2 * kBlock + 2 * 4 * 8 * 4));
  EXPECT_EQ(workload_kind(joint()), WorkloadKind::diffusion_transformer);
}

// Vectors are gathered, and what ranks share the sequence of attends to the whole text.
TEST(Diffusion, RanksShareBlocks) {
  LayerSharding tensor, context;
  tensor.tp = 2;
  context.cp = 2;
  const Model model = crossed();
  const double whole = flops_of(work_of(model, LayerRole::dense_block).forward);
  EXPECT_DOUBLE_EQ(2 * flops_of(work_of(model, LayerRole::dense_block, 0, tensor).forward), whole);
  EXPECT_DOUBLE_EQ(2 * flops_of(work_of(model, LayerRole::dense_block, 0, context).forward), whole + 2 * 2 * 128);
  const LayerWork two = work_of(joint(), LayerRole::dense_block, 0, tensor);
  EXPECT_DOUBLE_EQ(named(two.forward, "tp_gather_modulation").payload.value(), 2 * 12 * 8);
}

double bytes_of(const std::vector<LayerStep>& steps, std::string_view name) {
  return named(steps, name).op.bytes.value();
}

// Two norms over four tokens of width 8: 128 bytes in 16 bit, 256 in fp32, in which norms give their results under
// automatic mixed precision. By operator: scaled, shifted (2 + 2 tensors), gated (2); backward a factor's gradient is
// multiplied (3) and summed (1), a term's summed (1), and the gradient scaled on (2).
TEST(Diffusion, ModulationByHand) {
  LayerSharding fused, separate, mixed;
  fused.fused_activation = true;
  separate.fused_activation = mixed.fused_activation = false;
  mixed.automatic_mixed_precision = true;
  const Model model = crossed();
  const auto bytes = [&](const LayerSharding& cut) {
    const LayerWork work = work_of(model, LayerRole::dense_block, 0, cut);
    return std::vector<double>{bytes_of(work.forward, "modulate"), bytes_of(work.forward, "gate"),
                               bytes_of(work.backward_input, "gate_backward"),
                               bytes_of(work.backward_input, "modulate_backward")};
  };
  EXPECT_THAT(bytes(fused), testing::ElementsAre(2 * 128, 2 * 128, 3 * 128, 3 * 128));
  EXPECT_THAT(bytes(separate), testing::ElementsAre(4 * 128, 2 * 128, 6 * 128, 7 * 128));
  EXPECT_THAT(bytes(mixed), testing::ElementsAre(4 * 256, 2 * 128, 6 * 128, 7 * 256));
}

// Queries of four tokens and keys of the text's two, of width 8, are normed: read and written by one kernel, or
// operator by operator (36 bytes an element forward, 92 backward), as under automatic mixed precision, whose weights
// are in fp32 and the product's results in 16 bit.
TEST(Diffusion, QueriesAndKeysOfTheTextAreNormed) {
  LayerSharding one, separate, mixed;
  one.fused_norm = mixed.fused_norm = true;
  separate.fused_norm = false;
  mixed.automatic_mixed_precision = true;
  Model model = crossed();
  const double before = work_of(model, LayerRole::dense_block, 0, one).parameters;
  model.transformer->qk_norm = true;
  const auto bytes = [&](const LayerSharding& cut) {
    const LayerWork work = work_of(model, LayerRole::dense_block, 0, cut);
    return std::vector<double>{bytes_of(work.forward, "cross_qk_norm"),
                               bytes_of(work.backward_input, "cross_qk_norm_backward")};
  };
  EXPECT_THAT(bytes(one), testing::ElementsAre(2 * 48 * 2, 3 * 48 * 2));
  EXPECT_THAT(bytes(separate), testing::ElementsAre(36 * 48, 92 * 48));
  EXPECT_THAT(bytes(mixed), testing::ElementsAre(36 * 48, 92 * 48));
  // One scale for all heads of four, of each of queries and keys, of both attentions.
  EXPECT_EQ(work_of(model, LayerRole::dense_block, 0, one).parameters, before + 4 * 4);
}

// Compiled, norms and sums modulate: half of what is kept stays, and passes over the stream are gone.
TEST(Diffusion, CompiledModulationHasNoPasses) {
  LayerSharding compiled;
  compiled.compiled = true;
  const Model model = crossed();
  const auto passes = [](const LayerWork& work, std::string_view name) {
    return std::count_if(work.forward.begin(), work.forward.end(),
                         [&](const LayerStep& step) { return step.op.name == name; });
  };
  EXPECT_EQ(passes(work_of(model, LayerRole::dense_block), "modulate"), 1);
  EXPECT_EQ(passes(work_of(model, LayerRole::dense_block, 0, compiled), "modulate"), 0);
}

TEST(Diffusion, FaultsOfAShape) {
  const auto faults = [](const std::function<void(Model&)>& change) { return faults_of("flux.1-schnell", change); };
  EXPECT_EQ(faults([](Model&) {}), "");
  EXPECT_EQ(faults([](Model& m) { m.family = ModelFamily::decoder; }),
            "/transformer/diffusion: found in a model of family decoder\n");
  EXPECT_EQ(faults([](Model& m) { m.transformer->vocab = 100; }),
            "/transformer/vocab: found beside diffusion, with which it has no description\n");
  EXPECT_EQ(faults([](Model& m) { m.transformer->linear_attention.emplace(); }),
            "/transformer/linear_attention: found beside diffusion, with which it has no description\n");
  EXPECT_EQ(faults([](Model& m) { m.transformer->diffusion->modulation_vectors = 4; }),
            "/transformer/diffusion/modulation_vectors: found 4, expected a multiple of 3: shift, scale and gate of "
            "each norm\n");
  EXPECT_EQ(faults([](Model& m) { m.transformer->diffusion->context_width = 0; }),
            "/transformer/diffusion/context_width: missing: a text has tokens, and what its encoder gives a width\n");
  EXPECT_EQ(faults([](Model& m) { m.transformer->diffusion->context = ContextKind::cross_attention; }),
            "/transformer/diffusion/two_stream_layers: found with cross_attention; its text goes through no block\n");
  EXPECT_EQ(faults([](Model& m) { m.transformer->diffusion->two_stream_layers = 58; }),
            "/transformer/diffusion/two_stream_layers: found 58, more than the 57 layers\n");
  EXPECT_EQ(faults_of("gpt2", [](Model& m) { m.transformer->vocab = 0; }),
            "/transformer/vocab: missing: a model of words has a row for each\n");
}

}  // namespace
}  // namespace stepcast::diffusion_test
