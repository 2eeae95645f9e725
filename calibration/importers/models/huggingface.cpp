#include "calibration/importers/models/huggingface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/importers/models/config_reader.hpp"
#include "models/workload/model.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// What a `model_type` means beyond its sizes: what the configuration class of transformers sets where the file is
/// silent. Source: configuration_<type>.py of Hugging Face transformers 4.5x.
struct ModelType {
  std::string_view name;
  bool tied = false;         ///< default of tie_word_embeddings
  bool qkv_bias = false;     ///< its QKV projections always have biases
  bool sliding = false;      ///< sliding_window counts when it is there
  bool query_norms = false;  ///< norms of queries and keys, which the shape does not count
  bool halves = false;       ///< layers are mixers, attention, MLPs or experts by a pattern (NVIDIA's nemotron_h)
};
constexpr std::array kTypes{
    ModelType{"llama"},
    ModelType{"mistral", false, false, true},
    ModelType{"mixtral", false, false, true},
    ModelType{"qwen2", false, true},
    ModelType{"qwen2_moe", false, true},
    ModelType{"qwen3", false, false, false, true},
    ModelType{"qwen3_moe", false, false, false, true},
    ModelType{"deepseek_v2"},
    ModelType{"deepseek_v3"},
    ModelType{"kimi_k2"},
    ModelType{"nemotron_h", false, false, false, false, true},
    ModelType{"gpt2", true},
    ModelType{"bert", true},
};

class HuggingFaceReader {
 public:
  HuggingFaceReader(const Json& config, std::string id, Diagnostics& diagnostics)
      : config_(config), reader_(config, "", diagnostics), diagnostics_(diagnostics), id_(std::move(id)) {}

  ImportedModel read(std::optional<int> seq_len) {
    find_type();
    if (!diagnostics_.ok()) return {};
    if (type_->name == "gpt2")
      gpt2();
    else if (type_->name == "bert")
      bert();
    else
      decoder();
    common();
    const int length = seq_len.value_or(std::min(positions_, kAssumedSequence));
    if (!seq_len && positions_ > kAssumedSequence)
      notes_.push_back(
          fmt::format("the model takes {} tokens; steps of {} are assumed (--seq-len)", positions_, length));
    return finish(length);
  }

 private:
  void find_type() {
    const std::string name = reader_.text("model_type");
    for (const ModelType& type : kTypes)
      if (type.name == name) type_ = &type;
    if (type_) return;
    std::vector<std::string> names;
    names.reserve(kTypes.size());
    for (const ModelType& type : kTypes) names.emplace_back(type.name);
    const std::string near = did_you_mean(name, names);
    diagnostics_.error("/model_type", name.empty() ? "missing" : fmt::format("found \"{}\"", name),
                       near.empty() ? expected_one_of(names) : near);
  }

  void decoder() {
    shape_["layers"] = reader_.required({"num_hidden_layers"});
    shape_["hidden"] = reader_.required({"hidden_size"});
    shape_["heads"] = heads_ = reader_.required({"num_attention_heads"});
    shape_["vocab"] = reader_.required({"vocab_size"});
    shape_["gated_mlp"] = true;
    shape_["positions"] = "rotary";
    shape_["norm"] = "rms_norm";
    positions_ = reader_.required({"max_position_embeddings"});
    if (reader_.has("kv_lora_rank"))
      latent_attention();
    else
      attention();
    if (type_->halves) halves();
    // Of a family by patterns the class has experts where its file shows none of these layers, too.
    const bool routed = !type_->halves || shape_["layer_pattern"].get<std::string>().find('E') != std::string::npos;
    if (!routed)
      reader_.ignore({"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_shared_experts",
                      "moe_shared_expert_intermediate_size", "moe_latent_size"});
    if (routed && (reader_.has("n_routed_experts") || reader_.has("num_local_experts") || reader_.has("num_experts")))
      experts();
    else
      shape_["ffn_hidden"] = reader_.required({"intermediate_size"});
    if (const auto layers = reader_.whole("num_nextn_predict_layers", 0); layers && *layers > 0)
      notes_.push_back(fmt::format(
          "num_nextn_predict_layers {}: left out, as checkpoints count the main model; mtp_layers trains them too",
          *layers));
  }

