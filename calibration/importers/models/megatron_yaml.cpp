#include "calibration/importers/models/megatron_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "calibration/importers/models/shell_script.hpp"
#include "calibration/importers/text_file.hpp"
#include "calibration/importers/yaml_text.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Sections about data, files, logs and schedules of the learning rate.
constexpr auto kHarmlessSections = std::to_array<std::string_view>({"exp_manager",
                                                                    "run",
                                                                    "logger",
                                                                    "checkpoint",
                                                                    "scheduler",
                                                                    "rng",
                                                                    "rerun_state_machine",
                                                                    "straggler",
                                                                    "profiling",
                                                                    "nvrx_straggler",
                                                                    "ft",
                                                                    "inprocess_restart",
                                                                    "validation",
                                                                    "data",
                                                                    "sched",
                                                                    "nsys_profile",
                                                                    "hydra",
                                                                    "activation_func",
                                                                    "init_method",
                                                                    "output_layer_init_method",
                                                                    "embedding_init_method",
                                                                    "generation_config",
                                                                    "callbacks",
                                                                    "plugins",
                                                                    "tensor_inspect",
                                                                    "optimizer_config_override_provider",
                                                                    "rope_scaling_config"});

/// A key here and the option that says the same with the same value.
struct RenamedOption {
  std::string_view key, option;
};
constexpr std::array kRenamedOptions{
    RenamedOption{"num_moe_experts", "num-experts"},
    RenamedOption{"encoder_seq_length", "seq-length"},
    RenamedOption{"sequence_length", "seq-length"},
    RenamedOption{"virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
    RenamedOption{"activations_checkpoint_granularity", "recompute-granularity"},
    RenamedOption{"activations_checkpoint_method", "recompute-method"},
    RenamedOption{"activations_checkpoint_num_layers", "recompute-num-layers"},
    RenamedOption{"num_layers_in_first_pipeline_stage", "decoder-first-pipeline-num-layers"},
    RenamedOption{"num_layers_in_last_pipeline_stage", "decoder-last-pipeline-num-layers"},
    RenamedOption{"account_for_embedding_in_pipeline_split", "account-for-embedding-in-pipeline-split"},
    RenamedOption{"ub_tp_comm_overlap", "tp-comm-overlap"},
    RenamedOption{"overlap_grad_sync", "overlap-grad-reduce"},
    RenamedOption{"overlap_param_sync", "overlap-param-gather"},
    RenamedOption{"num_nodes", "nnodes"},
    RenamedOption{"devices", "nproc_per_node"},
    RenamedOption{"max_steps", "train-iters"},
    RenamedOption{"expert_model_parallel_size", "expert-model-parallel-size"},
    RenamedOption{"hybrid_override_pattern", "hybrid-override-pattern"},
    RenamedOption{"seq_len", "seq-length"}};

/// Keys that say how something is computed that costs the same, beginnings of their names. They are handed on like any
/// other, since some that begin so are asked for: these are those of which nothing is said where nobody asks.
constexpr auto kHarmlessYamlKeys = std::to_array<std::string_view>({"defaults",
                                                                    "_target_",
                                                                    "_partial_",
                                                                    "_call_",
                                                                    "_args_",
                                                                    "_name_",
                                                                    "name",
                                                                    "restore_from",
                                                                    "enable_checkpointing",
                                                                    "use_distributed_sampler",
                                                                    "log_every",
                                                                    "limit_",
                                                                    "val_check",
                                                                    "check_val",
                                                                    "benchmark",
                                                                    "enable_model",
                                                                    "enable_progress",
                                                                    "accelerator",
                                                                    "strategy",
                                                                    "max_epochs",
                                                                    "max_time",
                                                                    "gradient_clip",
                                                                    "init_method",
                                                                    "layernorm_epsilon",
                                                                    "use_scaled_init",
                                                                    "do_layer_norm",
                                                                    "apply_query_key",
                                                                    "headscale",
                                                                    "kv_cache",
                                                                    "onnx",
                                                                    "apex_",
                                                                    "gradient_as_bucket",
                                                                    "sync_batch_comm",
                                                                    "native_amp",
                                                                    "hysteresis",
                                                                    "fp32_residual",
                                                                    "fp16_lm_cross",
                                                                    "attention_softmax",
                                                                    "apply_rope",
                                                                    "masked_softmax",
                                                                    "bias_",
                                                                    "get_attention",
                                                                    "persist_layer",
                                                                    "gradient_accumulation_fusion",
                                                                    "transformer_engine",
                                                                    "mcore_gpt",
                                                                    "megatron_amp",
                                                                    "grad_allreduce",
                                                                    "grad_div",
                                                                    "seed",
                                                                    "resume_from",
                                                                    "use_cpu_init",
                                                                    "rotary",
                                                                    "rope",
                                                                    "pre_process",
                                                                    "post_process",
                                                                    "tokenizer",
                                                                    "type",
                                                                    "library",
                                                                    "merge_file",
                                                                    "delimiter",
                                                                    "sentencepiece",
                                                                    "additional_special",
                                                                    "lr",
                                                                    "weight_decay",
                                                                    "betas",
                                                                    "min_lr",
                                                                    "clip_grad",
                                                                    "adam",
                                                                    "eval",
                                                                    "exit",
                                                                    "manual_gc",
                                                                    "check_",
                                                                    "average_in",
                                                                    "bucket",
                                                                    "pad_bucket",
                                                                    "wandb",
                                                                    "log_",
                                                                    "save",
                                                                    "load",
                                                                    "tensorboard",
                                                                    "perform_init",
                                                                    "autocast",
                                                                    "params_dtype",
                                                                    "pipeline_dtype",
                                                                    "num_microbatches",
                                                                    "batch_p2p",
                                                                    "overlap_p2p",
                                                                    "deallocate",
                                                                    "defer_",
                                                                    "cross_entropy_fusion",
                                                                    "cross_entropy_impl",
                                                                    "deterministic",
                                                                    "finalize_",
                                                                    "grad_scale",
                                                                    "no_sync",
                                                                    "param_sync",
                                                                    "timers",
                                                                    "enable_autocast",
                                                                    "variable_seq",
                                                                    "barrier",
                                                                    "cpu_offload",
                                                                    "activation_func",
                                                                    "gelu_",
                                                                    "embedding_init",
                                                                    "use_te_rng",
                                                                    "inference",
                                                                    "config_logger",
                                                                    "memory_efficient",
                                                                    "should_pad",
                                                                    "parallel_output",
                                                                    "fp16_lm",
                                                                    "scatter_",
                                                                    "distributed_",
                                                                    "apply_residual",
                                                                    "test_mode",
                                                                    "disable_parameter",
                                                                    "moe_router_",
                                                                    "moe_aux",
                                                                    "moe_z",
                                                                    "moe_permute",
                                                                    "moe_grouped",
                                                                    "moe_per_layer",
                                                                    "moe_input_jitter",
                                                                    "moe_token_drop",
                                                                    "moe_pad",
                                                                    "moe_expert_cap",
                                                                    "num_workers",
                                                                    "dataloader",
                                                                    "reset_",
                                                                    "eod_",
                                                                    "create_attention",
                                                                    "blend",
                                                                    "split",
                                                                    "path_to_cache",
                                                                    "random_seed",
                                                                    "skip_getting",
                                                                    "data_sharding",
                                                                    "pin_memory",
                                                                    "persistent",
                                                                    "use_mcore",
                                                                    "lock_timeout",
                                                                    "local_rank",
                                                                    "attention_backend",
                                                                    "qk_layernorm",
                                                                    "calculate_per",
                                                                    "flash_decode",
                                                                    "layer_norm",
                                                                    "mlp_chunks",
                                                                    "softmax",
                                                                    "hf_model_id",
                                                                    "vocab_file",
                                                                    "initial_loss",
                                                                    "loss_scale",
                                                                    "store_param",
                                                                    "optimizer_",
                                                                    "sgd",
                                                                    "decoupled",
                                                                    "use_megatron_fsdp_",
                                                                    "use_transformer_engine",
                                                                    "end_",
                                                                    "start_",
                                                                    "warmup",
                                                                    "lr_warmup",
                                                                    "mmap_",
                                                                    "train_sync",
                                                                    "external_cuda",
                                                                    "use_kitchen",
                                                                    "batch_invariant",
                                                                    "qk_clip",
                                                                    "heterogeneous",
                                                                    "symmetric_ar",
                                                                    "unpooled",
                                                                    "window_attn_skip_none",
                                                                    "fused_single",
                                                                    "align_grad",
                                                                    "lazy_",
                                                                    "use_gloo",
                                                                    "use_sharp",
                                                                    "sharp_",
                                                                    "nccl_",
                                                                    "high_priority",
                                                                    "external_",
                                                                    "use_decentralized"});

class YamlArguments {
 public:
  YamlArguments(const Json& root, std::string_view call, std::vector<std::string>& notes) : root_(root), notes_(notes) {
    for (const std::string& word : shell_arguments(call))
      if (const std::size_t equals = word.find('='); equals != std::string::npos)
        variables_[word.substr(0, equals)] = word.substr(equals + 1);
  }

  std::string read() {
    walk(root_, "");
    // The model's own vocabulary wins over the tokenizer's.
    if (tokens_ && out_.find("--vocab-size ") == std::string::npos) emit("vocab-size", tokens_->dump());
    if (heads_ > 0 && groups_ > 0 && groups_ < heads_) {
      emit("group-query-attention");
      emit("num-query-groups", std::to_string(groups_));
    }
    if (!unresolved_.empty())
      notes_.push_back(
          fmt::format("references that are not followed, their keys not used: {}", fmt::join(unresolved_, ", ")));
    return out_;
  }

 private:
  void emit(std::string option, const std::string& value = {}) {
    std::replace(option.begin(), option.end(), '_', option == "nproc_per_node" ? '_' : '-');
    out_ += "--" + option;
    if (!value.empty()) out_ += " '" + value + "'";
    out_ += '\n';
  }

  static std::string text_of(const Json& value) {
    std::string out = value.is_string() ? value.get<std::string>() : value.dump();
    std::erase(out, '\'');
    return out;
  }

  /// `${model.seq_length}`, or of the same section `${.seq_length}`: what stands there; others, as `${multiply:…}`, are
  /// not computed.
  Json followed(const Json& value, const std::string& key, const Json& section) {
    Json out = value;
    for (int hops = 0; hops < 8 && out.is_string(); ++hops) {
      const auto text = out.get<std::string>();
      if (text.find("${") == std::string::npos) return out;
      const Json* found = text.starts_with("${.") ? &section : &root_;
      std::string path = text.substr(2, text.size() - std::min<std::size_t>(text.size(), 3));
      if (!text.starts_with("${") || !text.ends_with('}') || contains(path, ":")) found = nullptr;
      while (found != nullptr && !path.empty()) {
        const std::size_t dot = std::min(path.find('.'), path.size());
        const std::string part = path.substr(0, dot);
        if (!part.empty()) found = found->is_object() && found->contains(part) ? &found->at(part) : nullptr;
        path.erase(0, std::min(dot + 1, path.size()));
      }
      if (found == nullptr) return variable(text.substr(2, text.size() - 3), key);
      out = *found;
    }
    return out;
  }

  /// What `--call` says of a variable of the environment, a number where it is one; nothing, to be noted, where
  /// nothing.
  Json variable(const std::string& name, const std::string& key) {
    const auto found = variables_.find(name);
    if (found == variables_.end()) {
      unresolved_.push_back(key);
      return nullptr;
    }
    if (const auto number = whole_number(found->second)) return *number;
    return found->second == "true" || found->second == "false" ? Json(found->second == "true") : Json(found->second);
  }

  void walk(const Json& section, const std::string& name) {
    for (const auto& [key, raw] : section.items()) {
      const Json value = followed(raw, key, section);
      if (value.is_object()) {
        if (key == "dataset" || key == "data")
          lengths(value);
        else if (key == "tokenizer")
          tokenizer(value);
        else if (key == "peft" && !value.empty())
          notes_.emplace_back("peft: adapters are not read (workload.adapter_rank)");
        else if (std::find(kHarmlessSections.begin(), kHarmlessSections.end(), key) == kHarmlessSections.end())
          walk(value, key);
      } else if (!value.is_null()) {
        take(name, key, value);
      }
    }
  }

  void lengths(const Json& data) {
    for (const char* key : {"sequence_length", "seq_length", "seq_len"})
      if (data.contains(key) && !length_) take("", key, followed(data.at(key), key, data));
  }

  void tokenizer(const Json& given) {
    for (const auto& [theirs, option] :
         {std::pair{"type", "tokenizer-type"}, std::pair{"tokenizer_type", "tokenizer-type"}})
      if (given.contains(theirs) && given.at(theirs).is_string()) emit(option, text_of(given.at(theirs)));
    for (const char* key : {"model", "tokenizer_model"})
      if (given.contains(key) && given.at(key).is_string()) emit("tokenizer-model", text_of(given.at(key)));
    if (given.contains("vocab_size") && given.at("vocab_size").is_number()) tokens_ = given.at("vocab_size");
  }

  /// Keys whose option says the opposite, or something else by value. False for others.
  bool take_turned(const std::string& key, const Json& value) {
    const std::string low = lower_case(text_of(value));
    const bool on = value == true;
    if (key == "share_embeddings_and_output_weights") {
      if (!on) emit("untie-embeddings-and-output-weights");
    } else if (key == "bias" || key == "add_bias_linear") {
      if (!on) emit("disable-bias-linear");
    } else if (key == "gated_linear_unit") {
      if (on) emit("swiglu");
    } else if (key == "activation" || key == "activation_func") {
      if (contains(low, "glu")) emit("swiglu");
    } else if (key == "normalization") {
      emit("normalization", contains(low, "rms") ? "RMSNorm" : "LayerNorm");
    } else if (key == "num_query_groups") {
      groups_ = value.is_number() ? value.get<long>() : 0;
    } else if (key == "precision" || key == "mixed_precision") {
      precision(low);
    } else if (key == "fp8") {
      if (low != "false" && low != "0") emit("fp8-format", "hybrid");
    } else if (key == "fp8_recipe") {
      if (contains(low, "mxfp8")) emit("fp8-recipe", "mxfp8");
    } else if (key == "grad_reduce_in_fp32") {
      emit(on ? "accumulate-allreduce-grads-in-fp32" : "grad-reduce-in-bf16");
    } else if (key == "grad_sync_dtype") {
      emit(contains(low, "32") ? "accumulate-allreduce-grads-in-fp32" : "grad-reduce-in-bf16");
    } else if (key == "optimizer") {
      emit("optimizer", low);
    } else if (key == "attention_backend") {
      emit("attention-backend", low.substr(low.rfind('.') + 1));  // of an enumeration, as AttnBackend.unfused
    } else if (key == "cpu_offloading") {
      if (on) notes_.emplace_back("cpu_offloading: not used (strategy.offload_activations)");
    } else {
      return false;
    }
    return true;
  }

  void precision(const std::string& low) {
    if (contains(low, "bf16"))
      emit("bf16");
    else if (contains(low, "16"))
      emit("fp16");
    if (contains(low, "fp8")) emit("fp8-format", "hybrid");
    if (contains(low, "mxfp8")) emit("fp8-recipe", "mxfp8");
  }

  void take(const std::string& section, const std::string& key, const Json& value) {
    if (key == "num_attention_heads" && value.is_number()) heads_ = value.get<long>();
    if (section == "optim" && key == "name") {
      if (contains(text_of(value), "distributed")) emit("use-distributed-optimizer");
      emit("optimizer", text_of(value));
      return;
    }
    if (take_turned(key, value)) return;
    if (key.ends_with("seq_length") || key.starts_with("seq")) length_ = true;
    for (const RenamedOption& one : kRenamedOptions)
      if (key == one.key) return emit_value(std::string(one.option), value);
    emit_value(key, value);
  }

  void emit_value(const std::string& option, const Json& value) {
    // Ranks of latents, which a dump states all the same, would say that there are some.
    if (value == false && option == "multi_latent_attention") return emit(option + ":", "false");
    if (value == false) return;
    if (value == true) return emit(option);
    // Most keys of a dump are the class's defaults: 0, none, empty.
    if (value.is_string())
      if (const auto& text = value.get_ref<const std::string&>(); text.empty() || contains(text, "\n")) return;
    if (option.starts_with("moe_router_") && value == 0) return;
    if (!value.is_array()) return emit(option, text_of(value));
    if (value.empty()) return;
    std::string words;
    for (const Json& one : value) words += (words.empty() ? "" : "' '") + text_of(one);
    emit(option, option == "moe_layer_freq" ? value.dump() : words);
  }

  const Json& root_;
  std::vector<std::string>& notes_;
  std::map<std::string, std::string> variables_;
  std::vector<std::string> unresolved_;
  std::string out_;
  std::optional<Json> tokens_;  ///< of the tokenizer
  long heads_ = 0, groups_ = 0;
  bool length_ = false;  ///< a section before has told it
};

/// A recipe of NeMo 2 names its model by a class and states only what differs from it.
void refuse_model_by_class(const Json& root, Diagnostics& diagnostics) {
  for (const char* place : {"/model/config", "/model"}) {
    const Json::json_pointer section(place);
    if (!root.contains(section) || !root.at(section).is_object()) continue;
    const Json& config = root.at(section);
    if (!config.contains("_target_") || !config.at("_target_").is_string() || config.contains("num_layers")) continue;
    const std::string target = config.at("_target_").get<std::string>();
    return diagnostics.error(
        std::string(place) + "/_target_",
        fmt::format("the model is named by a class, {}, whose sizes are not in the file", shown(target)),
        "num_layers, hidden_size, ffn_hidden_size, num_attention_heads, num_query_groups and vocab_size beside it");
  }
}

}  // namespace

