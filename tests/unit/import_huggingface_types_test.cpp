#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/huggingface_config.hpp"

namespace stepcast::import_huggingface_types_test {
namespace {

using test::huggingface::faults_of;
using test::huggingface::of;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

struct Published {
  const char* name;
  const char* config;
  double parameters;  ///< of the checkpoint's state dictionary
};

// Configurations and totals as their makers publish them on huggingface.co.
const std::vector<Published> kPublished{
    {"glm-4-9b-hf",
     R"({"model_type": "glm", "attention_bias": true, "attention_dropout": 0.0, "head_dim": 128, "hidden_act":
      "silu", "hidden_size": 4096, "intermediate_size": 13696, "max_position_embeddings": 131072,
      "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 2, "pad_token_id": 151329,
      "rms_norm_eps": 1.5625e-07, "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 151552})",
     9399951360.0},
    {"glm4-9b-chatglm",
     R"({"add_bias_linear": false, "add_qkv_bias": true, "model_type": "chatglm",
      "apply_query_key_layer_scaling": true, "apply_residual_connection_post_layernorm": false,
      "attention_dropout": 0.0, "attention_softmax_in_fp32": true, "bias_dropout_fusion": true,
      "ffn_hidden_size": 13696, "fp32_residual_connection": false, "hidden_dropout": 0.0, "hidden_size": 4096,
      "kv_channels": 128, "layernorm_epsilon": 1.5625e-07, "multi_query_attention": true,
      "multi_query_group_num": 2, "num_attention_heads": 32, "num_hidden_layers": 40, "num_layers": 40,
      "original_rope": true, "padded_vocab_size": 151552, "post_layer_norm": true, "rmsnorm": true,
      "rope_ratio": 500, "seq_length": 131072, "tie_word_embeddings": false, "vocab_size": 151552})",
     9399951360.0},
    // Llama's kin by other names.
    {"internlm-7b",
     R"({"model_type": "internlm", "bias": true, "hidden_size": 4096, "intermediate_size": 11008,
      "num_attention_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 2048, "vocab_size": 103168,
      "tie_word_embeddings": false})",
     7321948160.0},
    {"baichuan2-13b",
     R"({"model_type": "baichuan", "hidden_size": 5120, "intermediate_size": 13696, "num_attention_heads": 40,
      "num_hidden_layers": 40, "model_max_length": 4096, "vocab_size": 125696, "z_loss_weight": 0})",
     13896668160.0},
    {"EXAONE-3.5-7.8B",
     R"({"model_type": "exaone", "hidden_size": 4096, "intermediate_size": 14336, "num_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 102400, "max_position_embeddings": 32768,
      "head_dim": 128, "activation_function": "silu"})",
     7818448896.0},
    {"Yi-6B",
     R"({"model_type": "Yi", "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 4, "vocab_size": 64000, "max_position_embeddings": 4096})",
     6061035520.0},
    {"llava-v1.5-7b",
     R"({"model_type": "llava", "mm_vision_tower": "openai/clip-vit-large-patch14-336", "hidden_size": 4096,
      "intermediate_size": 11008, "num_attention_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 4096,
      "vocab_size": 32000})",
     6738415616.0},
    {"nemotron-minitron-8b",
     R"({"attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 2, "eos_token_id": 3, "head_dim":
      128, "hidden_act": "relu2", "hidden_size": 4096, "initializer_range": 0.0134, "intermediate_size": 16384,
      "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "nemotron", "norm_eps": 1e-05,
      "num_attention_heads": 48, "num_hidden_layers": 32, "num_key_value_heads": 8, "partial_rotary_factor":
      0.5, "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 256000})",
     8272515072.0},
    {"phi35-moe",
     R"({"hidden_act": "silu", "initializer_range": 0.02, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
      "use_cache": true, "bos_token_id": 1, "eos_token_id": 2, "attention_dropout": 0.0, "model_type":
      "phimoe", "hidden_size": 4096, "intermediate_size": 6400, "max_position_embeddings": 131072,
      "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
      "num_local_experts": 16, "lm_head_bias": true, "attention_bias": true, "sliding_window": 131072,
      "tie_word_embeddings": false, "vocab_size": 32064, "hidden_dropout": 0.0, "input_jitter_noise": 0.01})",
     41873153344.0},
    {"gptj-6b",
     R"({"activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0, "gradient_checkpointing":
      false, "layer_norm_epsilon": 1e-05, "model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_inner": null,
      "n_layer": 28, "n_positions": 2048, "resid_pdrop": 0.0, "rotary": true, "rotary_dim": 64,
      "scale_attn_weights": true, "tie_word_embeddings": false, "tokenizer_class": "GPT2Tokenizer",
      "vocab_size": 50400})",
     6053381344.0},
    {"gpt-neo-27b",
     R"({"activation_function": "gelu_new", "model_type": "gpt_neo", "attention_types": [[["global", "local"],
      16]], "hidden_size": 2560, "intermediate_size": null, "max_position_embeddings": 2048, "num_heads": 20,
      "num_layers": 32, "window_size": 256, "vocab_size": 50257})",
     2651307520.0},
    {"mpt-7b",
     R"({"model_type": "mpt", "attn_config": {"alibi": true, "attn_impl": "torch", "attn_type":
      "multihead_attention", "clip_qkv": null, "prefix_lm": false, "qk_ln": false}, "d_model": 4096,
      "emb_pdrop": 0, "expansion_ratio": 4, "max_seq_len": 2048, "n_heads": 32, "n_layers": 32, "no_bias":
      true, "vocab_size": 50432})",
     6649286656.0},
    {"olmo3-7b",
     R"({"model_type": "olmo3", "attention_bias": false, "hidden_size": 4096, "intermediate_size": 11008,
      "max_position_embeddings": 65536, "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 32, "sliding_window": 4096, "tie_word_embeddings": false, "vocab_size": 100278})",
     7298011136.0},
    {"falcon-7b-old",
     R"({"alibi": false, "bias": false, "hidden_dropout": 0.0, "hidden_size": 4544, "model_type":
      "RefinedWebModel", "multi_query": true, "n_head": 71, "n_layer": 32, "parallel_attn": true, "vocab_size":
      65024})",
     6921720704.0},
    {"dbrx",
     R"({"model_type": "dbrx", "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "model_type": "", "rope_theta":
      500000}, "d_model": 6144, "emb_pdrop": 0.0, "ffn_config": {"ffn_hidden_size": 10752, "moe_jitter_eps":
      0.01, "moe_loss_weight": 0.05, "moe_num_experts": 16, "moe_top_k": 4}, "max_seq_len": 32768, "n_heads":
      48, "n_layers": 40, "vocab_size": 100352})",
     131596523520.0},
    {"distilbert",
     R"({"activation": "gelu", "model_type": "distilbert", "attention_dropout": 0.1, "dim": 768, "dropout": 0.1,
      "hidden_dim": 3072, "initializer_range": 0.02, "max_position_embeddings": 512, "n_heads": 12, "n_layers":
      6, "vocab_size": 30522})",
     66362880.0},
    {"modernbert",
     R"({"model_type": "modernbert", "global_attn_every_n_layers": 3, "hidden_size": 768, "intermediate_size":
      1152, "local_attention": 128, "max_position_embeddings": 8192, "num_attention_heads": 12,
      "num_hidden_layers": 22, "vocab_size": 50368})",
     149014272.0},
};

