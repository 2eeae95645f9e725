#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/megatron_compressed.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/huggingface_config.hpp"
#include "tests/unit/shipped.hpp"

// DeepSeek-V4's configurations: compressed attention and hyper-connections.
namespace stepcast::import_deepseek_v4_test {
namespace {

using test::huggingface::faults_of;
using test::huggingface::of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFlash =
    R"({"model_type":"deepseek_v4","architectures":["DeepseekV4ForCausalLM"],"hidden_act":"silu","hidden_size":4096,
        "head_dim":512,"index_head_dim":128,"index_n_heads":64,"index_topk":512,"max_position_embeddings":1048576,
        "moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,"norm_topk_prob":true,
        "num_attention_heads":64,"num_experts_per_tok":6,"num_hidden_layers":43,"num_hash_layers":3,
        "num_key_value_heads":1,"num_nextn_predict_layers":1,"o_groups":8,"o_lora_rank":1024,"q_lora_rank":1024,
        "qk_rope_head_dim":64,"rms_norm_eps":1e-06,"rope_theta":10000,"routed_scaling_factor":1.5,
        "scoring_func":"sqrtsoftplus","sliding_window":128,"swiglu_limit":10.0,"tie_word_embeddings":false,
        "vocab_size":129280,"compress_rope_theta":160000,"topk_method":"noaux_tc","hc_mult":4,"hc_sinkhorn_iters":20,
        "hc_eps":1e-06,"compress_ratios":[0,0,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,
        128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0]})";

// The published file says what the preset does; its last ratio is the prediction block's.
TEST(ImportDeepSeekV4, AFileSaysWhatThePresetDoes) {
  const ImportedModel imported = of(kFlash);
  const auto preset = test::preset("deepseek-v4-flash");
  EXPECT_EQ(imported.parameters, parameter_count(*preset));
  const Json& shape = imported.model["transformer"];
  const Json expected = TransformerShape::fields().write(*preset->transformer);
  for (const auto& [key, value] : shape.items()) EXPECT_EQ(value, expected.at(key)) << key;
  EXPECT_THAT(imported.notes, Not(testing::Contains(HasSubstr("unknown keys"))));
}

/// A small file with so many layers and what says their kinds.
std::string small(int layers, const std::string& kinds) {
  return R"({"model_type":"deepseek_v4","hidden_size":1024,"moe_intermediate_size":512,"n_routed_experts":8,
             "num_attention_heads":16,"vocab_size":32000,"num_hidden_layers":)" +
         std::to_string(layers) + kinds + "}";
}
Json ratios(int layers, const std::string& kinds) {
  return of(small(layers, kinds)).model["transformer"]["compressed_attention"]["ratios"];
}

// As transformers writes them, and as its class fills in what a file leaves out.
TEST(ImportDeepSeekV4, LayersAreNamedOrUsual) {
  EXPECT_EQ(ratios(3, R"(,"layer_types":["sliding_attention","compressed_sparse_attention",
                         "heavily_compressed_attention"])"),
            Json({0, 4, 128}));
  EXPECT_EQ(ratios(2, R"(,"layer_types":["compressed_sparse_attention","heavily_compressed_attention"],
                         "compress_rates":{"compressed_sparse_attention":8,"heavily_compressed_attention":64})"),
            Json({8, 64}));
  EXPECT_EQ(ratios(6, ""), Json({128, 128, 128, 4, 128, 4}));
  const Json heavy = of(small(2, R"(,"compress_ratios":[128,0,0])")).model["transformer"]["compressed_attention"];
  EXPECT_FALSE(heavy.contains("indexed_ratio"));
}

TEST(ImportDeepSeekV4, FaultsSayWhatIsWrong) {
  EXPECT_THAT(faults_of(small(3, R"(,"compress_ratios":[0,4])")), HasSubstr("/compress_ratios: found 2 entries"));
  EXPECT_THAT(faults_of(small(2, R"(,"compress_ratios":[0,"4"])")), HasSubstr("/compress_ratios/1"));
  EXPECT_THAT(faults_of(small(1, R"(,"layer_types":["full_attention"])")), HasSubstr("/layer_types/0"));
}

TEST(MegatronNumbers, AreSumsAndProductsOfLists) {
  EXPECT_THAT(megatron_numbers("([0,0]+[4, 128]*2+[4])").value(), ElementsAre(0, 0, 4, 128, 4, 128, 4));
  EXPECT_THAT(megatron_numbers("[0,4,128]").value(), ElementsAre(0, 4, 128));
  // As arguments are read: without brackets, and with commas for what parted words.
  EXPECT_THAT(megatron_numbers("(,0,0,+,4,128,*2+,4,)").value(), ElementsAre(0, 0, 4, 128, 4, 128, 4));
  for (const char* wrong : {"", "[]", "[4]*", "[-4]", "[4]*1000000000", "([4]", "[,]", "[4]x"})
    EXPECT_FALSE(megatron_numbers(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace stepcast::import_deepseek_v4_test
