#include "calibration/importers/models/huggingface_types.hpp"

#include <algorithm>
#include <array>

namespace stepcast {

namespace {

using Type = HuggingFaceType;

constexpr std::string_view kTied = R"({"tie_word_embeddings":true})";
constexpr std::string_view kGpt2 = R"({"tie_word_embeddings":true,"resid_pdrop":0.1,"n_positions":1024})";
constexpr std::string_view kGpt2Part = R"({"vocab_size":50257,"n_embd":768,"n_layer":12,"n_head":12})";
constexpr std::string_view kBert = R"({"tie_word_embeddings":true,"hidden_dropout_prob":0.1,"type_vocab_size":2})";
constexpr std::string_view kBertPart =
    R"({"vocab_size":30522,"hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,"intermediate_size":3072,
        "max_position_embeddings":512})";

constexpr std::string_view kT5 =
    R"({"tie_word_embeddings":true,"n_positions":512,"d_kv":64,"feed_forward_proj":"relu","dropout_rate":0.1})";
constexpr std::string_view kT5Part = R"({"vocab_size":32128,"d_model":512,"d_ff":2048,"num_layers":6,"num_heads":8})";
constexpr std::string_view kMt5 =
    R"({"tie_word_embeddings":false,"n_positions":512,"d_kv":64,"feed_forward_proj":"gated-gelu","dropout_rate":0.1})";
// 15 % of the tokens in spans of three, each with a mark: 114 of 512 (Raffel et al. 2020, section 3.1.4).
constexpr double kSpans = 114.0 / 512;

// Composite models leave out of their text_config what the class sets (configuration_<type>.py).
constexpr std::string_view kLlama =
    R"({"vocab_size":32000,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32,
        "max_position_embeddings":2048})";
constexpr std::string_view kMistral =
    R"({"vocab_size":32000,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
        "num_key_value_heads":8,"max_position_embeddings":131072})";
constexpr std::string_view kMixtral =
    R"({"vocab_size":32000,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
        "num_key_value_heads":8,"max_position_embeddings":131072,"num_local_experts":8,"num_experts_per_tok":2})";
constexpr std::string_view kQwen2 =
    R"({"vocab_size":151936,"hidden_size":4096,"intermediate_size":22016,"num_hidden_layers":32,"num_attention_heads":32,
        "max_position_embeddings":32768})";
constexpr std::string_view kGemma =
    R"({"tie_word_embeddings":true,"head_dim":256,"vocab_size":256000,"hidden_size":3072,"intermediate_size":24576,
        "num_hidden_layers":28,"num_attention_heads":16,"max_position_embeddings":8192})";
constexpr std::string_view kGemma2 =
    R"({"tie_word_embeddings":true,"head_dim":256,"vocab_size":256000,"hidden_size":2304,"intermediate_size":9216,
        "num_hidden_layers":26,"num_attention_heads":8,"num_key_value_heads":4,"max_position_embeddings":8192,
        "sliding_window":4096,"sliding_window_pattern":2})";

constexpr std::string_view kFalcon =
    R"({"tie_word_embeddings":true,"max_position_embeddings":2048,"multi_query":true})";
constexpr Type kFalconType{
    .name = "falcon", .defaults = kFalcon, .gated = false, .layer_norm = true, .side_by_side = true};
// Falcon before transformers had it: configuration_RW.py of its first checkpoints.
constexpr Type kRefinedWebModel{.name = "RefinedWebModel",
                                .defaults = kFalcon,
                                .names = R"({"n_head_kv":"num_kv_heads"})",
                                .gated = false,
                                .layer_norm = true,
                                .side_by_side = true};
constexpr Type kRefinedWeb{.name = "RefinedWeb",
                           .defaults = R"({"tie_word_embeddings":true,"max_position_embeddings":2048})",
                           .names = R"({"n_head_kv":"num_kv_heads"})",
                           .gated = false,
                           .layer_norm = true,
                           .side_by_side = true};

/// A type that differs in what its tokens are, not in its network.
constexpr Type like(Type type, std::string_view name) {
  type.name = name;
  return type;
}

constexpr Type kGptJ{.left_out = "biases of the MLP and of the output layer are not counted (0.01 % of parameters)",
                     .brief = true,
                     .gated = false,
                     .layer_norm = true,
                     .side_by_side = true};
