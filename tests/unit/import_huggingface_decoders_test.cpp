#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/huggingface_config.hpp"

// Types of decoders that differ from Llama in few things.
namespace stepcast::import_huggingface_decoders_test {
namespace {

using test::huggingface::faults_of;
using test::huggingface::of;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

struct Decoder {
  const char* checkpoint;
  const char* config;
  double billions;  ///< as its maker states them
};

// Sizes are the classes' (transformers, configuration_<type>.py), whose checkpoints these are.
const std::vector<Decoder> kDecoders{
    {"upstage/Solar-Open-100B",
     R"({"model_type":"solar_open","hidden_size":4096,"num_hidden_layers":48,"num_attention_heads":64,
         "num_key_value_heads":8,"head_dim":128,"vocab_size":196608,"max_position_embeddings":131072,
         "moe_intermediate_size":1280,"num_experts_per_tok":8,"n_shared_experts":1,"n_routed_experts":128,"n_group":1,
         "topk_group":1,"routed_scaling_factor":1.0,"attention_bias":false,"tie_word_embeddings":false})",
     102.6},
    {"tencent/Hy3-preview",
     R"({"model_type":"hy_v3","hidden_size":4096,"intermediate_size":13312,"num_hidden_layers":80,
         "num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"vocab_size":120832,
         "max_position_embeddings":131072,"num_experts":192,"num_experts_per_tok":8,"num_shared_experts":1,
         "moe_intermediate_size":1536,"router_scaling_factor":2.826,"enable_moe_fp32_combine":true,
         "attention_bias":false,"mlp_bias":false,"tie_word_embeddings":false})",
     295},
    {"mistralai/Mistral-Small-4-119B-2603",
     R"({"model_type":"mistral3","text_config":{"model_type":"mistral4","hidden_size":4096,"intermediate_size":12288,
         "moe_intermediate_size":2048,"num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":32,
         "vocab_size":131072,"n_shared_experts":1,"n_routed_experts":128,"num_experts_per_tok":4,"kv_lora_rank":256,
         "q_lora_rank":1024,"qk_rope_head_dim":64,"qk_nope_head_dim":64,"v_head_dim":128,"n_group":1,"topk_group":1,
         "first_k_dense_replace":0,"max_position_embeddings":1048576,"rope_interleave":true,
         "tie_word_embeddings":false}})",
     119},
    {"skt/A.X-K1",
     R"({"model_type":"axk1","hidden_size":7168,"intermediate_size":18432,"moe_intermediate_size":2048,
         "num_hidden_layers":61,"num_attention_heads":64,"num_key_value_heads":64,"vocab_size":163840,
         "n_shared_experts":1,"n_routed_experts":192,"num_experts_per_tok":8,"kv_lora_rank":512,"q_lora_rank":1536,
         "qk_rope_head_dim":64,"qk_nope_head_dim":128,"v_head_dim":128,"n_group":8,"topk_group":4,
         "first_k_dense_replace":1,"max_position_embeddings":32768,"tie_word_embeddings":false})",
     519},
    {"zai-org/GLM-4.5V",
     R"({"model_type":"glm4v_moe","text_config":{"model_type":"glm4v_moe_text","hidden_size":4096,
         "intermediate_size":10944,"num_hidden_layers":46,"num_attention_heads":96,"num_key_value_heads":8,
         "head_dim":128,"vocab_size":151424,"max_position_embeddings":65536,"attention_bias":true,
         "moe_intermediate_size":1408,"num_experts_per_tok":8,"n_shared_experts":1,"n_routed_experts":128,"n_group":1,
         "topk_group":1,"first_k_dense_replace":1,"tie_word_embeddings":false}})",
     106.8},
    {"JetBrains/Mellum2-12B-A2.5B-Base",
     R"({"model_type":"mellum","hidden_size":2304,"intermediate_size":7168,"num_hidden_layers":28,
         "num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"vocab_size":98304,
         "max_position_embeddings":131072,"sliding_window":1024,"moe_intermediate_size":896,"num_experts_per_tok":8,
         "num_experts":64,"attention_bias":false,"tie_word_embeddings":false})",
     12.1},
    {"allenai/FlexOlmo-7x7B-1T",
     R"({"model_type":"flex_olmo","hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,
         "num_attention_heads":32,"vocab_size":100352,"max_position_embeddings":4096,"num_experts_per_tok":5,
         "num_experts":7,"attention_bias":false,"tie_word_embeddings":false})",
     33.3},
    // Without its images' 1.85 of 30.
    {"meta-models/Muse-Glimmer-30B",
     R"({"model_type":"muse_glimmer","text_config":{"model_type":"muse_glimmer_text","hidden_size":6656,
         "intermediate_size":19968,"num_hidden_layers":52,"num_attention_heads":32,"num_key_value_heads":2,
         "head_dim":128,"vocab_size":202048,"max_position_embeddings":131072,"sliding_window":2048,
         "final_logit_softcapping":20.0,"qk_scale_factor":3.87,"output_multiplier":0.196,"post_norm_eps":1e-8,
         "attention_bias":false,"tie_word_embeddings":false}})",
     27.9},
    {"google/gemma-4-12B",
     R"({"model_type":"gemma4_unified","text_config":{"model_type":"gemma4_unified_text","hidden_size":3840,
         "intermediate_size":15360,"num_hidden_layers":48,"num_attention_heads":16,"num_key_value_heads":8,
         "num_global_key_value_heads":1,"attention_k_eq_v":true,"head_dim":256,"global_head_dim":512,
         "vocab_size":262144,"num_kv_shared_layers":0,"use_double_wide_mlp":false,
         "use_bidirectional_attention":"vision","sliding_window":1024}})",
     11.96},
};

