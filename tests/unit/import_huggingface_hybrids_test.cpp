#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/huggingface_config.hpp"

// Models of Mamba-2 mixers, attention, MLPs and experts in other layouts than nemotron_h's.
namespace stepcast::import_huggingface_hybrids_test {
namespace {

using test::huggingface::faults_of;
using test::huggingface::of;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string kMamba2 = R"({"model_type": "mamba2", "hidden_size": 2560, "num_heads": 80, "head_dim": 64,
    "state_size": 128, "n_groups": 1, "conv_kernel": 4, "expand": 2, "chunk_size": 256, "num_hidden_layers": 64,
    "vocab_size": 50288, "tie_word_embeddings": true, "rms_norm": true, "use_bias": false, "use_conv_bias": true,
    "residual_in_fp32": true, "time_step_rank": 160, "hidden_act": "silu"})";
const std::string kBamba = R"({"model_type": "bamba", "attn_layer_indices": [9, 18, 27], "attn_rotary_emb": 64,
    "hidden_size": 4096, "intermediate_size": 14336, "mamba_chunk_size": 256, "mamba_conv_bias": true,
    "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_expand": 2, "mamba_n_groups": 1,
    "mamba_n_heads": 128, "mamba_proj_bias": false, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "max_position_embeddings": 262144, "num_logits_to_keep": 1, "rms_norm_eps": 1e-5,
    "tie_word_embeddings": false, "vocab_size": 128256})";
const std::string kFalcon = R"({"model_type": "falcon_h1", "attn_layer_indices": null, "head_dim": 64,
    "hidden_size": 1024, "intermediate_size": 2048, "key_multiplier": 0.5, "mamba_chunk_size": 128,
    "mamba_conv_bias": true, "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_ssm": 1536, "mamba_d_state": 128,
    "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 24, "mamba_rms_norm": false, "mamba_use_mlp": true,
    "mlp_multipliers": [0.88, 0.31], "num_attention_heads": 8, "num_hidden_layers": 36, "num_key_value_heads": 2,
    "max_position_embeddings": 16384, "tie_word_embeddings": false, "vocab_size": 32784})";

/// granite-4.0-h-tiny with so many blocks of the kinds that `kinds` lists.
std::string granite(const std::string& kinds, int blocks, const std::string& experts = "64") {
  return R"({"model_type": "granitemoehybrid", "hidden_size": 1536, "intermediate_size": 512, "layer_types": )" +
         kinds + R"(, "mamba_chunk_size": 256, "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_state": 128,
      "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 48, "num_attention_heads": 12,
      "num_experts_per_tok": 6, "num_key_value_heads": 4, "position_embedding_type": "nope",
      "shared_intermediate_size": 1024, "max_position_embeddings": 131072, "tie_word_embeddings": true,
      "vocab_size": 100352, "num_local_experts": )" +
         experts + R"(, "num_hidden_layers": )" + std::to_string(blocks) + "}";
}

/// Forty kinds, attention in every tenth block from the sixth on.
std::string kinds_of_tiny() {
  std::string out = "[";
  for (int block = 0; block < 40; ++block)
    out += std::string(block > 0 ? ", " : "") + (block % 10 == 5 ? "\"attention\"" : "\"mamba\"");
  return out + "]";
}

// State dictionaries on huggingface.co. A mixer of Mamba-2 2.7B: 2560·(2·5120 + 2·128 + 80) in, (5120 + 256)·5 of the
// convolution, 3·80, a norm of 5120, 5120·2560 out and a norm of 2560; 64 of them, a tied table and a last norm.
TEST(HuggingFaceHybrids, ParametersAreThePublishedOnes) {
  EXPECT_EQ(of(kMamba2).parameters, 2702599680.0);
  EXPECT_EQ(of(kBamba).parameters, 9780235392.0);
  EXPECT_EQ(of(granite(kinds_of_tiny(), 40)).parameters, 6939037248.0);
  // The gated norm of a mixer, which this one lacks, and a norm for each of both halves that share one.
  EXPECT_EQ(of(kFalcon).parameters, 521411104.0 + 36 * (1536 + 1024));
}