  /// nemotron_h (configuration_nemotron_h.py of its checkpoints): squared ReLU without a gate, no positions.
  void halves() {
    shape_["gated_mlp"] = false;
    shape_["positions"] = "none";
    shape_["layer_pattern"] = reader_.text("hybrid_override_pattern");
    if (shape_["layer_pattern"] == "") diagnostics_.error("/hybrid_override_pattern", "missing");
    shape_["ssm_heads"] = reader_.required({"mamba_num_heads"});
    shape_["ssm_head_dim"] = reader_.required({"mamba_head_dim"});
    shape_["ssm_state"] = reader_.required({"ssm_state_size"});
    shape_["ssm_groups"] = reader_.required({"n_groups", "mamba_n_groups"});
    if (const auto tokens = reader_.whole("conv_kernel"); tokens && *tokens != 4) shape_["ssm_conv"] = *tokens;
    if (const auto chunk = reader_.whole("chunk_size"); chunk && *chunk != 128)
      notes_.push_back(fmt::format("chunk_size {}: scans are described in chunks of 128 tokens", *chunk));
    reader_.ignore({"expand",
                    "mamba_hidden_act",
                    "mamba_proj_bias",
                    "mamba_ssm_cache_dtype",
                    "mlp_hidden_act",
                    "residual_in_fp32",
                    "rescale_prenorm_residual",
                    "time_step_floor",
                    "time_step_limit",
                    "time_step_max",
                    "time_step_min",
                    "time_step_rank",
                    "use_bias",
                    "use_conv_bias",
                    "use_mamba_kernels",
                    "hidden_dropout",
                    "num_logits_to_keep",
                    "norm_eps",
                    "partial_rotary_factor",
                    "mtp_hybrid_override_pattern"});
  }

  void attention() {
    if (const auto groups = reader_.whole("num_key_value_heads"); groups && *groups != heads_)
      shape_["kv_heads"] = *groups;
    if (const auto size = reader_.whole("head_dim")) shape_["head_dim"] = *size;
    const bool bias = reader_.flag("attention_bias", false);
    if (type_->qkv_bias || bias) shape_["qkv_bias"] = true;
    if (bias && !type_->qkv_bias) notes_.emplace_back("attention_bias: the output projection's bias is not counted");
    if (reader_.flag("mlp_bias", false)) notes_.emplace_back("mlp_bias: the biases of the MLP are not counted");
    window();
  }

  void window() {
    const auto window = reader_.whole("sliding_window");
    const bool used = reader_.flag("use_sliding_window", type_->sliding);
    const auto full_layers = reader_.whole("max_window_layers", 0);
    if (!window || !used) return;
    shape_["window"] = *window;
    if (full_layers && *full_layers > 0)
      notes_.push_back(fmt::format("max_window_layers {}: every layer is taken to have the window", *full_layers));
  }