TEST(HuggingFaceDecoders, ParametersAreThoseStated) {
  for (const Decoder& one : kDecoders) {
    const ImportedModel model = of(one.config);
    EXPECT_NEAR(model.parameters / 1e9 / one.billions, 1, 0.006) << one.checkpoint;
    EXPECT_THAT(model.notes, Each(Not(HasSubstr("unknown keys")))) << one.checkpoint;
  }
}

Json shape(const char* checkpoint, const Json& changes = Json::object()) {
  const auto found = std::find_if(kDecoders.begin(), kDecoders.end(),
                                  [&](const Decoder& one) { return std::string_view(one.checkpoint) == checkpoint; });
  Json config = Json::parse(found->config);
  config.merge_patch(changes);
  return of(config.dump()).model["transformer"];
}

TEST(HuggingFaceDecoders, WhatTheirClassesAlwaysHave) {
  EXPECT_EQ(shape("tencent/Hy3-preview")["dense_layers"], 1);
  EXPECT_EQ(shape("tencent/Hy3-preview")["qk_norm"], true);
  EXPECT_FALSE(shape("upstage/Solar-Open-100B").contains("dense_layers"));
  EXPECT_EQ(shape("meta-models/Muse-Glimmer-30B")["attention_output_gate"], true);
  EXPECT_EQ(shape("meta-models/Muse-Glimmer-30B")["global_every"], 4);
  const Json gemma = shape("google/gemma-4-12B");
  EXPECT_EQ(gemma["global_kv_heads"], 1);
  EXPECT_EQ(gemma["global_every"], 6);
  EXPECT_FALSE(gemma.contains("per_layer_embedding"));
}

