#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/huggingface_config.hpp"

// Experts under the names of types that are not known, and experts that nothing here can read.

namespace stepcast::import_huggingface_experts_test {
namespace {

using test::huggingface::faults_of;
using test::huggingface::of;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string kSizes =
    R"("hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
       "vocab_size": 32000, "max_position_embeddings": 4096, "rms_norm_eps": 1e-05)";

std::string kin(const std::string& keys) {
  return R"({"architectures": ["NewMoeForCausalLM"], "model_type": "newmoe", )" + kSizes + ", " + keys + "}";
}

// rhymes-ai/Aria: 25 billion parameters, of which 3.9 a token (its page).
TEST(HuggingFaceExperts, AriaHasThem) {
  const ImportedModel aria = of(R"({"architectures": ["AriaForConditionalGeneration"], "model_type": "aria",
    "text_config": {"hidden_size": 2560, "intermediate_size": 13568, "max_position_embeddings": 65536,
    "model_type": "aria_moe_lm", "moe_intermediate_size": 1664, "moe_num_experts": 64, "moe_num_shared_experts": 2,
    "moe_topk": 6, "num_attention_heads": 20, "num_experts_per_tok": 6, "num_hidden_layers": 28,
    "num_key_value_heads": 20, "rope_theta": 5000000, "vocab_size": 100352, "rms_norm_eps": 1e-6}})");
  EXPECT_NEAR(aria.parameters / 1e9, 24.9, 0.1);
  EXPECT_NEAR(aria.active_parameters / 1e9, 3.9, 0.25);  // 4.12, of which 0.26 are the table of embeddings
  EXPECT_THAT(aria.notes, Not(Contains(HasSubstr("unknown keys"))));
}

// configuration_cohere2_moe.py and modeling_cohere2_moe.py of transformers.
TEST(HuggingFaceExperts, CohereHasNarrowOnesBehindAWideFirstLayer) {
  const Json shape = of(R"({"architectures": ["Cohere2MoeForCausalLM"], "model_type": "cohere2_moe",
    "hidden_size": 4096, "intermediate_size": 2048, "num_hidden_layers": 40, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 256000, "num_experts": 128, "num_experts_per_tok": 8,
    "num_shared_experts": 1, "first_k_dense_replace": 1, "prefix_dense_intermediate_size": 22528,
    "expert_selection_fn": "sigmoid", "shared_expert_combination_strategy": "sum"})")
                         .model["transformer"];
  EXPECT_EQ(shape["ffn_hidden"], 22528);
  EXPECT_EQ(shape["moe_ffn_hidden"], 2048);
  EXPECT_EQ(shape["shared_expert_ffn"], 2048);
  EXPECT_EQ(shape["dense_layers"], 1);
}

TEST(HuggingFaceExperts, SynonymsAreReadWhateverTheType) {
  for (const char* keys : {R"("moe_num_experts": 64, "moe_topk": 6, "moe_num_shared_experts": 2)",
                           R"("moe_num_experts": 64, "moe_top_k": 6, "share_expert_dim": 2816)",
                           R"("num_experts": 64, "num_experts_per_token": 6, "num_shared_experts": 2)"}) {
    const Json shape = of(kin(std::string(keys) + R"(, "moe_intermediate_size": 1408)")).model["transformer"];
    EXPECT_EQ(shape["experts"], 64) << keys;
    EXPECT_EQ(shape["top_k"], 6) << keys;
    EXPECT_EQ(shape["shared_expert_ffn"], 2816) << keys;
  }
  EXPECT_EQ(of(R"({"model_type": "llama", "moe_num_experts": 64, "moe_topk": 6, "moe_intermediate_size": 1408, )" +
               kSizes + "}")
                .model["transformer"]["experts"],
            64);
  // A synonym counts, not the class's own number of experts.
  EXPECT_EQ(of(R"({"model_type": "mixtral", "moe_num_experts": 64, )" + kSizes + "}").model["transformer"]["experts"],
            64);
}

