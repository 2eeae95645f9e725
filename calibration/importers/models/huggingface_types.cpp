#include "calibration/importers/models/huggingface_types.hpp"

#include <algorithm>
#include <array>

namespace stepcast {

namespace {

using Type = HuggingFaceType;

constexpr std::string_view kTied = R"({"tie_word_embeddings":true})";
constexpr std::string_view kTiedDropout = R"({"tie_word_embeddings":true,"resid_pdrop":0.1})";
constexpr std::string_view kBert = R"({"tie_word_embeddings":true,"hidden_dropout_prob":0.1,"type_vocab_size":2})";

constexpr std::string_view kT5 =
    R"({"tie_word_embeddings":true,"n_positions":512,"d_kv":64,"feed_forward_proj":"relu","dropout_rate":0.1})";
constexpr std::string_view kMt5 =
    R"({"tie_word_embeddings":false,"n_positions":512,"d_kv":64,"feed_forward_proj":"gated-gelu","dropout_rate":0.1})";
// 15 % of the tokens in spans of three, each with a mark: 114 of 512 (Raffel et al. 2020, section 3.1.4).
constexpr double kSpans = 114.0 / 512;

constexpr Type kBertType{.name = "bert",
                         .defaults = kBert,
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
constexpr Type kMt5Type{
    .name = "mt5", .defaults = kMt5, .two_sides = true, .target_share = kSpans, .brief = true, .positions = "none"};
/// A type that differs in what its tokens are, not in its network.
constexpr Type like(Type type, std::string_view name) {
  type.name = name;
  return type;
}

constexpr std::array kTypes{
    Type{.name = "llama"},
    Type{.name = "mistral", .sliding = true},
    Type{.name = "ministral", .sliding = true},
    Type{.name = "mixtral", .sliding = true},
    Type{.name = "qwen2", .qkv_bias = true},
    Type{.name = "qwen2_moe", .qkv_bias = true},
    Type{.name = "qwen2_vl", .qkv_bias = true},
    Type{.name = "qwen2_vl_text", .qkv_bias = true},
    Type{.name = "qwen2_5_vl", .qkv_bias = true},
    Type{.name = "qwen2_5_vl_text", .qkv_bias = true},
    Type{.name = "qwen3", .query_norms = true},
    Type{.name = "qwen3_moe", .query_norms = true},
    Type{.name = "qwen3_vl_text", .query_norms = true},
    Type{.name = "qwen3_vl_moe_text", .query_norms = true},
    Type{.name = "deepseek_v2"},
    Type{.name = "deepseek_v3"},
    Type{.name = "kimi_k2"},
    Type{.name = "nemotron_h", .halves = true},
    Type{.name = "gpt_oss",
         .defaults = R"({"sliding_window":128,"sliding_window_pattern":2,"num_experts_per_tok":4})",
         .biases = true,
         .sliding = true,
         .sinks = true},
    Type{.name = "llama4_text",
         .defaults = R"({"attention_chunk_size":8192,"interleave_moe_layer_step":1,"num_experts_per_tok":1})"},
    Type{.name = "gemma", .defaults = R"({"tie_word_embeddings":true,"head_dim":256})"},
    Type{.name = "gemma2",
         .defaults = R"({"tie_word_embeddings":true,"head_dim":256,"sliding_window":4096,"sliding_window_pattern":2})",
         .sliding = true,
         .post_norms = true},
    // The files of the larger models leave out what the class sets.
    Type{.name = "gemma3_text",
         .defaults = R"({"tie_word_embeddings":true,"head_dim":256,"num_attention_heads":8,"num_key_value_heads":4,
                         "vocab_size":262208,"max_position_embeddings":131072,"sliding_window":4096,
                         "sliding_window_pattern":6})",
         .sliding = true,
         .query_norms = true,
         .post_norms = true},
    Type{.name = "phi", .gated = false, .layer_norm = true, .biases = true, .side_by_side = true},
    Type{.name = "phi3", .sliding = true},
    Type{.name = "olmo"},
    Type{.name = "olmo2", .query_norms = true},
    Type{.name = "olmoe", .query_norms = true},
    Type{.name = "granite"},
    Type{.name = "granitemoe"},
    Type{.name = "smollm3", .defaults = kTied},
    Type{.name = "seed_oss", .qkv_bias = true},
    Type{.name = "glm4", .qkv_bias = true, .post_norms = true},
    Type{.name = "glm4_moe", .qkv_bias = true},
    Type{.name = "minimax_m2", .query_norms = true},
    Type{.name = "cohere", .defaults = kTied, .layer_norm = true, .side_by_side = true},
    Type{.name = "cohere2",
         .defaults = R"({"tie_word_embeddings":true,"sliding_window":4096,"sliding_window_pattern":4})",
         .layer_norm = true,
         .sliding = true,
         .side_by_side = true},
    Type{.name = "internlm2"},
    Type{.name = "stablelm", .layer_norm = true},
    Type{.name = "starcoder2", .defaults = kTied, .gated = false, .layer_norm = true, .biases = true, .sliding = true},
    Type{.name = "gpt2",
         .defaults = kTiedDropout,
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
    Type{.name = "gpt_neox", .gated = false, .layer_norm = true, .biases = true, .side_by_side = true},
    Type{.name = "opt",
         .defaults = R"({"tie_word_embeddings":true,"dropout":0.1})",
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
    Type{.name = "falcon",
         .defaults = R"({"tie_word_embeddings":true,"max_position_embeddings":2048,"multi_query":true})",
         .gated = false,
         .layer_norm = true,
         .side_by_side = true},
    Type{.name = "t5", .defaults = kT5, .two_sides = true, .target_share = kSpans, .brief = true, .positions = "none"},
    kMt5Type,
    like(kMt5Type, "umt5"),
    kBartType,
    like(kBartType, "mbart"),
    kBertType,
    like(kBertType, "roberta"),
    like(kBertType, "xlm-roberta"),
};

}  // namespace

const HuggingFaceType* huggingface_type(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

std::vector<std::string_view> huggingface_type_names() {
  std::vector<std::string_view> out;
  for (const Type& type : kTypes) out.push_back(type.name);
  return out;
}

}  // namespace stepcast