constexpr std::string_view kHeadGates = "gates of one number a head behind attention are not counted";
/// Of four layers one sees all, the first of them.
constexpr std::string_view kTiedFourth =
    R"({"tie_word_embeddings":true,"sliding_window":128,"sliding_window_pattern":4})";
constexpr std::string_view kHunyuan = R"({"moe_topk":"num_experts_per_tok","num_shared_expert":"n_shared_experts"})";
constexpr std::string_view kSharedExperts = R"({"num_shared_experts":"n_shared_experts"})";
constexpr std::string_view kCohereExperts =
    R"({"tie_word_embeddings":true,"head_dim":128,"sliding_window":4096,"sliding_window_pattern":4,"num_experts":8,
        "num_experts_per_tok":2,"max_position_embeddings":8192})";
constexpr std::string_view kCohereExpertNames =
    R"({"intermediate_size":"moe_intermediate_size","prefix_dense_intermediate_size":"intermediate_size",
        "num_shared_experts":"n_shared_experts"})";
constexpr std::string_view kOlmo =
    R"({"d_model":"hidden_size","n_layers":"num_hidden_layers","n_heads":"num_attention_heads",
        "n_kv_heads":"num_key_value_heads","max_sequence_length":"max_position_embeddings",
        "embedding_size":"vocab_size","mlp_hidden_size":"intermediate_size","mlp_ratio":"expansion_ratio",
        "weight_tying":"tie_word_embeddings","include_bias":"bias"})";
constexpr std::string_view kMixerNames =
    R"({"mamba_n_heads":"mamba_num_heads","mamba_d_head":"mamba_head_dim","mamba_d_state":"ssm_state_size",
        "mamba_n_groups":"n_groups","mamba_d_conv":"conv_kernel","mamba_chunk_size":"chunk_size"})";
/// Qwen3-Next's kin; the files of composite ones leave out the interval (configuration_qwen3_5.py).
constexpr Type kGatedDelta{.defaults = R"({"full_attention_interval":4,"head_dim":256,"linear_conv_kernel_dim":4,
                                         "linear_key_head_dim":128,"linear_value_head_dim":128,
                                         "linear_num_key_heads":16,"linear_num_value_heads":32,
                                         "max_position_embeddings":32768})",
                           .query_norms = true,
                           .halves = LayerHalves::linear,
                           .output_gate = true};

constexpr Type kBertType{.name = "bert",
                         .defaults = kBert,
                         .part = kBertPart,
                         .encoder = true,
                         .gated = false,
                         .layer_norm = true,
                         .biases = true,
                         .positions = "learned"};
constexpr Type kBartType{.name = "bart",
                         .defaults = R"({"tie_word_embeddings":true,"dropout":0.1})",
                         .two_sides = true,
                         .gated = false,
                         .layer_norm = true,
                         .biases = true,
                         .positions = "learned"};
/// BART's kin whose positions are sines, not a table.
constexpr Type kSines{.defaults = R"({"tie_word_embeddings":true,"dropout":0.1})",
                      .two_sides = true,
                      .gated = false,
                      .layer_norm = true,
                      .biases = true,
                      .positions = "none"};
constexpr Type kMt5Type{
    .name = "mt5", .defaults = kMt5, .two_sides = true, .target_share = kSpans, .brief = true, .positions = "none"};
