#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"

namespace stepcast::layer_work_test {
namespace {

using test::named;

std::shared_ptr<const Model> preset(std::string_view id) {
  Diagnostics diagnostics("test");
  auto model = find_model(id, "", diagnostics);
  diagnostics.throw_if_faulty();
  return model;
}

LayerWork block(std::string_view id, const LayerSharding& sharding, double micro_batch = 1, int seq_len = 2048) {
  return layer_work(*preset(id), LayerRole::dense_block, 0, micro_batch, seq_len, sharding);
}

double flops(const std::vector<LayerStep>& steps) {
  double total = 0;
  for (const LayerStep& step : steps) total += step.op.flops.value();
  return total;
}

/// Collectives over a dimension, in order, as "all_gather:payload".
std::vector<std::string> collectives(const std::vector<LayerStep>& steps, LayerCommunication over) {
  static constexpr std::array names{"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"};
  std::vector<std::string> out;
  for (const LayerStep& step : steps)
    if (step.communication == over)
      out.push_back(fmt::format("{}:{}{}", names[static_cast<std::size_t>(step.collective)], step.payload.value(),
                                step.overlappable ? "*" : ""));
  return out;
}

// Korthikanti et al. 2022 (arXiv 2205.05198) eq. 1–4 and 6 for the standard block with 16-bit activations and dropout:
// s·b·h·(34 + 5·a·s/h) alone; s·b·h·(10 + 24/t + 5·a·s/(h·t)) with tensor parallelism; all divided by t with sequence
// parallelism; without the 5·a·s/h term with the attention core recomputed; 2·s·b·h for the input alone.
struct KorthikantiCase {
  const char* model;
  double h, a;
  int tp, b;
};
class Korthikanti : public testing::TestWithParam<KorthikantiCase> {};

TEST_P(Korthikanti, ActivationsOfTheStandardBlock) {
  const auto [id, h, a, tp, b] = GetParam();
  const double s = 2048, sbh = s * b * h, scores = 5 * a * s / h;
  LayerSharding sharding;
  sharding.fused_attention = false;
  EXPECT_DOUBLE_EQ(block(id, sharding, b).activations.value(), sbh * (34 + scores));

  sharding.tp = tp;
  LayerWork work = block(id, sharding, b);
  EXPECT_DOUBLE_EQ(work.activations.value(), sbh * (10 + 24.0 / tp + scores / tp));
  EXPECT_DOUBLE_EQ(work.activations_selective.value(), sbh * (10 + 24.0 / tp));
  EXPECT_DOUBLE_EQ(work.activation_input.value(), 2 * sbh);

  sharding.sequence_parallel = true;
  work = block(id, sharding, b);
  EXPECT_DOUBLE_EQ(work.activations.value(), sbh / tp * (34 + scores));
  EXPECT_DOUBLE_EQ(work.activations_selective.value(), sbh / tp * 34);
  EXPECT_DOUBLE_EQ(work.output.value(), 2 * sbh / tp);
}

INSTANTIATE_TEST_SUITE_P(Models, Korthikanti,
                         testing::Values(KorthikantiCase{"gpt3-22b", 6144, 64, 8, 4},
                                         KorthikantiCase{"gpt3-175b", 12288, 96, 8, 1},
                                         KorthikantiCase{"turing-530b", 20480, 128, 8, 1}));

// The paper's Figure 7, as percentages of tensor parallelism without recomputation.
TEST(Activations, SharesOfKorthikantiFigure7) {
  for (const auto& [id, sequence_parallel, selective, both, full] :
       std::vector<std::tuple<std::string, double, double, double, double>>{{"gpt3-22b", 66.84, 49.42, 16.18, 7.64},
                                                                            {"gpt3-175b", 62.04, 56.53, 18.49, 8.71}}) {
    LayerSharding sharding;
    sharding.fused_attention = false;
    sharding.tp = 8;
    const LayerWork plain = block(id, sharding);
    const double whole = plain.activations.value() / 100;
    sharding.sequence_parallel = true;
    const LayerWork cut = block(id, sharding);
    EXPECT_NEAR(cut.activations.value() / whole, sequence_parallel, 0.1) << id;
    EXPECT_NEAR(plain.activations_selective.value() / whole, selective, 0.1) << id;
    EXPECT_NEAR(cut.activations_selective.value() / whole, both, 0.1) << id;
    EXPECT_NEAR(plain.activation_input.value() / whole, full, 0.1) << id;
  }
}

// Llama 3 8B, one sequence of 8192, 16 bit, flash attention. Per token in bytes: two norm inputs 2·2·4096; input of QKV
// 2·4096; Q 2·4096, K and V 2·2·1024; attention's output 2·4096; statistics 4·32; input of the MLP 2·4096; gate and up
// 2·2·14336; product 2·14336. No dropout, so no masks.
TEST(Activations, GatedGroupedQueryBlockByHand) {
  const LayerWork work = block("llama3-8b", {}, 1, 8192);
  const double per_token = 16384 + 8192 + 8192 + 4096 + 8192 + 128 + 8192 + 57344 + 28672;
  EXPECT_DOUBLE_EQ(work.activations.value(), 8192 * per_token);
  EXPECT_DOUBLE_EQ(work.freed_mlp.value(), 8192.0 * (57344 + 28672));
  EXPECT_DOUBLE_EQ(work.freed_attention_core.value(), 8192.0 * 128);
  EXPECT_DOUBLE_EQ(work.freed_norm.value(), 8192.0 * 16384);
}

// GPT-3 175B on 8 tensor-parallel ranks: QKV 12288 × 3·12288/8, projection 12288/8 × 12288, MLP 12288 × 49152/8 and
// back.
TEST(LayerWork, ShapesOfAShardedBlock) {
  LayerSharding sharding;
  sharding.tp = 8;
  const LayerWork work = block("gpt3-175b", sharding);
  const auto shape = [&](std::string_view name) {
    const Operator& op = named(work.forward, name).op;
    return std::array{op.m, op.n, op.k};
  };
  EXPECT_EQ(shape("qkv"), (std::array{2048.0, 4608.0, 12288.0}));
  EXPECT_EQ(shape("proj"), (std::array{2048.0, 12288.0, 1536.0}));
  EXPECT_EQ(shape("mlp_up"), (std::array{2048.0, 6144.0, 12288.0}));
  EXPECT_EQ(shape("mlp_down"), (std::array{2048.0, 12288.0, 6144.0}));
  EXPECT_EQ(named(work.forward, "attention").op.batch, 12);
  EXPECT_EQ(named(work.forward, "attention").op.k, 128);
}

// 8 key heads over 16 ranks: two ranks share one and both compute it: 32·128/16 + 2·128 columns.
TEST(LayerWork, MoreRanksThanKeyHeadsShareThem) {
  LayerSharding sharding;
  sharding.tp = 16;
  EXPECT_EQ(named(block("llama3-8b", sharding).forward, "qkv").op.n, 512);
}

// 24·s·h² of products and, halved by a fused kernel under the mask, 4·s²·h of attention; backward twice the products,
// and 2.5 × attention.
TEST(LayerWork, FlopsOfABlockByHand) {
  const double s = 2048, h = 12288, products = 24 * s * h * h, attention = 4 * s * s * h / 2;
  const LayerWork work = block("gpt3-175b", {});
  EXPECT_DOUBLE_EQ(flops(work.forward), products + attention);
  EXPECT_DOUBLE_EQ(flops(work.backward_input), products + 2.5 * attention);
  EXPECT_DOUBLE_EQ(flops(work.backward_weight), products);

  LayerSharding unfused;
  unfused.fused_attention = false;
  EXPECT_DOUBLE_EQ(flops(block("gpt3-175b", unfused).forward), products + 2 * attention);
}

TEST(LayerWork, TensorParallelReducesTwiceEachWay) {
  LayerSharding sharding;
  sharding.tp = 8;
  const LayerWork work = block("gpt3-175b", sharding);
  const std::string reduce = fmt::format("all_reduce:{}", 2.0 * 2048 * 12288);
  EXPECT_EQ(collectives(work.forward, LayerCommunication::tensor), (std::vector{reduce, reduce}));
  EXPECT_EQ(collectives(work.backward_input, LayerCommunication::tensor), (std::vector{reduce, reduce}));
  EXPECT_TRUE(collectives(work.backward_weight, LayerCommunication::tensor).empty());
}

TEST(LayerWork, SequenceParallelGathersAndScatters) {
  LayerSharding sharding;
  sharding.tp = 8;
  sharding.sequence_parallel = true;
  const LayerWork work = block("gpt3-175b", sharding);
  const double bytes = 2.0 * 2048 * 12288;
  const std::string gather = fmt::format("all_gather:{}", bytes), again = gather + "*",
                    scatter = fmt::format("reduce_scatter:{}", bytes);
  EXPECT_EQ(collectives(work.forward, LayerCommunication::tensor), (std::vector{gather, scatter, gather, scatter}));
  EXPECT_EQ(collectives(work.backward_input, LayerCommunication::tensor),
            (std::vector{gather, again, scatter, gather, again, scatter}));
}

// Megatron-LM of 2022 sums (or scatters) an input gradient beside the weight gradient of the same product; the forward
// pass waits as before.
TEST(LayerWork, InputGradientsAreSummedBesideWeightGradients) {
  LayerSharding sharding;
  sharding.tp = 8;
  sharding.input_gradients_overlap = true;
  const double bytes = 2.0 * 2048 * 12288;
  for (const bool sequence_parallel : {false, true}) {
    sharding.sequence_parallel = sequence_parallel;
    const LayerWork work = block("gpt3-175b", sharding);
    const std::string collective = fmt::format("{}:{}", sequence_parallel ? "reduce_scatter" : "all_reduce", bytes);
    const auto forward = collectives(work.forward, LayerCommunication::tensor),
               input = collectives(work.backward_input, LayerCommunication::tensor);
    EXPECT_EQ(std::count(forward.begin(), forward.end(), collective), 2);
    EXPECT_EQ(std::count(input.begin(), input.end(), collective), 0);
    EXPECT_EQ(collectives(work.backward_weight, LayerCommunication::tensor),
              (std::vector{collective + "*", collective + "*"}));
  }
  sharding.sequence_parallel = false;
  sharding.adapter_rank = 16;
  const LayerWork frozen = block("gpt3-175b", sharding);
  EXPECT_EQ(collectives(frozen.backward_input, LayerCommunication::tensor).size(), 2u);
  EXPECT_TRUE(collectives(frozen.backward_weight, LayerCommunication::tensor).empty());
}

// Overlap leaves a quarter of each collective; what the input gradient's scatter hides runs beside the weight gradient
// of the same product, and together they carry the whole tensor twice a block.
TEST(LayerWork, OverlappedScattersRunBesideWeightGradients) {
  LayerSharding sharding;
  sharding.tp = 8;
  sharding.sequence_parallel = true;
  sharding.tensor_exposed = 0.25;
  const double bytes = 2.0 * 2048 * 12288;
  const std::string waited = fmt::format("reduce_scatter:{}", bytes / 4),
                    beside = fmt::format("reduce_scatter:{}*", 0.75 * bytes);
  LayerWork work = block("gpt3-175b", sharding);
  const auto input = collectives(work.backward_input, LayerCommunication::tensor);
  EXPECT_EQ(std::count(input.begin(), input.end(), waited), 2);
  EXPECT_EQ(collectives(work.backward_weight, LayerCommunication::tensor), (std::vector{beside, beside}));
  for (std::size_t i = 0; i < work.backward_weight.size(); ++i) {
    if (work.backward_weight[i].communication != LayerCommunication::tensor) continue;
    const std::string_view product = work.backward_weight.at(i + 1).op.name;
    EXPECT_TRUE(product == "mlp_up_wgrad" || product == "qkv_wgrad") << product;
  }

  // Frozen weights have no such gradient to hide it: the product that yields the gradient does.
  sharding.adapter_rank = 16;
  work = block("gpt3-175b", sharding);
  const auto frozen = collectives(work.backward_input, LayerCommunication::tensor);
  EXPECT_EQ(std::count(frozen.begin(), frozen.end(), waited), 2);
  EXPECT_EQ(std::count(frozen.begin(), frozen.end(), beside), 2);
  for (std::size_t i = 0; i < work.backward_input.size(); ++i) {
    const LayerStep& step = work.backward_input[i];
    if (!step.overlappable || step.collective != LayerCollective::reduce_scatter) continue;
    const std::string_view product = work.backward_input.at(i + 1).op.name;
    EXPECT_TRUE(product == "mlp_up_dgrad" || product == "qkv_dgrad") << product;
  }
  EXPECT_TRUE(collectives(work.backward_weight, LayerCommunication::tensor).empty());
}

// In 8 bit Transformer Engine casts what a rank holds and gathers that: the three gathers of a half, forward, of the
// gradient and of the input again, carry a byte an element and run beside products, not beside casts.
TEST(LayerWork, OperandsAreCastBeforeTheyAreGathered) {
  LayerSharding sharding;
  sharding.tp = 8;
  sharding.sequence_parallel = true;
  sharding.tensor_exposed = 0.25;
  sharding.cast_bytes = 4;
  const double elements = 2048.0 * 12288;
  const auto casts = [](const std::vector<LayerStep>& steps) {
    double bytes = 0;
    for (const LayerStep& step : steps)
      if (step.op.name.starts_with("cast")) bytes += step.op.bytes.value();
    return bytes;
  };
  const LayerWork wide = block("gpt3-175b", sharding);
  sharding.gathered_bytes = 1;
  const LayerWork narrow = block("gpt3-175b", sharding);
  const std::string waited = fmt::format("all_gather:{}", elements / 4),
                    beside = fmt::format("all_gather:{}*", 0.75 * elements);
  for (const auto* steps : {&narrow.forward, &narrow.backward_input}) {
    const auto gathers = collectives(*steps, LayerCommunication::tensor);
    EXPECT_EQ(std::count(gathers.begin(), gathers.end(), waited), 2);
    EXPECT_EQ(std::count(gathers.begin(), gathers.end(), beside), 2);
    for (std::size_t i = 0; i < steps->size(); ++i) {
      if (!(*steps)[i].overlappable) continue;
      const LayerStep& beside_it = steps->at(i + 1);
      EXPECT_EQ(beside_it.op.kind, OperatorKind::gemm) << beside_it.op.name;
    }
  }
  const auto again = collectives(narrow.backward_input, LayerCommunication::tensor);
  EXPECT_EQ(std::count(again.begin(), again.end(), fmt::format("all_gather:{}*", elements)), 2);
  // Seven eighths of two tensors each way are cast by other ranks.
  EXPECT_DOUBLE_EQ(casts(wide.forward) - casts(narrow.forward), 2 * 4 * elements * 7 / 8);
  EXPECT_DOUBLE_EQ(casts(wide.backward_input) - casts(narrow.backward_input), 2 * 4 * elements * 7 / 8);
}

// Llama 3 8B, 8192 tokens: Q of 4096, K and V of 1024 each are read twice and written in a byte, 5 bytes an element,
// and so is the gradient of the result; Q, K and V are kept in a byte instead of two.
TEST(LayerWork, AttentionInEightBitCastsWhatItReads) {
  LayerSharding sharding;
  const LayerWork half = block("llama3-8b", sharding, 1, 8192);
  sharding.eight_bit_attention = true;
  const LayerWork narrow = block("llama3-8b", sharding, 1, 8192);
  const auto bytes = [](const std::vector<LayerStep>& steps, std::string_view name) {
    double sum = 0;
    for (const LayerStep& step : steps)
      if (step.op.name == name) sum += step.op.bytes.value();
    return sum;
  };
  const double heads = 8192.0 * (4096 + 1024 + 1024), result = 8192.0 * 4096;
  EXPECT_EQ(bytes(half.forward, "attention_cast"), 0);
  EXPECT_DOUBLE_EQ(bytes(narrow.forward, "attention_cast"), 5 * heads);
  EXPECT_DOUBLE_EQ(bytes(narrow.backward_input, "attention_cast_gradient"), 5 * result);
  EXPECT_DOUBLE_EQ(bytes(narrow.forward, "attention"), 0.75 * bytes(half.forward, "attention"));
  EXPECT_DOUBLE_EQ(half.activations.value() - narrow.activations.value(), heads);
  EXPECT_DOUBLE_EQ(flops(narrow.forward), flops(half.forward));
  // Exchanged heads travel in a byte: Q, K, V and the result of half of the tokens.
  sharding.cp = 2;
  sharding.context_method = ContextMethod::ulysses;
  EXPECT_EQ(collectives(block("llama3-8b", sharding, 1, 8192).forward, LayerCommunication::context),
            (std::vector<std::string>{
                fmt::format("all_to_all:{}", 4096.0 * 4096), fmt::format("all_to_all:{}", 4096.0 * 1024),
                fmt::format("all_to_all:{}", 4096.0 * 1024), fmt::format("all_to_all:{}", 4096.0 * 4096)}));
  // What recomputes the core casts again.
  EXPECT_DOUBLE_EQ(bytes(narrow.recompute_attention_core, "attention_cast"), 5 * heads);
}

// Llama 3 8B cut over 4 context ranks: 2048 tokens each; K and V of one chunk 2·2·2048·1024 bytes.
TEST(LayerWork, ContextParallelMethods) {
  LayerSharding sharding;
  sharding.cp = 4;
  const double chunk = 2.0 * 2 * 2048 * 1024, whole = flops(block("llama3-8b", {}, 1, 8192).forward);
  const auto forward = [&](ContextMethod method) {
    sharding.context_method = method;
    return block("llama3-8b", sharding, 1, 8192).forward;
  };
  const std::string hop = fmt::format("send_recv:{}*", chunk);
  EXPECT_EQ(collectives(forward(ContextMethod::ring), LayerCommunication::context), (std::vector{hop, hop, hop}));
  EXPECT_EQ(collectives(forward(ContextMethod::all_gather), LayerCommunication::context),
            (std::vector{fmt::format("all_gather:{}", 4 * chunk)}));
  EXPECT_EQ(collectives(forward(ContextMethod::ulysses), LayerCommunication::context).size(), 4U);
  for (const ContextMethod method : {ContextMethod::ring, ContextMethod::all_gather, ContextMethod::ulysses})
    EXPECT_NEAR(4 * flops(forward(method)) / whole, 1, 1e-12) << name_of(method);
}

// Mixtral, 2 sequences of 4096 on 4 expert-parallel ranks: each routes 2·8192 tokens of 4096·2 bytes and computes 2
// experts of 8192 rows.
TEST(LayerWork, ExpertsExchangeTokensTwiceEachWay) {
  LayerSharding sharding;
  sharding.ep = 4;
  const LayerWork work = layer_work(*preset("mixtral-8x7b"), LayerRole::moe_block, 0, 2, 4096, sharding);
  const std::string exchange = fmt::format("all_to_all:{}", 2.0 * 8192 * 4096 * 2);
  EXPECT_EQ(collectives(work.forward, LayerCommunication::expert), (std::vector{exchange, exchange}));
  EXPECT_EQ(collectives(work.backward_input, LayerCommunication::expert), (std::vector{exchange, exchange}));
  const Operator& up = named(work.forward, "expert_up").op;
  EXPECT_EQ((std::array{up.batch, up.m, up.n, up.k}), (std::array{2.0, 8192.0, 28672.0, 4096.0}));
  EXPECT_EQ(work.expert_parameters, 2.0 * 3 * 4096 * 14336);
}

// Of eight experts one token reads the two that it chooses; three tokens reach 1 - (3/4)^3 of them on average.
TEST(LayerWork, ExpertsThatNoTokenChoosesAreNotRead) {
  const auto up = [](int tokens) {
    return named(layer_work(*preset("mixtral-8x7b"), LayerRole::moe_block, 0, tokens, 1, {}).forward, "expert_up").op;
  };
  for (const auto& [tokens, read] : {std::pair{1, 2.0}, std::pair{3, 8 * (1 - 27.0 / 64)}}) {
    const Operator op = up(tokens);
    EXPECT_DOUBLE_EQ(op.batch, read) << tokens;
    EXPECT_DOUBLE_EQ(op.batch * op.m, 2.0 * tokens);
    EXPECT_DOUBLE_EQ(op.rows, op.m);
  }
  EXPECT_EQ(up(4096).batch, 8);
}

// The same cut over 2 tensor ranks, which hold 4096 tokens each. Sharing an expert they need each other's tokens; whole
// experts take those of their own rank alone, and no tensor rank's.
TEST(LayerWork, WholeExpertsOnTensorRanks) {
  LayerSharding sharding;
  sharding.tp = 2;
  sharding.ep = 4;
  sharding.sequence_parallel = true;
  const auto work = [&](int etp) {
    sharding.etp = etp;
    return layer_work(*preset("mixtral-8x7b"), LayerRole::moe_block, 0, 2, 4096, sharding);
  };
  const auto shape = [](const LayerWork& of) {
    const Operator& up = named(of.forward, "expert_up").op;
    return std::array{up.batch, up.m, up.n, up.k};
  };
  const LayerWork whole = work(1), shared = work(2);
  EXPECT_EQ(shape(whole), (std::array{2.0, 4096.0, 28672.0, 4096.0}));
  EXPECT_EQ(shape(shared), (std::array{2.0, 8192.0, 14336.0, 4096.0}));
  EXPECT_EQ(collectives(whole.forward, LayerCommunication::expert),
            collectives(shared.forward, LayerCommunication::expert));
  // A gather and a scatter of the routed tokens of both ranks each way.
  const auto of_tensor = [](const LayerWork& of) { return collectives(of.forward, LayerCommunication::tensor); };
  auto without = of_tensor(shared);
  for (const char* name : {"all_gather", "reduce_scatter"}) {
    const auto at = std::find(without.begin(), without.end(), fmt::format("{}:{}", name, 2.0 * 8192 * 4096 * 2));
    ASSERT_NE(at, without.end()) << name;
    without.erase(at);
  }
  EXPECT_EQ(of_tensor(whole), without);
  EXPECT_EQ(whole.expert_parameters, 2 * shared.expert_parameters);
  // Inputs of the experts, gate and up, and the product: 2 · 4096 rows of whole width, or twice as many of half.
  const double rows = 2.0 * 4096 * 2;
  EXPECT_DOUBLE_EQ((shared.activations - whole.activations).value(), rows * 4096);
}

// gpt-oss on 64 ranks: two sequences of 4096 to 4 experts each, of 2880. In fp32 and 16 bit 28 bytes an element forward
// and 40 backward (the operators of TEGroupedMLP._apply_bias, counted by hand); nothing where they are fused.
TEST(LayerWork, BiasesOfExpertsPassOverTheirResults) {
  LayerSharding sharding;
  sharding.ep = 64;
  sharding.fused_expert_biases = false;
  const auto work = [&](const char* id) { return layer_work(*preset(id), LayerRole::moe_block, 0, 2, 4096, sharding); };
  const double elements = 2.0 * 4096 * 4 * 2880;
  EXPECT_DOUBLE_EQ(named(work("gpt-oss-120b").forward, "expert_bias").op.bytes.value(), 28 * elements);
  EXPECT_DOUBLE_EQ(named(work("gpt-oss-120b").backward_input, "expert_bias_backward").op.bytes.value(), 40 * elements);
  EXPECT_THROW(named(work("mixtral-8x7b").forward, "expert_bias"), std::logic_error);
  sharding.fused_expert_biases = true;
  EXPECT_THROW(named(work("gpt-oss-120b").forward, "expert_bias"), std::logic_error);
}

// Keeps the norm's and the product's inputs; the logits come and go with the loss.
TEST(LayerWork, OutputLayerIsCutByVocabulary) {
  LayerSharding sharding;
  sharding.tp = 8;
  const LayerWork work = layer_work(*preset("gpt3-175b"), LayerRole::output, 0, 1, 2048, sharding);
  EXPECT_EQ(named(work.forward, "logits").op.n, 6400);
  EXPECT_DOUBLE_EQ(work.activations.value(), 2048 * 4 * 12288.0);
  EXPECT_EQ(collectives(work.forward, LayerCommunication::tensor),
            (std::vector<std::string>{"all_reduce:8192", "all_reduce:8192", "all_reduce:8192"}));
  EXPECT_EQ(work.tied_parameters, 6400.0 * 12288);
  EXPECT_EQ(work.parameters, 2 * 12288);
}

TEST(LayerWork, EmbeddingsAreReducedOverTheVocabulary) {
  LayerSharding sharding;
  sharding.tp = 8;
  const LayerWork work = layer_work(*preset("gpt3-175b"), LayerRole::embedding, 0, 1, 2048, sharding);
  EXPECT_EQ(collectives(work.forward, LayerCommunication::tensor).size(), 1U);
  EXPECT_EQ(work.parameters, 6400.0 * 12288 + 2048 * 12288);
}

// ResNet-50's first convolution on 32 images: 112² pixels each, window 3·7·7, 64 channels; no gradient of the image.
TEST(LayerWork, ConvolutionIsAnImplicitProduct) {
  const auto model = preset("resnet50");
  const LayerWork first = layer_work(*model, LayerRole::cnn, 0, 32, 0, {});
  const Operator& op = named(first.forward, "convolution").op;
  EXPECT_EQ((std::array{op.m, op.n, op.k}), (std::array{32.0 * 112 * 112, 64.0, 147.0}));
  EXPECT_EQ(flops(first.backward_input), 0);
  double forward = 0;
  for (int row = 0; row < layer_count(*model); ++row)
    forward += flops(layer_work(*model, LayerRole::cnn, row, 32, 0, {}).forward);
  EXPECT_NEAR(forward / 32, 8.178e9, 0.005e9);
}

// timm counts 11.11 M elements of convolution outputs for ResNet-50; each is kept before and after its batch norm. The
// pools and the last row add 0.2 M + 1 k.
TEST(LayerWork, ActivationsOfResNet50) {
  const auto model = preset("resnet50");
  double bytes = 0;
  for (int row = 0; row < layer_count(*model); ++row)
    bytes += layer_work(*model, LayerRole::cnn, row, 1, 0, {}).activations.value();
  EXPECT_NEAR(bytes / (2 * 2 * 11.11e6), 1, 0.02);
}

TEST(LayerWork, RefusesARoleThatTheModelLacks) {
  EXPECT_THROW(layer_work(*preset("gpt2"), LayerRole::cnn, 0, 1, 1024, {}), std::logic_error);
  EXPECT_THROW(layer_work(*preset("resnet50"), LayerRole::output, 0, 1, 0, {}), std::logic_error);
}

}  // namespace
}  // namespace stepcast::layer_work_test