// Without a list of their types all of Mellum's layers see all; Trinity's keys have names of their own.
TEST(HuggingFaceDecoders, WindowsAsEachTypeHasThem) {
  EXPECT_FALSE(shape("JetBrains/Mellum2-12B-A2.5B-Base").contains("window"));
  const Json trinity = of(R"({"model_type":"afmoe","hidden_size":2048,"intermediate_size":6144,
    "moe_intermediate_size":1024,"num_hidden_layers":32,"num_dense_layers":2,"num_attention_heads":32,
    "num_key_value_heads":4,"head_dim":128,"vocab_size":200192,"max_position_embeddings":131072,"num_experts":128,
    "num_experts_per_tok":8,"num_shared_experts":1,"route_scale":2.826,"global_attn_every_n_layers":4,
    "sliding_window":2048,"mup_enabled":true,"tie_word_embeddings":false})")
                           .model["transformer"];
  EXPECT_EQ(trinity["dense_layers"], 2);
  EXPECT_EQ(trinity["shared_expert_ffn"], 1024);
  EXPECT_EQ(trinity["global_every"], 4);
  EXPECT_EQ(trinity["attention_output_gate"], true);
  Json types = Json::array();
  for (int layer = 0; layer < 24; ++layer) types.push_back(layer % 4 == 0 ? "full_attention" : "sliding_attention");
  Json granite = Json::parse(R"({"model_type":"granite_swa","hidden_size":2560,"intermediate_size":8192,
    "num_hidden_layers":24,"num_attention_heads":20,"num_key_value_heads":4,"vocab_size":100352,
    "max_position_embeddings":8192,"sliding_window":128})");
  EXPECT_EQ(of(granite.dump()).model["transformer"]["global_every"], 4);
  granite["layer_types"] = types;
  EXPECT_EQ(of(granite.dump()).model["transformer"]["global_every"], 4);
}

// A type that nobody knows says layer by layer that it has windows.
TEST(HuggingFaceDecoders, WindowsOfUnknownTypesCountWhereLayersAreListed) {
  Json config = Json::parse(R"({"model_type":"cwm","architectures":["CwmForCausalLM"],"hidden_size":6144,
    "intermediate_size":21504,"num_hidden_layers":4,"num_attention_heads":48,"num_key_value_heads":8,"head_dim":128,
    "vocab_size":128256,"rms_norm_eps":1e-5,"max_position_embeddings":131072,"sliding_window":8192,
    "layer_types":["full_attention","sliding_attention","sliding_attention","sliding_attention"]})");
  const Json local = of(config.dump()).model["transformer"];
  EXPECT_EQ(local["window"], 8192);
  EXPECT_EQ(local["global_every"], 4);
  config.erase("layer_types");
  EXPECT_FALSE(of(config.dump()).model["transformer"].contains("window"));
}

// Passes over the same layers multiply the work and not the weights (Ouro).
TEST(HuggingFaceDecoders, PassesThroughTheLayersShareWeights) {
  Json config = Json::parse(R"({"model_type":"ouro","architectures":["OuroForCausalLM"],"hidden_size":2048,
    "intermediate_size":5632,"num_hidden_layers":24,"num_attention_heads":16,"vocab_size":49152,"rms_norm_eps":1e-6,
    "max_position_embeddings":65536,"total_ut_steps":4,"some_passes":3,"some_rate":0.5})");
  const ImportedModel looped = of(config.dump());
  EXPECT_EQ(looped.model["transformer"]["layers"], 96);
  EXPECT_EQ(looped.model["transformer"]["hidden_groups"], 24);
  EXPECT_THAT(looped.notes, testing::Contains(testing::AllOf(HasSubstr("may change what is computed"),
                                                             HasSubstr("not used: some_passes"))));
  EXPECT_THAT(looped.notes, testing::Contains("unknown keys, not used: some_rate"));
  config["total_ut_steps"] = 1;
  const ImportedModel once = of(config.dump());
  EXPECT_EQ(once.model["transformer"]["layers"], 24);
  EXPECT_EQ(once.parameters, looped.parameters);
}

// The language model of a model that sees need not name its class; one that sees alone has other sizes.
TEST(HuggingFaceDecoders, SectionsOfUnknownTypesAreTakenForLlamas) {
  const std::string text = R"("hidden_size":2048,"intermediate_size":6144,"num_hidden_layers":2,
    "num_attention_heads":16,"num_key_value_heads":8,"vocab_size":151936,"max_position_embeddings":32768,)";
  const ImportedModel seen = of(R"({"model_type":"hunyuan_vl","text_config":{"model_type":"hunyuan_vl_text",)" + text +
                                R"("rms_norm_eps":1e-6}})");
  EXPECT_THAT(seen.notes, testing::Contains(HasSubstr("\"hunyuan_vl_text\" is not known: taken for Llama's kin")));
  EXPECT_THAT(faults_of(R"({"model_type":"x","text_config":{"model_type":"y",)" + text + R"("layer_norm_eps":1e-6}})"),
              HasSubstr("/text_config/model_type: found \"y\""));
}