TEST(HuggingFaceHybrids, LayersAreLetters) {
  EXPECT_EQ(of(kMamba2).model["transformer"]["layer_pattern"], std::string(64, 'M'));
  const Json bamba = of(kBamba).model["transformer"];
  EXPECT_EQ(bamba["layers"], 64);
  EXPECT_EQ(bamba["layer_pattern"].get<std::string>().substr(16, 8), "M-*-M-M-");
  EXPECT_EQ(bamba["gated_mlp"], true);
  EXPECT_EQ(bamba["positions"], "rotary");
  const Json granite_tiny = of(granite(R"(["mamba", "attention"])", 2)).model["transformer"];
  EXPECT_EQ(granite_tiny["layer_pattern"], "ME*E");
  EXPECT_EQ(granite_tiny["positions"], "none");
  EXPECT_EQ(granite_tiny["shared_expert_ffn"], 1024);
  const ImportedModel falcon = of(kFalcon);
  EXPECT_EQ(falcon.model["transformer"]["layer_pattern"].get<std::string>().substr(0, 6), "M*-M*-");
  EXPECT_THAT(falcon.notes, Contains(HasSubstr("attention and mixer, side by side")));
}

const std::string kQwen3Next = R"({"model_type": "qwen3_next", "decoder_sparse_step": 1, "full_attention_interval": 4,
    "head_dim": 256, "hidden_size": 2048, "intermediate_size": 5120, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
    "max_position_embeddings": 262144, "mlp_only_layers": [], "moe_intermediate_size": 512, "num_attention_heads": 16,
    "num_experts": 512, "num_experts_per_tok": 10, "num_hidden_layers": 48, "num_key_value_heads": 2,
    "partial_rotary_factor": 0.25, "shared_expert_intermediate_size": 512, "tie_word_embeddings": false,
    "vocab_size": 151936})";
const std::string kKimiLinear = R"({"model_type": "kimi_linear", "first_k_dense_replace": 1, "head_dim": 72,
    "hidden_size": 2304, "intermediate_size": 9216, "kv_lora_rank": 512, "linear_attn_config": {"full_attn_layers": [4,
    8, 12, 16, 20, 24, 27], "head_dim": 128, "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22,
    23, 25, 26], "num_heads": 32, "short_conv_kernel_size": 4},
    "mla_use_nope": true, "model_max_length": 1048576, "moe_intermediate_size": 1024, "moe_layer_freq": 1,
    "moe_renormalize": true, "moe_router_activation_func": "sigmoid", "num_attention_heads": 32, "num_expert_group": 1,
    "num_experts": 256, "num_experts_per_token": 8, "num_hidden_layers": 27, "num_key_value_heads": 32,
    "num_nextn_predict_layers": 0, "num_shared_experts": 1, "q_lora_rank": null, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "tie_word_embeddings": false, "topk_group": 1, "use_grouped_topk": true, "v_head_dim": 128,
    "vocab_size": 163840})";

/// MiniMax-Text-01 with so many blocks of the kinds in attn_type_list.
std::string minimax(const std::string& kinds, int blocks) {
  return R"({"model_type": "minimax_text_01", "head_dim": 128, "hidden_size": 6144, "intermediate_size": 9216,
      "layernorm_full_attention_alpha": 3.55, "max_position_embeddings": 10240000, "num_attention_heads": 64,
      "num_experts_per_tok": 2, "num_key_value_heads": 8, "num_local_experts": 32, "postnorm": true, "rotary_dim": 64,
      "shared_intermediate_size": 0, "shared_moe_mode": "sigmoid", "tie_word_embeddings": false, "vocab_size": 200064,
      "attn_type_list": )" +
         kinds + R"(, "num_hidden_layers": )" + std::to_string(blocks) + "}";
}