TEST(HuggingFaceTypes, ParametersAreThePublishedOnes) {
  for (const Published& one : kPublished) {
    const ImportedModel model = of(one.config);
    EXPECT_NEAR(model.parameters / one.parameters, 1, 0.001) << one.name;
    EXPECT_THAT(model.notes, Each(Not(HasSubstr("unknown keys")))) << one.name;
  }
}

TEST(HuggingFaceTypes, LocalLayersAreThoseOfTheFile) {
  const auto shape = [](const char* name) {
    const auto found = std::find_if(kPublished.begin(), kPublished.end(),
                                    [&](const Published& one) { return std::string_view(one.name) == name; });
    return of(found->config).model["transformer"];
  };
  EXPECT_EQ(shape("gpt-neo-27b")["window"], 256);
  EXPECT_EQ(shape("gpt-neo-27b")["global_every"], 2);
  EXPECT_EQ(shape("olmo3-7b")["global_every"], 4);
  EXPECT_EQ(shape("mpt-7b")["positions"], "alibi");
  EXPECT_EQ(shape("dbrx")["top_k"], 4);
}

// DeepSeek-V3.2 in small: latent attention over the tokens that an indexer picks.
TEST(HuggingFaceTypes, AnIndexerMakesAttentionSparse) {
  const std::string config =
      R"({"model_type":"deepseek_v32","hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":4,
      "num_attention_heads":16,"vocab_size":32000,"max_position_embeddings":163840,"q_lora_rank":512,"kv_lora_rank":256,
      "qk_nope_head_dim":64,"qk_rope_head_dim":32,"v_head_dim":64,"index_head_dim":128,"index_n_heads":8)";
  const Json sparse = of(config + R"(,"index_topk":2048})").model["transformer"]["sparse_attention"];
  EXPECT_EQ(sparse, (Json{{"tokens", 2048}, {"indexer_heads", 8}, {"indexer_head_dim", 128}}));
  EXPECT_EQ(of(config + R"(,"index_topk":2048,"index_topk_freq":4})")
                .model["transformer"]["sparse_attention"]["layers_per_indexer"],
            4);
  EXPECT_FALSE(of(config + "}").model["transformer"].contains("sparse_attention"));
}