// DeepSeek-OCR: sizes at the top and in the section, no type in it, and latent attention switched off.
TEST(HuggingFaceDecoders, UnusedLatentsAndSectionsWithoutATypeAreRead) {
  const std::string sizes =
      R"("architectures":["DeepseekV2ForCausalLM"],"first_k_dense_replace":1,"hidden_size":1280,"intermediate_size":6848,
      "kv_lora_rank":null,"lm_head":true,"max_position_embeddings":8192,"moe_intermediate_size":896,"n_group":1,
      "n_routed_experts":64,"n_shared_experts":2,"num_attention_heads":10,"num_experts_per_tok":6,
      "num_hidden_layers":12,"num_key_value_heads":10,"q_lora_rank":null,"qk_nope_head_dim":0,"qk_rope_head_dim":0,
      "rm_head":false,"topk_group":1,"topk_method":"greedy","use_mla":false,"v_head_dim":0,"vocab_size":129280)";
  const std::string seen = R"("vision_config":{"image_size":1024})";
  for (const std::string& text :
       {"{" + sizes + R"(,"model_type":"deepseek_vl_v2","language_config":{)" + sizes + "}," + seen + "}",
        R"({"model_type":"deepseek_vl_v2","language_config":{)" + sizes + "}," + seen + "}"}) {
    const ImportedModel model = of(text);
    EXPECT_FALSE(model.model["transformer"].contains("kv_lora_rank"));
    EXPECT_EQ(model.model["transformer"]["experts"], 64);
    EXPECT_NEAR(model.parameters / 1e9, 2.9, 0.1);
    EXPECT_THAT(model.notes, testing::Contains(HasSubstr("taken for deepseek_v2, which its class names")));
  }
}

TEST(HuggingFaceDecoders, DenseLayersByTheListOfMlps) {
  Json list = Json::array();
  for (int layer = 0; layer < 80; ++layer) list.push_back(layer < 3 ? "dense" : "sparse");
  EXPECT_EQ(shape("tencent/Hy3-preview", {{"mlp_layer_types", list}})["dense_layers"], 3);
  for (auto& type : list) type = "sparse";
  EXPECT_FALSE(shape("tencent/Hy3-preview", {{"mlp_layer_types", list}}).contains("dense_layers"));
  list[40] = "dense";
  Json config = Json::parse(kDecoders[1].config);
  config["mlp_layer_types"] = list;
  EXPECT_THAT(faults_of(config.dump()), HasSubstr("/mlp_layer_types: found 80 entries, expected dense layers and then "
                                                  "\"sparse\", one for each of 80 layers"));
}

/// Four by four layers, of which the first has the first of two values.
Json by_fours(int layers, const Json& first, const Json& others) {
  Json list = Json::array();
  for (int layer = 0; layer < layers; ++layer) list.push_back(layer % 4 == 0 ? first : others);
  return list;
}