// Models of which three of four blocks, or seven of eight, have linear attention: 80B, 49.1B (the checkpoint's) and,
// of 80 blocks, 456B.
TEST(HuggingFaceHybrids, LinearAttentionIsALayerOfItsOwn) {
  const ImportedModel next = of(kQwen3Next);
  EXPECT_NEAR(next.parameters, 79.7e9, 0.1e9);
  EXPECT_EQ(next.model["transformer"]["layers"], 96);
  EXPECT_THAT(next.notes, Contains(HasSubstr("layers of their own, 96 in all")));
  EXPECT_EQ(next.model["transformer"]["layer_pattern"].get<std::string>().substr(0, 10), "GEGEGE*EGE");
  EXPECT_EQ(next.model["transformer"]["linear_attention"]["kind"], "gated_delta");
  EXPECT_EQ(next.model["transformer"]["linear_attention"]["value_heads"], 32);
  EXPECT_EQ(next.model["transformer"]["attention_output_gate"], true);
  const ImportedModel kimi = of(kKimiLinear);
  EXPECT_NEAR(kimi.parameters, 49.1e9, 0.1e9);
  EXPECT_EQ(kimi.model["transformer"]["layer_pattern"].get<std::string>().substr(0, 8), "G-GEGE*E");
  EXPECT_EQ(kimi.model["transformer"]["layer_pattern"].get<std::string>().substr(46), "*EGEGE*E");
  EXPECT_EQ(kimi.model["transformer"]["linear_attention"]["key_head_dim"], 128);
  EXPECT_EQ(kimi.model["transformer"]["positions"], "none");
  const Json lightning = of(minimax("[0, 0, 1]", 3)).model["transformer"];
  EXPECT_EQ(lightning["layer_pattern"], "GEGE*E");
  EXPECT_EQ(lightning["linear_attention"]["kind"], "lightning");
  EXPECT_EQ(lightning["linear_attention"]["convolution"], 0);
}

// Blocks that mlp_only_layers lists have an MLP; those of layer_types the kind that it says.
TEST(HuggingFaceHybrids, ListsSayWhichBlocks) {
  Json config = Json::parse(kQwen3Next);
  config["num_hidden_layers"] = 4;
  config["mlp_only_layers"] = {1};
  config["layer_types"] = {"full_attention", "linear_attention", "linear_attention", "full_attention"};
  EXPECT_EQ(of(config.dump()).model["transformer"]["layer_pattern"], "*EG-GE*E");
  config["layer_types"] = {"full_attention", "sliding_attention", "linear_attention", "full_attention"};
  EXPECT_THAT(faults_of(config.dump()),
              AllOf(HasSubstr("/layer_types/1: found \"sliding_attention\""), HasSubstr("\"linear_attention\" or "),
                    Not(HasSubstr("chunked_attention"))));
}

/// A configuration with one value of it changed; a null takes it out.
std::string with(const std::string& text, const std::string& pointer, const Json& value) {
  Json config = Json::parse(text);
  config[Json::json_pointer(pointer)] = value;
  return config.dump();
}

// Each names the key that is at fault, not another by which the blocks could have been said.
TEST(HuggingFaceHybrids, LayoutsOfLinearAttentionThatAreNoneNameTheirKey) {
  for (const Json& interval : {Json(0), Json(-3), Json("4"), Json(2.5)})
    EXPECT_THAT(
        faults_of(with(kQwen3Next, "/full_attention_interval", interval)),
        AllOf(HasSubstr("/full_attention_interval: found "), HasSubstr("at least 1"), Not(HasSubstr("/layer_types"))));
  EXPECT_THAT(faults_of(with(kQwen3Next, "/layer_types", Json::array({"linear_attention"}))),
              HasSubstr("/layer_types: names 1 layers, but num_hidden_layers is 48"));
  EXPECT_THAT(faults_of(with(kQwen3Next, "/layer_types", "full_attention")),
              HasSubstr("/layer_types: found \"full_attention\""));
  EXPECT_THAT(faults_of(with(kQwen3Next, "/num_hidden_layers", 300000)),
              HasSubstr("/num_hidden_layers: found 300000; a whole number from 1 to 5000"));
  EXPECT_THAT(faults_of(minimax("[0, 2]", 2)), HasSubstr("/attn_type_list/1: found 2; 0 or 1 for each layer"));
  const std::string full = "/linear_attn_config/full_attn_layers";
  EXPECT_THAT(faults_of(with(kKimiLinear, full, nullptr)), HasSubstr(full + ": missing"));
  EXPECT_THAT(faults_of(with(kKimiLinear, full, 4)), HasSubstr(full + ": found 4"));
  EXPECT_THAT(faults_of(with(kKimiLinear, full + "/6", 28)), HasSubstr(full + "/6: found 28"));
  EXPECT_THAT(faults_of(with(kKimiLinear, full + "/6", 24)), HasSubstr(full + "/6: found 24"));
  EXPECT_THAT(faults_of(with(kKimiLinear, "/linear_attn_config/kda_layers/0", 27)),
              HasSubstr("/linear_attn_config/kda_layers/0: found 27"));
  EXPECT_THAT(faults_of(with(kKimiLinear, "/linear_attn_config", nullptr)), HasSubstr("/linear_attn_config: missing"));
  EXPECT_THAT(faults_of(with(kKimiLinear, "/linear_attn_config/num_heads", -4)),
              HasSubstr("/linear_attn_config/num_heads: found -4"));
}