TEST(HuggingFaceExperts, UnreadOnesAreFaults) {
  EXPECT_THAT(faults_of(kin(R"("n_experts": 64, "experts_top_k": 6, "expert_ffn_hidden_size": 1408)")),
              AllOf(HasSubstr("/n_experts: found 64"), HasSubstr("/experts_top_k: found 6"),
                    HasSubstr("/expert_ffn_hidden_size: found 1408"), HasSubstr("num_experts_per_tok")));
  // Beside experts that are read, too: what they lack is named.
  const std::string routed = R"("num_experts": 64, "num_experts_per_tok": 6, )";
  EXPECT_THAT(faults_of(kin(routed + R"("expert_intermediate_size": 1408)")), HasSubstr("/expert_intermediate_size"));
  EXPECT_THAT(faults_of(kin(routed + R"("n_share_expert": 1)")), HasSubstr("/n_share_expert"));
  EXPECT_THAT(faults_of(kin(routed + R"("moe_topk": 2)")), HasSubstr("/moe_topk: found 2"));
  // Sizes of experts without a number of them.
  EXPECT_THAT(faults_of(kin(R"("moe_intermediate_size": 1408)")), HasSubstr("/moe_intermediate_size: found 1408"));
  // Step 3 lists which layers have experts; its last has none.
  EXPECT_THAT(faults_of(kin(routed + R"("moe_layers_enum": "4,5,6,7")")), HasSubstr("/moe_layers_enum"));
  EXPECT_THAT(faults_of(kin(routed + R"("moe_layer_end_index": 27)")),
              HasSubstr("/moe_layer_end_index: found 27, expected 31"));
}

// Snowflake's Arctic has an MLP beside its experts, which no key names: 480 G parameters would be 473 G.
TEST(HuggingFaceExperts, MlpsBesideThemWithoutAKeyAreRefused) {
  EXPECT_THAT(faults_of(R"({"model_type": "arctic", "hidden_size": 7168, "intermediate_size": 4864,
                            "num_hidden_layers": 35, "num_attention_heads": 56, "num_local_experts": 128,
                            "num_experts_per_tok": 2, "vocab_size": 32000})"),
              HasSubstr("/model_type: found \"arctic\""));
}

TEST(HuggingFaceExperts, NoneAndWhatChangesNoShapeAreNoFaults) {
  for (const char* keys :
       {R"("num_experts": 0, "moe_intermediate_size": 1408, "num_experts_per_tok": 2)", R"("n_experts": 0)",
        R"("num_local_experts": 1, "moe_topk": 1)", R"("n_experts": null)", R"("n_experts": 1)",
        R"("use_moe_layers": false)", R"("moe_intermediate_size": null)", R"("moe_layer_list": [])"})
    EXPECT_FALSE(of(kin(keys)).model["transformer"].contains("experts")) << keys;
  for (const char* keys :
       {R"("moe_aux_loss_coeff": 0.01)", R"("moe_router_dtype": "fp32")", R"("moe_router_enable_expert_bias": true)",
        R"("norm_expert_weight": true)", R"("experts_implementation": "eager")", R"("expert_dtype": "fp4")",
        R"("moe_layer_end_index": -1)", R"("moe_layer_end_index": 31)", R"("moe_router_scaling_factor": 2.5)"})
    EXPECT_EQ(faults_of(kin(R"("num_experts": 8, "num_experts_per_tok": 2, )" + std::string(keys))), "") << keys;
}

// configuration_doge.py: is_moe is false, and what its experts would be is there all the same.
TEST(HuggingFaceExperts, SwitchedOffOnesAreNotThere) {
  const std::string sizes = R"("num_experts": 16384, "num_experts_per_tok": 64, "moe_intermediate_size": 1408)";
  for (const char* off : {"is_moe", "use_moe", "enable_moe_block"}) {
    const ImportedModel model = of(kin("\"" + std::string(off) + "\": false, " + sizes));
    EXPECT_FALSE(model.model["transformer"].contains("experts")) << off;
    EXPECT_LT(model.parameters, 7e9) << off;
    EXPECT_THAT(model.notes, Not(Contains(HasSubstr("unknown keys")))) << off;
  }
  EXPECT_EQ(of(kin(R"("is_moe": true, )" + sizes)).model["transformer"]["experts"], 16384);
  EXPECT_FALSE(
      of(R"({"model_type": "mixtral", "is_moe": false, )" + kSizes + "}").model["transformer"].contains("experts"));
  EXPECT_THAT(faults_of(kin(R"("is_moe": "no", )" + sizes)), HasSubstr("/is_moe"));
}

}  // namespace
}  // namespace stepcast::import_huggingface_experts_test
