#include "calibration/importers/models/huggingface_params.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace stepcast {

namespace {

struct RenamedParam {
  const char *theirs, *ours;
};
constexpr std::array kParams{RenamedParam{"dim", "hidden_size"},
                             RenamedParam{"n_layers", "num_hidden_layers"},
                             RenamedParam{"n_heads", "num_attention_heads"},
                             RenamedParam{"n_kv_heads", "num_key_value_heads"},
                             RenamedParam{"hidden_dim", "intermediate_size"},
                             RenamedParam{"norm_eps", "rms_norm_eps"},
                             RenamedParam{"max_seq_len", "max_position_embeddings"},
                             RenamedParam{"tied_embeddings", "tie_word_embeddings"}};
// Of the section of experts: Mistral's `moe`, Meta's `moe_args`.
constexpr std::array kExpertKeys{RenamedParam{"num_experts", "num_local_experts"},
                                 RenamedParam{"top_k", "num_experts_per_tok"},
                                 RenamedParam{"expert_hidden_dim", "moe_intermediate_size"},
                                 RenamedParam{"num_shared_experts", "n_shared_experts"},
                                 RenamedParam{"num_expert_groups", "n_group"},
                                 RenamedParam{"num_expert_groups_per_tok", "topk_group"}};
// Layouts in memory, scales and routing that change neither time nor memory.
constexpr std::array kHarmlessParams{"multiple_of",
                                     "ffn_dim_multiplier",
                                     "ffn_exp",
                                     "use_scaled_rope",
                                     "causal",
                                     "max_batch_size",
                                     "quantization",
                                     "llama_4_scaling",
                                     "yarn",
                                     "rope_scaling_factor",
                                     "use_qk_norm",
                                     "quantization_args",
                                     "lora_args",
                                     "nope_layer_interval",
                                     "rope_high_freq_factor"};
constexpr std::array kHarmlessOfExperts{"capacity_factor", "auto_scale_F", "expert_parallel", "expert_model_parallel",
                                        "route_every_n",   "routed_scale", "gate_dtype",      "eval_capacity_factor"};

constexpr int kLlama2Vocabulary = 32000, kLlama3Vocabulary = 128256;

double number_at(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

void rename_param(Json& config, const char* theirs, const char* ours) {
  const auto found = config.find(theirs);
  if (found == config.end() || std::string_view(theirs) == ours) return;
  const Json value = *found;
  config.erase(theirs);
  config[ours] = value;
}

/// Width of the MLP as Meta's FeedForward has it: two thirds of four times the width, times a multiplier, in whole
/// multiples (llama_models, model.py).
double feed_forward_of(const Json& params) {
  double width = std::floor(2 * (4 * number_at(params, "dim", 0)) / 3);
  width = std::floor(width * number_at(params, "ffn_dim_multiplier", 1));
  const double unit = std::max(1.0, number_at(params, "multiple_of", 256));
  return unit * std::ceil(width / unit);
}

/// Llama 4: every layer that has experts has a shared one, and all are so much narrower that a token's work stays.
void meta_experts(Json& config, const Json& experts, double dense) {
  config["model_type"] = "llama4_text";
  config["intermediate_size_mlp"] = static_cast<long>(dense);
  const bool scaled = experts.value("auto_scale_F", Json(true)) == true;
  const double width = scaled ? dense / (number_at(experts, "capacity_factor", 1) + 1) : dense;
  const double unit = std::max(1.0, number_at(config, "multiple_of", 1));
  config["intermediate_size"] = static_cast<long>(unit * std::ceil(width / unit));
}

void take_experts(Json& config, const char* section, bool meta) {
  Json experts = config.at(section);
  config.erase(section);
  if (!experts.is_object()) return;
  if (meta)
    meta_experts(config, experts, number_at(config, "intermediate_size", 0));
  else
    config["model_type"] = config.contains("kv_lora_rank") ? "deepseek_v3" : "mixtral";
  if (config["model_type"] == "deepseek_v3") rename_param(experts, "num_experts", "n_routed_experts");
  for (const RenamedParam& key : kExpertKeys) rename_param(experts, key.theirs, key.ours);
  for (const char* key : kHarmlessOfExperts) experts.erase(key);
  for (const auto& [key, value] : experts.items()) config[key] = value;
}

}  // namespace

bool is_params(const Json& document) {
  if (!document.is_object()) return false;
  const auto has = [&](const char* key) { return document.contains(key); };
  // DistilBERT's config.json has these sizes, too, and says its type.
  return has("dim") && has("n_layers") && has("n_heads") && !has("model_type") && !has("architectures");
}

Json config_of_params(const Json& params, std::vector<std::string>& notes) {
  const bool meta = !params.contains("hidden_dim");
  Json config = params;
  for (const RenamedParam& key : kParams) rename_param(config, key.theirs, key.ours);
  config["model_type"] = meta ? "llama" : "mistral";
  if (!config.contains("num_key_value_heads")) config["num_key_value_heads"] = params.at("n_heads");
  if (!config.contains("tie_word_embeddings")) config["tie_word_embeddings"] = false;
  if (meta) config["intermediate_size"] = static_cast<long>(feed_forward_of(params));
  double vocabulary = number_at(config, "vocab_size", 0);
  const bool stated = config.contains("vocab_size") && !config["vocab_size"].is_number();
  if (vocabulary <= 0 && !stated) {
    vocabulary = kLlama2Vocabulary;
    config["vocab_size"] = kLlama2Vocabulary;
    notes.push_back(fmt::format("vocab_size is the tokenizer's: {} is taken, Llama 2's", kLlama2Vocabulary));
  }
  if (meta && vocabulary == kLlama3Vocabulary && number_at(params, "dim", 0) <= 3072) {
    config["tie_word_embeddings"] = true;
    notes.emplace_back("embeddings are tied in Llama 3.2's small models; the file does not say it");
  }
  if (!config.contains("max_position_embeddings")) {
    const int positions = params.value("use_scaled_rope", Json(false)) == true ? 131072
                          : !meta                                              ? 32768
                          : vocabulary >= kLlama3Vocabulary                    ? 8192
                                                                               : 4096;
    config["max_position_embeddings"] = positions;
    notes.push_back(
        fmt::format("positions are not told: {} are taken (--seq-len says what a step trains on)", positions));
  }
  for (const char* section : {"moe", "moe_args"})
    if (config.contains(section)) take_experts(config, section, meta);
  for (const char* section : {"vision_encoder", "vision_args"})
    if (config.contains(section)) {
      config.erase(section);
      notes.emplace_back("the language model alone: what sees images is left out");
    }
  for (const char* key : kHarmlessParams) config.erase(key);
  return config;
}

}  // namespace stepcast