// Of modeling_kimi.py every moe_layer_freq-th block from the first on has experts, behind those that are dense.
TEST(HuggingFaceHybrids, StepsOfExpertsCountAndAreChecked) {
  const Json shape = of(with(kKimiLinear, "/moe_layer_freq", 2)).model["transformer"];
  EXPECT_EQ(shape["layer_pattern"].get<std::string>().substr(0, 10), "G-G-GE*-GE");
  for (const char* key : {"/moe_layer_freq", "/decoder_sparse_step"})
    EXPECT_THAT(faults_of(with(kKimiLinear, key, 0)), HasSubstr(std::string(key) + ": found 0"));
  EXPECT_THAT(faults_of(with(kQwen3Next, "/mlp_only_layers", 3)), HasSubstr("/mlp_only_layers: found 3"));
}

TEST(HuggingFaceHybrids, AttentionWithoutTheGateSaysSo) {
  const Json shape = of(with(kQwen3Next, "/attn_output_gate", false)).model["transformer"];
  EXPECT_FALSE(shape.contains("attention_output_gate"));
}

// granite-4.0-h-micro: no experts, and the MLP is the one that others have beside them.
TEST(HuggingFaceHybrids, WithoutExpertsTheSharedMlpStays) {
  const Json shape = of(granite(R"(["mamba", "attention"])", 2, "0")).model["transformer"];
  EXPECT_EQ(shape["layer_pattern"], "M-*-");
  EXPECT_EQ(shape["ffn_hidden"], 1024);
  EXPECT_FALSE(shape.contains("experts"));
}

TEST(HuggingFaceHybrids, NoKeyIsUnknown) {
  for (const std::string& config :
       {kMamba2, kBamba, kFalcon, granite(kinds_of_tiny(), 40), kQwen3Next, kKimiLinear, minimax("[0, 1]", 2)})
    EXPECT_THAT(of(config).notes, Not(Contains(HasSubstr("unknown keys")))) << config;
}

TEST(HuggingFaceHybrids, FaultsNameTheFilesOwnKeys) {
  EXPECT_THAT(faults_of(granite(R"(["mamba", "convolution"])", 2)),
              AllOf(HasSubstr("/layer_types"), HasSubstr("mamba or attention")));
  EXPECT_THAT(faults_of(granite(R"(["mamba"])", 2)), HasSubstr("/layer_types"));
  std::string far = kBamba;
  far.replace(far.find("27]"), 3, "32]");
  EXPECT_THAT(faults_of(far), HasSubstr("/attn_layer_indices"));
}

TEST(HuggingFaceHybrids, OtherStateSpaceModelsAreRefused) {
  for (const char* other : {"jamba", "zamba2", "falcon_mamba", "mamba"})
    EXPECT_THAT(faults_of(std::string(R"({"model_type": ")") + other + "\"}"), HasSubstr("state-space")) << other;
}

}  // namespace
}  // namespace stepcast::import_huggingface_hybrids_test