bool is_harmless_megatron_yaml_option(std::string_view option) {
  std::string key(option.substr(std::min<std::size_t>(option.size(), 2)));
  std::replace(key.begin(), key.end(), '-', '_');
  return std::any_of(kHarmlessYamlKeys.begin(), kHarmlessYamlKeys.end(),
                     [&](std::string_view begins) { return key.starts_with(begins); });
}

bool is_megatron_yaml(std::string_view text) {
  bool nested = false;
  std::string_view section;
  for (const std::string_view line : lines_of(text)) {
    if (line.starts_with("#!")) return false;
    const std::string_view plain = trimmed(line);
    if (plain.empty() || plain.starts_with('#')) continue;
    if (line.front() != ' ') section = plain;
    if (section != "model:" && section != "language_model:" && section != "trainer:" && section != "model_parallel:")
      continue;
    if (line.front() == ' ' && plain.find(':') != std::string_view::npos && !plain.starts_with("--")) nested = true;
  }
  return nested;
}

std::string arguments_of_yaml(std::string_view text, std::string_view call, std::vector<std::string>& notes,
                              Diagnostics& diagnostics) {
  const Json root = parse_yaml(text, diagnostics);
  if (!root.is_object()) return {};
  refuse_model_by_class(root, diagnostics);
  return YamlArguments(root, call, notes).read();
}

}  // namespace stepcast