constexpr std::array kTypes{
    Type{.name = "llama", .defaults = kLlama, .names = R"({"max_sequence_length":"max_position_embeddings"})"},
    // The first LLaVA kept Llama's keys and put its own beside them.
    Type{.name = "llava", .defaults = kLlama},
    Type{.name = "Yi"},
    // configuration_baichuan.py; the 13B models have ALiBi, which the file does not say.
    Type{.name = "baichuan", .names = R"({"model_max_length":"max_position_embeddings"})"},
    // configuration_internlm.py: biases of attention alone.
    Type{.name = "internlm", .names = R"({"bias":"attention_bias"})"},
    Type{.name = "internlm3", .names = R"({"qkv_bias":"use_qkv_bias"})"},
    Type{.name = "minicpm", .defaults = kTied},
    Type{.name = "minicpm3", .defaults = kTied},
    Type{.name = "hunyuan_v1_dense", .defaults = kTied, .query_norms = true},
    Type{.name = "hunyuan_v1_moe", .defaults = kTied, .names = kHunyuan, .query_norms = true},
    Type{.name = "hunyuan", .defaults = kTied, .names = kHunyuan, .query_norms = true},
    Type{.name = "bailing_moe", .names = kSharedExperts},
    Type{.name = "bailing_moe_v2", .names = kSharedExperts, .query_norms = true},
    Type{.name = "dots1", .query_norms = true},
    Type{.name = "mimo", .qkv_bias = true},
    Type{.name = "mimo_v2_flash",
         .defaults = R"({"first_k_dense_replace":1,"head_dim":192,"v_head_dim":128,"sliding_window":128,
                         "sliding_window_pattern":5})",
         .sliding = true,
         .sinks = true},
    Type{.name = "step3p5",
         .defaults = R"({"first_k_dense_replace":3,"head_dim":128})",
         .names = R"({"num_attention_groups":"num_key_value_heads","moe_num_experts":"n_routed_experts",
                      "moe_top_k":"num_experts_per_tok","share_expert_dim":"shared_expert_intermediate_size",
                      "share_expert_dims":"shared_expert_intermediate_size"})",
         .left_out = kHeadGates,
         .sliding = true,
         .query_norms = true},
    Type{.name = "laguna",
         .defaults = R"({"first_k_dense_replace":1,"head_dim":128,"sliding_window":512,"sliding_window_pattern":1})",
         .left_out = kHeadGates,
         .sliding = true,
         .query_norms = true},
    Type{.name = "apertus", .gated = false, .query_norms = true},
    Type{.name = "exaone", .names = R"({"num_layers":"num_hidden_layers"})"},
    Type{.name = "ernie4_5",
         .defaults =
             R"({"tie_word_embeddings":true,"head_dim":128,"vocab_size":103424,"hidden_size":1024,
                 "intermediate_size":3072,"num_hidden_layers":18,"num_attention_heads":16,"num_key_value_heads":2,
                 "max_position_embeddings":131072})"},
    Type{.name = "ernie4_5_moe",
         .defaults = kTied,
         .names = R"({"moe_num_experts":"num_local_experts","moe_k":"num_experts_per_tok",
                      "moe_num_shared_experts":"n_shared_experts","moe_layer_start_index":"first_k_dense_replace",
                      "moe_layer_interval":"moe_layer_freq"})"},
    Type{.name = "exaone4", .sliding = true, .query_norms = true, .post_norms = true},
    Type{.name = "exaone_moe",
         .defaults = R"({"first_k_dense_replace":1,"sliding_window_pattern":4})",
         .names = kSharedExperts,
         .sliding = true,
         .query_norms = true},
    Type{.name = "hy_v3", .defaults = R"({"first_k_dense_replace":1})", .names = kSharedExperts, .query_norms = true},
    Type{.name = "solar_open"},
    Type{.name = "hyperclovax", .post_norms = true},
    Type{.name = "mellum", .defaults = R"({"sliding_window_pattern":1})", .sliding = true, .query_norms = true},
    // Of four layers one sees all; its attention has a gate.
    Type{.name = "afmoe",
         .defaults = R"({"first_k_dense_replace":1,"n_shared_experts":2,"sliding_window_pattern":4})",
         .names = R"({"num_dense_layers":"first_k_dense_replace","num_shared_experts":"n_shared_experts",
                      "global_attn_every_n_layers":"sliding_window_pattern"})",
         .sliding = true,
         .query_norms = true,
         .post_norms = true,
         .output_gate = true},
    Type{.name = "muse_glimmer_text",
         .defaults = R"({"sliding_window_pattern":4})",
         .sliding = true,
         .query_norms = true,
         .post_norms = true,
         .output_gate = true},
    Type{.name = "arcee",
         .defaults =
             R"({"vocab_size":32000,"hidden_size":2560,"intermediate_size":18432,"num_hidden_layers":32,
                 "num_attention_heads":32,"max_position_embeddings":4096})",
         .gated = false},
    Type{.name = "mistral", .defaults = kMistral, .sliding = true},
    Type{.name = "ministral", .sliding = true},
    Type{.name = "ministral3", .sliding = true},
    Type{.name = "mixtral", .defaults = kMixtral, .sliding = true},
    // configuration_qwen.py: biases of the QKV projection, whatever no_bias says of the others.
    Type{.name = "qwen", .names = R"({"kv_channels":"head_dim"})", .qkv_bias = true, .gate_in_width = true},
    Type{.name = "qwen2", .defaults = kQwen2, .qkv_bias = true},
    Type{.name = "qwen2_moe", .qkv_bias = true},
    Type{.name = "qwen2_vl", .qkv_bias = true},
    Type{.name = "qwen2_vl_text", .qkv_bias = true},
    Type{.name = "qwen2_5_vl", .qkv_bias = true},
    Type{.name = "qwen2_5_vl_text", .qkv_bias = true},
    Type{.name = "qwen3", .query_norms = true},
    Type{.name = "qwen3_moe", .query_norms = true},
    Type{.name = "qwen3_vl_text", .query_norms = true},
    Type{.name = "qwen3_vl_moe_text", .query_norms = true},
    Type{.name = "qwen3_omni_moe_text", .query_norms = true},
    like(kGatedDelta, "qwen3_next"),
    like(kGatedDelta, "qwen3_5_text"),
    like(kGatedDelta, "qwen3_5_moe_text"),
    Type{.name = "olmo_hybrid", .query_norms = true, .post_norms = true, .halves = LayerHalves::linear},
    // modeling_kimi.py of its checkpoints: latent attention without positions between layers of Kimi Delta Attention.
    Type{.name = "kimi_linear",
         .names = R"({"num_experts_per_token":"num_experts_per_tok","num_shared_experts":"n_shared_experts",
                      "num_expert_group":"n_group","model_max_length":"max_position_embeddings"})",
         .positions = "none",
         .halves = LayerHalves::linear,
         .linear = LinearAttentionKind::kimi_delta},
    Type{.name = "minimax", .halves = LayerHalves::linear, .linear = LinearAttentionKind::lightning},
    Type{.name = "minimax_text_01", .halves = LayerHalves::linear, .linear = LinearAttentionKind::lightning},
    Type{.name = "MiniMaxText01", .halves = LayerHalves::linear, .linear = LinearAttentionKind::lightning},
    Type{.name = "minimax_m1", .halves = LayerHalves::linear, .linear = LinearAttentionKind::lightning},
    Type{.name = "bailing_moe_linear",
         .names = kSharedExperts,
         .query_norms = true,
         .halves = LayerHalves::linear,
         .linear = LinearAttentionKind::lightning},
    Type{.name = "deepseek"},
    Type{.name = "deepseek_v2"},
    Type{.name = "deepseek_v3"},
    Type{.name = "deepseek_v32"},
    Type{.name = "deepseek_v4",
         .defaults = R"({"head_dim":512,"q_lora_rank":1024,"sliding_window":128,"o_groups":8,"o_lora_rank":1024,
                         "index_n_heads":64,"index_head_dim":128,"index_topk":512,"hc_mult":4,"n_shared_experts":1,
                         "num_experts_per_tok":6,"max_position_embeddings":1048576})",
         .compressed = true},
    Type{.name = "glm_moe_dsa"},
    Type{.name = "glm4_moe_lite"},
    Type{.name = "kimi_k2"},
    Type{.name = "mistral4"},
    Type{.name = "axk1", .post_norms = true},
    Type{.name = "nemotron_h", .gated = false, .positions = "none", .halves = LayerHalves::letters},
    Type{.name = "bamba", .names = kMixerNames, .halves = LayerHalves::indices},
    Type{.name = "granitemoehybrid", .names = kMixerNames, .halves = LayerHalves::kinds},
    Type{.name = "falcon_h1", .names = kMixerNames, .halves = LayerHalves::side_by_side},
    // Published models were trained on 2,048 tokens (Dao & Gu 2024, section 9.2); there are no positions to bound them.
    Type{.name = "mamba2",
         .defaults = R"({"max_position_embeddings":2048})",
         .names = R"({"num_heads":"mamba_num_heads","head_dim":"mamba_head_dim","state_size":"ssm_state_size"})",
         .gated = false,
         .positions = "none",
         .halves = LayerHalves::mixers},
    Type{.name = "gpt_oss",
         .defaults = R"({"sliding_window":128,"sliding_window_pattern":2,"num_experts_per_tok":4})",
         .biases = true,
         .sliding = true,
         .sinks = true},
    Type{.name = "llama4_text",
         .defaults = R"({"attention_chunk_size":8192,"interleave_moe_layer_step":1,"num_experts_per_tok":1})"},
    Type{.name = "gemma", .defaults = kGemma},
    Type{.name = "gemma2", .defaults = kGemma2, .sliding = true, .post_norms = true},
    // The files of the larger models leave out what the class sets.
    Type{.name = "gemma3_text",
         .defaults = R"({"tie_word_embeddings":true,"head_dim":256,"num_attention_heads":8,"num_key_value_heads":4,
                         "vocab_size":262208,"max_position_embeddings":131072,"sliding_window":4096,
                         "sliding_window_pattern":6})",
         .sliding = true,
         .query_norms = true,
         .post_norms = true},
    Type{.name = "gemma4_text",
         .defaults = R"({"tie_word_embeddings":true,"head_dim":256,"global_head_dim":512,"num_attention_heads":8,
                         "num_key_value_heads":4,"vocab_size":262144,"max_position_embeddings":131072,
                         "sliding_window":512,"sliding_window_pattern":6,"hidden_size_per_layer_input":256})",
         .names = R"({"top_k_experts":"num_experts_per_tok","expert_intermediate_size":"moe_intermediate_size"})",
         .sliding = true,
         .query_norms = true,
         .post_norms = true,
         .mlp_beside_experts = true},
    // Gemma 4 12B, whose pictures and sounds pass no encoder.
    Type{.name = "gemma4_unified_text",
         .defaults = R"({"tie_word_embeddings":true,"head_dim":256,"global_head_dim":512,"num_attention_heads":8,
                         "num_key_value_heads":4,"vocab_size":262144,"max_position_embeddings":262144,
                         "sliding_window":1024,"sliding_window_pattern":6})",
         .sliding = true,
         .query_norms = true,
         .post_norms = true},
    Type{.name = "phi", .gated = false, .layer_norm = true, .biases = true, .side_by_side = true},
    // Before transformers had it: configuration_phi.py of the first checkpoints.
    Type{.name = "phi-msft",
         .names = R"({"n_head_kv":"num_key_value_heads"})",
         .brief = true,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .side_by_side = true},
    Type{.name = "phi3", .sliding = true},
    Type{.name = "phi3_v", .sliding = true},
    Type{.name = "phi4mm", .sliding = true},
    Type{.name = "phi3small",
         .defaults = kTied,
         .names = R"({"ff_intermediate_size":"intermediate_size"})",
         .left_out = "block-sparse attention is taken to see all; its time is overestimated",
         .layer_norm = true,
         .biases = true},
    // configuration_olmo.py of the checkpoints before transformers had it.
    Type{.name = "olmo", .when = "d_model", .names = kOlmo, .gate_in_width = true},
    Type{.name = "hf_olmo", .names = kOlmo, .gate_in_width = true},
    Type{.name = "olmo"},
    Type{.name = "olmo2", .query_norms = true},
    Type{.name = "olmo3", .defaults = R"({"sliding_window_pattern":4})", .sliding = true, .query_norms = true},
    Type{.name = "olmoe", .query_norms = true},
    Type{.name = "flex_olmo", .query_norms = true},
    Type{.name = "nemotron", .gated = false, .layer_norm = true},
    Type{.name = "phimoe", .layer_norm = true, .sliding = true},
    Type{.name = "glm", .defaults = R"({"head_dim":128})", .qkv_bias = true},
    // configuration_chatglm.py of the first ChatGLM-6B.
    Type{.name = "chatglm",
         .when = "inner_hidden_size",
         .defaults = kTied,
         .names = R"({"num_layers":"num_hidden_layers","inner_hidden_size":"intermediate_size",
                      "max_sequence_length":"max_position_embeddings"})",
         .gated = false,
         .layer_norm = true,
         .biases = true},
    // configuration_chatglm.py of ChatGLM2 to GLM-4-9B.
    Type{.name = "chatglm",
         .names = R"({"num_layers":"num_hidden_layers","padded_vocab_size":"vocab_size","kv_channels":"head_dim",
                      "multi_query_group_num":"num_key_value_heads","ffn_hidden_size":"intermediate_size",
                      "seq_length":"max_position_embeddings","add_qkv_bias":"use_qkv_bias",
                      "add_bias_linear":"use_bias"})"},
    Type{.name = "dbrx",
         .names = R"({"d_model":"hidden_size","n_heads":"num_attention_heads","n_layers":"num_hidden_layers",
                      "max_seq_len":"max_position_embeddings","kv_n_heads":"num_key_value_heads",
                      "ffn_hidden_size":"intermediate_size","moe_num_experts":"num_local_experts",
                      "moe_top_k":"num_experts_per_tok"})",
         .layer_norm = true},
    Type{.name = "mpt",
         .defaults = R"({"tie_word_embeddings":true,"alibi":true,"expansion_ratio":4,"no_bias":true})",
         .names = R"({"d_model":"hidden_size","n_heads":"num_attention_heads","n_layers":"num_hidden_layers",
                      "max_seq_len":"max_position_embeddings","kv_n_heads":"num_key_value_heads"})",
         .gated = false,
         .layer_norm = true,
         .positions = "learned"},
    Type{.name = "granite"},
    Type{.name = "granitemoe"},
    Type{.name = "granitemoeshared"},
    Type{.name = "granite_swa", .defaults = kTiedFourth, .sliding = true, .sinks = true},
    Type{.name = "granitemoe_swa", .defaults = kTiedFourth, .sliding = true, .sinks = true},
    Type{.name = "grok-1", .defaults = kTied, .post_norms = true},
    // Of all models of type "git" the one that has it: an MLP beside the experts of each layer.
    Type{.name = "git",
         .when = "residual_moe",
         .names = R"({"intermediate_size":"shared_expert_intermediate_size"})",
         .post_norms = true},
    Type{.name = "smollm3", .defaults = kTied},
    Type{.name = "seed_oss", .qkv_bias = true},
    Type{.name = "glm4", .qkv_bias = true, .post_norms = true},
    Type{.name = "glm4_moe", .qkv_bias = true},
    Type{.name = "glm4v_text", .qkv_bias = true, .post_norms = true},
    Type{.name = "glm4v_moe_text", .defaults = R"({"first_k_dense_replace":1})", .qkv_bias = true},
    Type{.name = "minimax_m2", .query_norms = true},
    Type{.name = "cohere", .defaults = kTied, .layer_norm = true, .side_by_side = true},
    Type{.name = "cohere2",
         .defaults = R"({"tie_word_embeddings":true,"sliding_window":4096,"sliding_window_pattern":4})",
         .layer_norm = true,
         .sliding = true,
         .side_by_side = true},
    // configuration_cohere2_moe.py: intermediate_size is an expert's; norms are RMSNorm where the file has their
    // epsilon.
    Type{.name = "cohere2_moe",
         .when = "rms_norm_eps",
         .defaults = kCohereExperts,
         .names = kCohereExpertNames,
         .sliding = true,
         .side_by_side = true},
    Type{.name = "cohere2_moe",
         .defaults = kCohereExperts,
         .names = kCohereExpertNames,
         .layer_norm = true,
         .sliding = true,
         .side_by_side = true},
    Type{.name = "internlm2"},
    Type{.name = "stablelm", .layer_norm = true},
    Type{.name = "stablelm_epoch", .layer_norm = true},
    Type{.name = "orion", .layer_norm = true},
    Type{.name = "starcoder2", .defaults = kTied, .gated = false, .layer_norm = true, .biases = true, .sliding = true},
    Type{.name = "gpt2",
         .defaults = kGpt2,
         .part = kGpt2Part,
         .brief = true,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned"},
    Type{.name = "gpt_bigcode",
         .defaults = R"({"tie_word_embeddings":true,"multi_query":true,"resid_pdrop":0.1})",
         .brief = true,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned"},
    // Alone with a gate and ALiBi among those with GPT-2's keys (configuration_jais.py).
    Type{.name = "jais",
         .defaults = R"({"tie_word_embeddings":true})",
         .brief = true,
         .layer_norm = true,
         .biases = true,
         .positions = "alibi"},
    Type{.name = "openai-gpt",
         .defaults = kGpt2,
         .brief = true,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned"},
    Type{.name = "xglm",
         .defaults = R"({"tie_word_embeddings":true,"dropout":0.1})",
         .names = R"({"d_model":"hidden_size","num_layers":"num_hidden_layers",
                      "attention_heads":"num_attention_heads"})",
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "none"},
    Type{.name = "biogpt",
         .defaults = R"({"tie_word_embeddings":true,"hidden_dropout_prob":0.1})",
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned"},
    Type{.name = "persimmon", .gated = false, .layer_norm = true, .biases = true, .query_norms = true},
    like(kGptJ, "codegen"),
    like(kGptJ, "gptj"),
    Type{.name = "gpt_neo",
         .defaults = R"({"tie_word_embeddings":true,"sliding_window":256,"sliding_window_pattern":2})",
         .names = R"({"num_layers":"num_hidden_layers","num_heads":"num_attention_heads",
                      "window_size":"sliding_window"})",
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned",
         .sliding = true},
    Type{.name = "gpt_neox", .gated = false, .layer_norm = true, .biases = true, .side_by_side = true},
    Type{.name = "opt",
         .defaults = R"({"tie_word_embeddings":true,"dropout":0.1})",
         .part = R"({"vocab_size":50272,"hidden_size":768,"num_hidden_layers":12,"ffn_dim":3072,
                     "num_attention_heads":12,"max_position_embeddings":2048})",
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned"},
    Type{.name = "bloom",
         .defaults = R"({"tie_word_embeddings":true,"seq_length":2048})",
         .brief = true,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "alibi"},
    kFalconType,
    kRefinedWebModel,
    kRefinedWeb,
    Type{.name = "t5",
         .defaults = kT5,
         .part = kT5Part,
         .two_sides = true,
         .target_share = kSpans,
         .brief = true,
         .positions = "none"},
    kMt5Type,
    like(kMt5Type, "umt5"),
    kBartType,
    like(kBartType, "mbart"),
    like(kBartType, "plbart"),
    like(kBartType, "blenderbot"),
    like(kBartType, "blenderbot-small"),
    like(kSines, "pegasus"),
    like(kSines, "marian"),
    like(kSines, "m2m_100"),
    kBertType,
    like(kBertType, "roberta"),
    like(kBertType, "xlm-roberta"),
    like(kBertType, "camembert"),
    like(kBertType, "ernie"),
    like(kBertType, "megatron-bert"),
    // AlbertConfig: sizes of ALBERT-xxlarge where the file leaves them out, ties and dropout of AlbertForPreTraining.
    Type{.name = "albert",
         .defaults = R"({"tie_word_embeddings":true,"hidden_dropout_prob":0,"type_vocab_size":2,"embedding_size":128,
                         "num_hidden_groups":1})",
         .part = R"({"vocab_size":30000,"hidden_size":4096,"num_hidden_layers":12,"num_attention_heads":64,
                     "intermediate_size":16384,"max_position_embeddings":512})",
         .encoder = true,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned",
         .shared_layers = true},
    Type{.name = "electra",
         .defaults = kBert,
         .encoder = true,
         .pooler = false,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned"},
    Type{.name = "deberta-v2",
         .defaults = kTied,
         .left_out = "attention's products with relative positions are not counted; its time is underestimated",
         .encoder = true,
         .pooler = false,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "none"},
    Type{.name = "distilbert",
         .defaults = R"({"tie_word_embeddings":true,"dropout":0.1})",
         .names = R"({"dim":"hidden_size","hidden_dim":"intermediate_size","n_layers":"num_hidden_layers",
                      "n_heads":"num_attention_heads"})",
         .encoder = true,
         .pooler = false,
         .gated = false,
         .layer_norm = true,
         .biases = true,
         .positions = "learned"},
    Type{.name = "modernbert",
         .defaults = R"({"tie_word_embeddings":true,"sliding_window":128,"sliding_window_pattern":3})",
         .names = R"({"local_attention":"sliding_window","global_attn_every_n_layers":"sliding_window_pattern"})",
         .encoder = true,
         .pooler = false,
         .layer_norm = true,
         .sliding = true},
};

}  // namespace

const HuggingFaceType* huggingface_type(std::string_view name, const Json& config) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& type) {
    return type.name == name && (type.when.empty() || config.contains(std::string(type.when)));
  });
  return found == kTypes.end() ? nullptr : &*found;
}

std::vector<std::string_view> huggingface_type_names() {
  std::vector<std::string_view> out;
  out.reserve(std::size(kTypes));
  for (const Type& type : kTypes)
    if (std::find(out.begin(), out.end(), type.name) == out.end()) out.push_back(type.name);
  return out;
}

}  // namespace stepcast
