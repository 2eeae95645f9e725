#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/imported_text.hpp"

namespace stepcast::import_megatron_forks_test {
namespace {

using test::ImportedText;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ImportedText of(const std::string& arguments, const std::string& name = "train.sh") {
  return test::import_text(import_megatron, name, arguments, {});
}

Json shape_of(const std::string& arguments) {
  const ImportedText out = of(arguments);
  EXPECT_EQ(out.faults, "");
  return out.faults.empty() ? out.scenario["workload"]["model"]["transformer"] : Json::object();
}

double parameters_of(const std::string& arguments) {
  const ImportedText out = of(arguments);
  EXPECT_EQ(out.faults, "");
  if (!out.faults.empty()) return 0;
  return parameter_count(*resolve(out.scenario, "imported", {}, test::catalog()).model);
}

const std::string kSmall =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --micro-batch-size 1 "
    "--global-batch-size 64 --bf16 --vocab-size 32000 ";
const std::string kExperts = kSmall + "--num-experts 16 --moe-ffn-hidden-size 512 ";

const std::string kDeepSeek3 =
    "--hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --seq-length 4096 --micro-batch-size 1 "
    "--global-batch-size 3840 --bf16 --vocab-size 129280 --padded-vocab-size 129280 --swiglu --normalization RMSNorm "
    "--position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear --num-experts 256 "
    "--moe-router-topk 8 --q-lora-rank 1536 --kv-lora-rank 512 --v-head-dim 128 --qk-layernorm "
    "--tensor-model-parallel-size 4 --expert-model-parallel-size 8 --sequence-parallel ";

// DeepSeek-V3 as MindSpeed-LLM's scripts name its sizes: 671 G, 61 of 64 layers in eight stages.
TEST(MegatronForks, MindSpeedsNamesMakeTheSameModel) {
  const std::string arguments =
      kDeepSeek3 +
      "--num-layers 64 --noop-layers 61,62,63 --pipeline-model-parallel-size 8 --multi-head-latent-attention "
      "--qk-rope-head-dim 64 --qk-nope-head-dim 128 --first-k-dense-replace 3 --moe-layer-freq 1 --n-shared-experts 1 "
      "--moe-intermediate-size 2048 --moe-ffn-hidden-size 2048 --n-group 8 --topk-group 4 --moe-tp-extend-ep "
      "--moe-permutation-async-comm --moe-fb-overlap";
  EXPECT_NEAR(parameters_of(arguments) / 1e9, 671, 1);
  const ImportedText out = of(arguments);
  const Json& shape = out.scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["layers"], 61);
  EXPECT_EQ(shape["dense_layers"], 3);
  EXPECT_EQ(shape["shared_expert_ffn"], 2048);
  EXPECT_EQ(shape["expert_groups"], 8);
  EXPECT_EQ(shape["groups_per_token"], 4);
  const Json& strategy = out.scenario["strategy"];
  EXPECT_EQ(strategy["stage_layers"], Json({8, 8, 8, 8, 8, 8, 8, 5}));
  EXPECT_EQ(strategy["expert_parallel"], 32);
  EXPECT_EQ(strategy["expert_tensor_parallel"], 1);
  EXPECT_THAT(out.notes, AllOf(HasSubstr("--moe-fb-overlap"), HasSubstr("--moe-permutation-async-comm"),
                               Not(HasSubstr("--vocab-size"))));
}

// Its later scripts have Megatron-LM's names, and lists of all layers, those that do nothing included.
TEST(MegatronForks, ListsCountLayersThatDoNothing) {
  EXPECT_NEAR(parameters_of(kDeepSeek3 +
                            "--num-layers 64 --noop-layers 61,62,63 --multi-latent-attention --qk-pos-emb-head-dim 64 "
                            "--qk-head-dim 128 --moe-layer-freq ([0]*3+[1]*61) --moe-ffn-hidden-size 2048 "
                            "--moe-shared-expert-intermediate-size 2048") /
                  1e9,
              671, 1);
  const Json behind = shape_of(kExperts + "--noop-layers 1 --moe-layer-freq [0,1,1,1,1,1,1,1]");
  EXPECT_EQ(behind["layers"], 7);
  EXPECT_EQ(behind["dense_layers"], 1);
}

TEST(MegatronForks, LayersThatDoNothingAreTheModels) {
  EXPECT_THAT(of(kSmall + "--noop-layers 8").faults, HasSubstr("--noop-layers: found \"8\"; layers of 0 to 7"));
  EXPECT_THAT(of(kSmall + "--noop-layers 0,1,2,3,4,5,6,7").faults, HasSubstr("names all 8 layers"));
  EXPECT_THAT(of(kSmall + "--noop-layers x").faults, HasSubstr("--noop-layers: found \"x\""));
  EXPECT_THAT(of(kSmall + "--noop-layers 7 --pipeline-model-parallel-size 3").faults,
              HasSubstr("8 layers, those that do nothing included, do not fill 3 stages of 1 chunk"));
}

TEST(MegatronForks, AListSaysTheLayersOfStages) {
  const auto staged = [](const std::string& rest) { return of(kSmall + "--pipeline-model-parallel-size 4 " + rest); };
  EXPECT_EQ(staged("--num-layer-list 3,2,1,2").scenario["strategy"]["stage_layers"], Json({3, 2, 1, 2}));
  EXPECT_EQ(staged("--num-layer-list 3,2,1,2 --noop-layers 7").scenario["strategy"]["stage_layers"],
            Json({3, 2, 1, 1}));
  EXPECT_THAT(staged("--num-layer-list 4,4").faults, HasSubstr("found 2 numbers, expected one for each of 4 stages"));
  EXPECT_THAT(staged("--num-layer-list 3,2,2,2").faults, HasSubstr("its 9 layers are not the 8 of --num-layers"));
  EXPECT_THAT(staged("--num-layer-list x").faults, HasSubstr("--num-layer-list: found \"x\""));
  EXPECT_THAT(staged("--num-layer-list 3,2,1,2 --decoder-last-pipeline-num-layers 2").faults,
              HasSubstr("stands beside another option"));
}

// Pai-Megatron-Patch's program for DeepSeek-V2, whose attention is latent without a switch: 236 G.
TEST(MegatronForks, PaisNamesMakeTheSameModel) {
  const std::string arguments =
      "--num-layers 60 --hidden-size 5120 --num-attention-heads 128 --ffn-hidden-size 12288 --seq-length 4096 "
      "--micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size 102400 --swiglu --normalization RMSNorm "
      "--position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear "
      "--moe-ffn-hidden-size 1536 --enable-shared-expert --moe-layer-freq 1 --num-shared-experts 2 "
      "--moe-router-topk 6 --num-experts 160 --q-lora-rank 1536 --kv-lora-rank 512 --qk-nope-head-dim 128 "
      "--qk-rope-head-dim 64 --v-head-dim 128 ";
  EXPECT_NEAR(parameters_of(arguments) / 1e9, 239, 1);  // every layer has experts, the published model's first has none
  EXPECT_NEAR(parameters_of(arguments + "--first-k-dense-replace 1") / 1e9, 236, 1);
  const ImportedText out = of(arguments);
  EXPECT_EQ(out.scenario["workload"]["model"]["transformer"]["shared_expert_ffn"], 3072);
  EXPECT_THAT(out.notes, HasSubstr("--kv-lora-rank without --multi-latent-attention"));
}

TEST(MegatronForks, SharedExpertsSayHowWideTheyAre) {
  EXPECT_EQ(shape_of(kExperts + "--enable-shared-expert --shared-moe-ffn-hidden-size 768")["shared_expert_ffn"], 768);
  EXPECT_FALSE(shape_of(kExperts + "--n-shared-experts 0").contains("shared_expert_ffn"));
  EXPECT_THAT(of(kExperts + "--enable-shared-expert").faults, HasSubstr("nothing says how wide"));
  EXPECT_THAT(of(kExperts + "--n-shared-experts 2 --moe-shared-expert-intermediate-size 512").faults,
              HasSubstr("2 of 512 make a width of 1024, but 512 is stated"));
}

// DeepSeek-V2's routing limits a token to experts of some devices.
TEST(MegatronForks, GroupsWithoutANumberAreTheRanks) {
  const Json limited = shape_of(kExperts +
                                "--expert-model-parallel-size 8 --topk-group 3 --moe-router-topk 6 "
                                "--moe-router-load-balancing-type group_limited_greedy");
  EXPECT_EQ(limited["expert_groups"], 8);
  EXPECT_EQ(limited["groups_per_token"], 3);
  EXPECT_FALSE(shape_of(kExperts + "--topk-group 1").contains("groups_per_token"));
}

TEST(MegatronForks, AnIndexerMakesAttentionSparse) {
  const Json shape =
      shape_of(kSmall + "--multi-latent-attention --enable-dsa-indexer --index-topk 512 --index-n-heads 32");
  EXPECT_EQ(shape["sparse_attention"], (Json{{"tokens", 512}, {"indexer_heads", 32}, {"indexer_head_dim", 128}}));
}

TEST(MegatronForks, TwoNamesOfOneSizeAgree) {
  EXPECT_THAT(of(kExperts + "--moe-intermediate-size 1024").faults,
              HasSubstr("--moe-intermediate-size: found 1024, but --moe-ffn-hidden-size, which says the same, is 512"));
}

// A size that is passed over would make another model, and a note on it be easily passed over, too.
TEST(MegatronForks, SizesThatAreNotReadAreFaults) {
  for (const char* option : {"--n-routed-experts 64", "--moe-zero-experts 4", "--first-dense-layers 3",
                             "--o-proj-lora-rank 8", "--nope-head-dim 64", "--use-residual-moe"})
    EXPECT_THAT(of(kSmall + option).faults, HasSubstr("speaks of the model's size")) << option;
  for (const char* option : {"--moe-zero-experts 0", "--moe-expert-capacity-factor 1.25", "--v-head-dim 128",
                             "--moe-ffn-hidden-size 512", "--moe-deepep-num-sms 20", "--mamba-head-dim 64"})
    EXPECT_EQ(of(kSmall + option).faults, "") << option;
}

// A dump of a class states its defaults.
TEST(MegatronForks, RanksOfLatentsThatYamlSwitchesOff) {
  const std::string yaml = R"(model:
  num_layers: 8
  hidden_size: 1024
  num_attention_heads: 8
  seq_length: 1024
  vocab_size: 32000
  kv_lora_rank: 512
  multi_latent_attention: false
train:
  micro_batch_size: 1
  global_batch_size: 64
)";
  const ImportedText out = of(yaml, "train.yaml");
  EXPECT_EQ(out.faults, "");
  EXPECT_FALSE(out.scenario["workload"]["model"]["transformer"].contains("kv_lora_rank"));
}

}  // namespace
}  // namespace stepcast::import_megatron_forks_test