// Layers with a window have more heads in Step 3.5 Flash, whose lists go on to three layers behind its 45, and in
// Laguna XS.2, more of keys in MiMo-V2-Flash (309, 196 and 33 G parameters by their makers).
TEST(HuggingFaceDecoders, HeadsOfLayersWithAWindow) {
  Json step = Json::parse(R"({"model_type":"step3p5","hidden_size":4096,"intermediate_size":11264,
    "num_hidden_layers":45,"vocab_size":128896,"num_attention_heads":64,"num_attention_groups":8,"head_dim":128,
    "moe_num_experts":288,"moe_top_k":8,"moe_intermediate_size":1280,"share_expert_dim":1280,"sliding_window":512,
    "max_position_embeddings":262144,"num_nextn_predict_layers":3,
    "attention_other_setting":{"attention_type":"sliding_attention","num_attention_heads":96,"num_attention_groups":8}})");
  step["layer_types"] = by_fours(48, "full_attention", "sliding_attention");
  std::string routed = "3";
  for (int layer = 4; layer < 45; ++layer) routed += "," + std::to_string(layer);
  step["moe_layers_enum"] = routed;
  const ImportedModel flash = of(step.dump());
  EXPECT_NEAR(flash.parameters / 1e9, 196.5, 0.6);
  const Json shape = flash.model["transformer"];
  EXPECT_EQ(shape["heads"], 96);
  EXPECT_EQ(shape["global_heads"], 64);
  EXPECT_EQ(shape["dense_layers"], 3);
  EXPECT_FALSE(shape.contains("global_kv_heads"));

  Json laguna = Json::parse(R"({"model_type":"laguna","architectures":["LagunaForCausalLM"],"hidden_size":2048,
    "intermediate_size":8192,"num_hidden_layers":40,"num_attention_heads":48,"num_key_value_heads":8,"head_dim":128,
    "vocab_size":100352,"max_position_embeddings":131072,"sliding_window":512,"num_experts":256,
    "num_experts_per_tok":8,"moe_intermediate_size":512,"shared_expert_intermediate_size":512,"mlp_only_layers":[0]})");
  laguna["layer_types"] = by_fours(40, "full_attention", "sliding_attention");
  laguna["num_attention_heads_per_layer"] = by_fours(40, 48, 64);
  const ImportedModel xs = of(laguna.dump());
  EXPECT_NEAR(xs.parameters / 1e9, 33.4, 0.1);
  EXPECT_EQ(xs.model["transformer"]["global_heads"], 48);
  EXPECT_EQ(xs.model["transformer"]["dense_layers"], 1);
  laguna["mlp_only_layers"] = {0, 5};
  EXPECT_THAT(faults_of(laguna.dump()), HasSubstr("/mlp_only_layers: lists single layers without experts"));
  laguna["mlp_only_layers"] = {0};
  laguna["num_attention_heads_per_layer"][1] = 80;
  EXPECT_THAT(faults_of(laguna.dump()), HasSubstr("/num_attention_heads_per_layer/1: found 80, expected 48 as in"));

  Json mimo = Json::parse(R"({"model_type":"mimo_v2_flash","hidden_size":4096,"intermediate_size":16384,
    "num_hidden_layers":48,"vocab_size":152576,"num_attention_heads":64,"num_key_value_heads":4,"head_dim":192,
    "v_head_dim":128,"swa_num_attention_heads":64,"swa_num_key_value_heads":8,"sliding_window":128,
    "n_routed_experts":256,"num_experts_per_tok":8,"moe_intermediate_size":2048,"max_position_embeddings":262144})");
  Json pattern = Json::array(), routes = Json::array();
  for (int layer = 0; layer < 48; ++layer) {
    pattern.push_back(layer == 0 || layer % 6 == 5 ? 0 : 1);
    routes.push_back(layer == 0 ? 0 : 1);
  }
  mimo["hybrid_layer_pattern"] = pattern;
  mimo["moe_layer_freq"] = routes;
  const ImportedModel v2 = of(mimo.dump());
  EXPECT_NEAR(v2.parameters / 1e9, 308.7, 0.6);
  const Json& halves = v2.model["transformer"];
  EXPECT_EQ(halves["kv_heads"], 8);
  EXPECT_EQ(halves["global_kv_heads"], 4);
  EXPECT_EQ(halves["v_head_dim"], 128);
  EXPECT_EQ(halves["global_every"], 5);
}

TEST(HuggingFaceDecoders, WhatHasNoDescriptionIsSaid) {
  EXPECT_THAT(faults_of(R"({"model_type":"minimax_m3_vl","text_config":{"model_type":"minimax_m3_vl_text"}})"),
              HasSubstr("/text_config/model_type: found \"minimax_m3_vl_text\"; its attention over blocks of tokens"));
}

}  // namespace
}  // namespace stepcast::import_huggingface_decoders_test