  void latent_attention() {
    reader_.ignore({"num_key_value_heads", "attention_bias", "head_dim"});
    for (const char* key : {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
      shape_[key] = reader_.required({key});
    if (const auto rank = reader_.whole("q_lora_rank")) shape_["q_lora_rank"] = *rank;
  }

  void experts() {
    shape_["experts"] = reader_.required({"n_routed_experts", "num_local_experts", "num_experts"});
    shape_["top_k"] = reader_.required({"num_experts_per_tok"});
    const int dense = reader_.required({"intermediate_size"});
    shape_["ffn_hidden"] = dense;
    const int wide = reader_.whole("moe_intermediate_size").value_or(dense);
    shape_["moe_ffn_hidden"] = wide;
    if (const auto shared = reader_.whole("n_shared_experts", 0); shared && *shared > 0)
      shape_["shared_expert_ffn"] = *shared * wide;
    if (const auto width = reader_.whole("shared_expert_intermediate_size", 0); width && *width > 0)
      shape_["shared_expert_ffn"] = *width;
    if (const auto width = reader_.whole("moe_shared_expert_intermediate_size", 0); width && *width > 0)
      shape_["shared_expert_ffn"] = *width;
    if (const auto width = reader_.whole("moe_latent_size", 0); width && *width > 0) shape_["moe_latent"] = *width;
    if (const auto first = reader_.whole("first_k_dense_replace", 0); first && *first > 0)
      shape_["dense_layers"] = *first;
    for (const char* key : {"moe_layer_freq", "decoder_sparse_step"})
      if (const auto every = reader_.whole(key); every && *every > 1) shape_["moe_every"] = *every;
    reader_.ignore({"mlp_only_layers"});
    if (config_.contains("mlp_only_layers") && config_.at("mlp_only_layers").is_array() &&
        !config_.at("mlp_only_layers").empty())
      diagnostics_.error("/mlp_only_layers", "lists single layers without experts, which a model here cannot have",
                         "dense_layers and moe_every are what a model has");
  }

  void gpt2() {
    shape_["layers"] = reader_.required({"n_layer"});
    const int hidden = reader_.required({"n_embd"});
    shape_["hidden"] = hidden;
    shape_["heads"] = reader_.required({"n_head"});
    shape_["ffn_hidden"] = reader_.whole("n_inner").value_or(4 * hidden);
    shape_["vocab"] = reader_.required({"vocab_size"});
    positions_ = reader_.required({"n_positions", "n_ctx"});
    learned_positions(reader_.number("resid_pdrop").value_or(0.1));
    reader_.ignore({"n_ctx", "attn_pdrop", "embd_pdrop"});
  }

  void bert() {
    family_ = "encoder";
    shape_["layers"] = reader_.required({"num_hidden_layers"});
    shape_["hidden"] = reader_.required({"hidden_size"});
    shape_["heads"] = reader_.required({"num_attention_heads"});
    shape_["ffn_hidden"] = reader_.required({"intermediate_size"});
    shape_["vocab"] = reader_.required({"vocab_size"});
    shape_["token_types"] = reader_.whole("type_vocab_size", 0).value_or(2);
    positions_ = reader_.required({"max_position_embeddings"});
    shape_["pooler_and_heads"] = true;
    // Masked tokens: 15 % of the sequence (Devlin et al. 2018, section 3.1).
    shape_["predicted_share"] = 0.15;
    learned_positions(reader_.number("hidden_dropout_prob").value_or(0.1));
    notes_.emplace_back("pre-training: pooler and both heads are counted; 15 % of the tokens are predicted");
    reader_.ignore(
        {"attention_probs_dropout_prob", "position_embedding_type", "classifier_dropout", "gradient_checkpointing"});
  }

  void learned_positions(double dropout) {
    shape_["biases"] = true;
    shape_["positions"] = "learned";
    shape_["norm"] = "layer_norm";
    shape_["max_positions"] = positions_;
    if (dropout > 0) shape_["dropout"] = dropout;
  }

  /// Keys that all types have.
  void common() {
    if (reader_.flag("tie_word_embeddings", type_->tied)) shape_["tied_embeddings"] = true;
    if (type_->query_norms)
      notes_.emplace_back("norms of queries and keys are not counted (below 0.01 % of parameters)");
    reader_.ignore({"architectures",
                    "auto_map",
                    "torch_dtype",
                    "dtype",
                    "transformers_version",
                    "use_cache",
                    "bos_token_id",
                    "eos_token_id",
                    "pad_token_id",
                    "sep_token_id",
                    "_name_or_path",
                    "hidden_act",
                    "activation_function",
                    "initializer_range",
                    "rms_norm_eps",
                    "layer_norm_eps",
                    "layer_norm_epsilon",
                    "rope_theta",
                    "rope_scaling",
                    "rope_parameters",
                    "attention_dropout",
                    "pretraining_tp",
                    "output_router_logits",
                    "router_aux_loss_coef",
                    "router_jitter_noise",
                    "norm_topk_prob",
                    "scoring_func",
                    "topk_method",
                    "topk_group",
                    "n_group",
                    "routed_scaling_factor",
                    "aux_loss_alpha",
                    "seq_aux",
                    "ep_size",
                    "summary_type",
                    "summary_use_proj",
                    "summary_activation",
                    "summary_proj_to_labels",
                    "summary_first_dropout",
                    "task_specific_params",
                    "scale_attn_weights",
                    "reorder_and_upcast_attn",
                    "scale_attn_by_inverse_layer_idx",
                    "id2label",
                    "label2id",
                    "is_decoder",
                    "num_attention_heads",
                    "vocab_size"});
  }

  ImportedModel finish(int length) {
    ImportedModel out;
    out.model = {{"id", id_},
                 {"title", id_},
                 {"family", family_},
                 {"transformer", shape_},
                 {"default_seq_len", length},
                 // Megatron-LM's indexed data sets: 16 bits a token while the vocabulary fits, else 32.
                 {"sample_kB", length * (shape_["vocab"].get<int>() <= 65536 ? 2 : 4) / 1000.0},
                 {"sources", {{"transformer", "config.json of " + id_}}}};
    if (const std::string unknown = unknown_note(reader_.unknown()); !unknown.empty()) notes_.push_back(unknown);
    out.notes = std::move(notes_);
    return out;
  }

  const Json& config_;
  ConfigReader reader_;
  Diagnostics& diagnostics_;
  std::string id_;
  const ModelType* type_ = nullptr;
  Json shape_ = Json::object();
  std::string family_ = "decoder";
  int heads_ = 0, positions_ = 0;
  std::vector<std::string> notes_;
};

/// What the file says it is, else its folder's or its own name.
std::string id_of(const Json& config, const std::filesystem::path& file) {
  if (config.contains("_name_or_path") && config.at("_name_or_path").is_string())
    if (std::string name = config.at("_name_or_path").get<std::string>(); !name.empty()) return name;
  if (file.stem() != "config") return file.stem().string();
  const std::string folder = std::filesystem::absolute(file).parent_path().filename().string();
  return folder.empty() ? "model" : folder;
}

}  // namespace

ImportedModel import_huggingface(const std::filesystem::path& file, std::optional<int> seq_len) {
  Diagnostics diagnostics(file.string());
  const Json config = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  if (!config.is_object())
    throw InputError({{file.string(), "", fmt::format("found {}, expected an object", describe(config)),
                       "a config.json of Hugging Face transformers"}});
  ImportedModel out = HuggingFaceReader(config, id_of(config, file), diagnostics).read(seq_len);
  diagnostics.throw_if_faulty();
  Model model;
  Model::fields().read(model, out.model, "", diagnostics);
  if (diagnostics.ok()) check_model(model, "", diagnostics);
  diagnostics.throw_if_faulty();
  out.parameters = parameter_count(model);
  return out;
}

}  // namespace stepcast