TEST(HuggingFaceTypes, WhatAModelHasBeyondTheDescriptionIsNamed) {
  EXPECT_THAT(faults_of(R"({"model_type":"other","linear_num_key_heads":16})"),
              AllOf(HasSubstr("linear attention"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(faults_of(R"({"model_type":"jamba"})"), HasSubstr("state-space"));
  EXPECT_THAT(
      faults_of(R"({"model_type":"mllama","vision_config":{},"text_config":{"model_type":"mllama_text_model"}})"),
      HasSubstr("/text_config/model_type"));
  EXPECT_THAT(faults_of(R"({"hidden_size":4096,"architectures":["LlamaForCausalLM"]})"),
              AllOf(HasSubstr("/model_type: missing"), HasSubstr("architectures names \"llama\"")));
  EXPECT_THAT(faults_of(R"({"hidden_size":4096})"), Not(HasSubstr("did you mean")));
}

// LLaVA-1.5's text_config: what equals LlamaConfig's defaults is left out.
TEST(HuggingFaceTypes, SizesLeftOutAreThoseOfTheClass) {
  const ImportedModel llava = of(R"({"model_type":"llava","vision_config":{"hidden_size":1024},"text_config":{
    "architectures":["LlamaForCausalLM"],"max_position_embeddings":4096,"model_type":"llama","vocab_size":32064}})");
  EXPECT_NEAR(llava.parameters / 6738939904, 1, 0.001);
  EXPECT_THAT(llava.notes, Contains(AllOf(HasSubstr("those of its class"), HasSubstr("hidden_size 4096"))));
  const ImportedModel old = of(R"({"model_type":"llama","hidden_size":4096,"intermediate_size":11008,
    "max_sequence_length":1024,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":32000})");
  EXPECT_EQ(old.model["default_seq_len"], 1024);
}

TEST(HuggingFaceTypes, AWindowThatNoLayerHasIsNone) {
  const auto shape = [](const char* layers) {
    return of(std::string(R"({"model_type":"qwen2","hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,
      "num_attention_heads":16,"vocab_size":1000,"max_position_embeddings":32768,"sliding_window":4096,
      "use_sliding_window":true,"max_window_layers":)") +
              layers + "}")
        .model["transformer"];
  };
  EXPECT_FALSE(shape("24").contains("window"));
  EXPECT_EQ(shape("0")["window"], 4096);
}

TEST(HuggingFaceTypes, AListSaysWhichLayersHaveExperts) {
  const std::string config = R"({"model_type":"mixtral","hidden_size":1024,"num_hidden_layers":4,
    "num_attention_heads":16,"vocab_size":1000,"num_local_experts":8,"moe_layer_freq":)";
  EXPECT_EQ(of(config + "[0,1,1,1]}").model["transformer"]["dense_layers"], 1);
  EXPECT_THAT(faults_of(config + "[0,1,0,1]}"), HasSubstr("/moe_layer_freq"));
}

TEST(HuggingFaceTypes, WhatPythonWritesIsRead) {
  const char* config = R"({"model_type": "llama", "rope_theta": Infinity, "limits": [-Infinity, NaN], "note": "NaN"})";
  EXPECT_EQ(faults_of(config), "");
  EXPECT_EQ(faults_of(std::string("\xef\xbb\xbf") + config), "");
  EXPECT_THAT(faults_of(std::string("\xff\xfe{\0}\0", 6)), HasSubstr("is UTF-16"));
}

TEST(HuggingFaceTypes, PartsOfOthersLeaveOutWhatTheirClassSets) {
  // Salesforce/blip2-opt-2.7b: its language model is OPT-2.7B, 2,651,596,800 parameters.
  const ImportedModel opt = of(R"({"model_type": "blip-2", "vision_config": {}, "text_config": {"model_type": "opt",
      "ffn_dim": 10240, "hidden_size": 2560, "num_attention_heads": 32, "num_hidden_layers": 32,
      "word_embed_proj_dim": 2560}})");
  EXPECT_NEAR(opt.parameters / 2651596800.0, 1, 0.001);
  EXPECT_THAT(opt.notes, Contains(HasSubstr("vocab_size 50272")));
  // Salesforce/blip2-flan-t5-xl: Flan-T5 XL, 2,849,757,184.
  const ImportedModel t5 = of(R"({"model_type": "blip-2", "text_config": {"model_type": "t5", "d_ff": 5120,
      "d_model": 2048, "num_heads": 32, "num_layers": 24, "num_decoder_layers": 24, "feed_forward_proj": "gated-gelu",
      "tie_word_embeddings": false}})");
  EXPECT_NEAR(t5.parameters / 2849757184.0, 1, 0.001);
  // The first GPT-2 files have 1,024 positions under another name.
  EXPECT_EQ(of(R"({"model_type": "gpt2", "n_embd": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 50257})")
                .model["transformer"]["max_positions"],
            1024);
}

TEST(HuggingFaceTypes, TiesBesideThePartCount) {
  const std::string part = R"("text_config": {"model_type": "qwen3_vl_text", "head_dim": 128, "hidden_size": 2560,
      "intermediate_size": 9728, "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8,
      "vocab_size": 151936, "max_position_embeddings": 262144}})";
  EXPECT_EQ(
      of(R"({"model_type": "qwen3_vl", "tie_word_embeddings": true, )" + part).model["transformer"]["tied_embeddings"],
      true);
  EXPECT_FALSE(of(R"({"model_type": "qwen3_vl", )" + part).model["transformer"].contains("tied_embeddings"));
}

TEST(HuggingFaceTypes, OneKeyForAllHeads) {
  const ImportedModel mpt = of(R"({"model_type": "mpt", "d_model": 2048, "n_heads": 16, "n_layers": 24,
      "max_seq_len": 2048, "vocab_size": 50368, "attn_config": {"attn_type": "multiquery_attention", "alibi": true}})");
  EXPECT_EQ(mpt.model["transformer"]["kv_heads"], 1);
}

TEST(HuggingFaceTypes, OnlyWhatIsSpeltAlikeIsSuggested) {
  for (const char* other : {"xglm", "deit"})
    EXPECT_THAT(faults_of(std::string(R"({"model_type": ")") + other + "\"}"), Not(HasSubstr("did you mean"))) << other;
  EXPECT_THAT(faults_of(R"({"model_type": "lama"})"), HasSubstr("did you mean \"llama\""));
  EXPECT_THAT(faults_of(R"({"model_type": "gemma3", "text_config": 5})"), HasSubstr("/text_config: found"));
  EXPECT_THAT(faults_of(R"({"model_type": "llama", "vocab_size": 1000000000000})"), HasSubstr("from 1 to 2147483647"));
}

}  // namespace
}  // namespace stepcast::import_huggingface_types_test
