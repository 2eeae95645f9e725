#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "calibration/importers/models/argument_list.hpp"
#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/megatron_experts.hpp"
#include "calibration/importers/models/megatron_names.hpp"
#include "calibration/importers/models/megatron_stages.hpp"
#include "calibration/importers/text_file.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

class MegatronReader {
 public:
  MegatronReader(std::string_view text, const ImportTarget& target, const Catalog& catalog, Diagnostics& diagnostics)
      : arguments_(text, target.call, "--hidden-size", diagnostics),
        program_(megatron_program_in(text)),
        target_(target),
        catalog_(catalog),
        diagnostics_(diagnostics) {}

  ImportedScenario read(const std::string& name) {
    if (arguments_.empty()) {
      diagnostics_.error("", "found no option that begins with --", "a list of Megatron-LM's arguments");
      return {};
    }
    degrees();
    shape();
    attention();
    experts();
    halves();
    rest_of_model();
    strategy();
    batch();
    cluster();
    return finish(name);
  }

 private:
  int required(const std::string& option) {
    if (!arguments_.has(option)) diagnostics_.error("", fmt::format("missing: {}", option));
    return arguments_.whole(option).value_or(0);
  }
  /// The first of several names of one option that is there.
  std::optional<int> first_of(std::initializer_list<const char*> options, int least = 1) {
    std::optional<int> out;
    for (const char* option : options)
      if (const auto value = arguments_.whole(option, least); value && !out) out = value;
    return out;
  }
  void copy(Json& to, const char* key, const std::string& option, int least = 1) {
    if (const auto value = arguments_.whole(option, least)) to[key] = *value;
  }
  void copy_flag(Json& to, const char* key, const std::string& option) {
    if (arguments_.has(option)) to[key] = true;
  }

  void degrees() {
    tp_ = arguments_.whole("--tensor-model-parallel-size").value_or(1);
    pp_ = arguments_.whole("--pipeline-model-parallel-size").value_or(1);
    cp_ = arguments_.whole("--context-parallel-size").value_or(1);
    ep_ = first_of({"--expert-model-parallel-size", "--moe-expert-parallel-size"}).value_or(1);
  }

  [[nodiscard]] bool has_two_sides() {
    return arguments_.has("--decoder-num-layers") || (program_ && program_->file == "pretrain_t5.py");
  }

  /// Layers of T5's encoder and decoder together. In pretrain_t5.py --num-layers stands for either.
  int two_sides() {
    const char* const both = "--num-layers";
    const auto side = [&](const char* option) {
      return required(!arguments_.has(option) && arguments_.has(both) ? both : option);
    };
    const int encoder = side("--encoder-num-layers"), decoder = side("--decoder-num-layers");
    shape_["encoder_layers"] = encoder;
    // A model cannot have so many; what reads the description says so.
    return static_cast<int>(std::min(static_cast<long>(encoder) + decoder, 1L << 30));
  }

  void shape() {
    const int layers = layers_ = has_two_sides() ? two_sides() : required("--num-layers");
    const int hidden = required("--hidden-size");
    shape_["layers"] = layers;
    shape_["hidden"] = hidden;
    shape_["heads"] = required("--num-attention-heads");
    gated_ = arguments_.has("--swiglu");
    // Megatron-LM: 4·h, and two thirds of that rounded down to 64 with a gate.
    const int usual = gated_ ? static_cast<int>(4 * hidden * 2.0 / 3) / 64 * 64 : 4 * hidden;
    shape_["ffn_hidden"] = arguments_.whole("--ffn-hidden-size").value_or(usual);
    shape_["gated_mlp"] = gated_;
    shape_["biases"] = !arguments_.has("--disable-bias-linear");
    copy_flag(shape_, "qkv_bias", "--add-qkv-bias");
    shape_["tied_embeddings"] = !arguments_.has("--untie-embeddings-and-output-weights");
    shape_["vocab"] = vocabulary();
  }

  /// Rows of the table as Megatron-LM pads them: whole multiples of 128 a tensor-parallel rank.
  int vocabulary() {
    for (const char* option : {"--padded-vocab-size", "--pad-vocab-size-to"})
      if (const auto padded = arguments_.whole(option)) return *padded;
    int size = arguments_.whole("--vocab-size").value_or(0);
    if (size == 0) size = target_.vocab_size.value_or(0);
    if (size == 0) size = usual_vocabulary();
    if (size == 0) {
      diagnostics_.error("", "missing: --vocab-size (the tokenizer's own files are not read)", "--vocab-size says it");
      return 1;
    }
    const int unit = arguments_.whole("--make-vocab-size-divisible-by").value_or(128) * tp_;
    return (size + unit - 1) / unit * unit;
  }

  int usual_vocabulary() {
    std::string tokenizer = arguments_.has("--tokenizer-type") ? arguments_.text("--tokenizer-type") : "";
    const bool assumed = tokenizer.empty() && program_;
    if (assumed) tokenizer = program_->tokenizer;
    int known = vocabulary_of_tokenizer(tokenizer);
    for (const char* option : {"--tokenizer-model", "--tokenizer-name-or-path"})
      if (known == 0 && arguments_.has(option)) known = vocabulary_by_name(arguments_.text(option));
    if (known == 0) return 0;
    if (assumed)
      notes_.push_back(fmt::format("no vocabulary is named: {} tokens of {}, which {} uses (--vocab-size)", known,
                                   tokenizer, program_->file));
    return known + arguments_.whole("--vocab-extra-ids", 0).value_or(0);
  }

  void attention() {
    if (arguments_.has("--group-query-attention")) copy(shape_, "kv_heads", "--num-query-groups");
    arguments_.ignore("--num-query-groups");
    copy(shape_, "head_dim", "--kv-channels");
    if (arguments_.has("--multi-latent-attention")) {
      shape_.erase("head_dim");
      // Defaults of MLATransformerConfig.
      shape_["kv_lora_rank"] = arguments_.whole("--kv-lora-rank").value_or(512);
      shape_["qk_nope_head_dim"] = first_of({"--qk-head-dim", "--qk-nope-head-dim"}).value_or(128);
      shape_["qk_rope_head_dim"] = first_of({"--qk-pos-emb-head-dim", "--qk-rope-head-dim"}).value_or(64);
      shape_["v_head_dim"] = arguments_.whole("--v-head-dim").value_or(128);
      copy(shape_, "q_lora_rank", "--q-lora-rank");
    }
    if (arguments_.has("--window-size")) {
      const std::vector<std::string> window = arguments_.values("--window-size");
      int size = 0;
      for (const std::string& value : window) std::from_chars(value.data(), value.data() + value.size(), size);
      if (size <= 0 && !window.empty()) std::from_chars(window[0].data(), window[0].data() + window[0].size(), size);
      if (size > 0) shape_["window"] = size;
      if (size > 0) global_layers();
    }
  }

  /// Every so many-th layer sees all tokens.
  void global_layers() {
    const std::string option = "--window-attn-skip-freq";
    if (!arguments_.has(option)) return;
    const std::string text = fmt::format("{}", fmt::join(arguments_.values(option), " "));
    int every = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
    if (error == std::errc() && end == text.data() + text.size() && every > 0)
      shape_["global_every"] = every;
    else
      notes_.push_back(fmt::format("{} {}: only a number is known, every layer has the window", option, text));
  }

  void experts() {
    const auto experts = arguments_.whole("--num-experts");
    if (!experts) return;
    if (*experts == 1) return;  // Megatron-DeepSpeed's default: no experts
    shape_["experts"] = *experts;
    shape_["top_k"] = arguments_.whole("--moe-router-topk").value_or(2);
    if (arguments_.has("--moe-expert-parallel-size") || arguments_.has("--expert-interval")) deepspeed_experts();
    copy(shape_, "moe_ffn_hidden", "--moe-ffn-hidden-size");
    copy(shape_, "shared_expert_ffn", "--moe-shared-expert-intermediate-size");
    copy(shape_, "moe_latent", "--moe-latent-size");
    copy(shape_, "expert_groups", "--moe-router-num-groups");
    copy(shape_, "groups_per_token", "--moe-router-group-topk");
    if (arguments_.has("--moe-layer-freq"))
      layer_frequency(fmt::format("{}", fmt::join(arguments_.values("--moe-layer-freq"), "")));
  }

  /// Letters of the layers; behind slashes those of multi-token prediction, with bars where pipeline stages end.
  void halves() {
    std::string pattern;
    for (const char* option : {"--hybrid-override-pattern", "--hybrid-layer-pattern"})
      if (arguments_.has(option)) pattern = arguments_.text(option);
    arguments_.ignore("--is-hybrid-model");
    if (pattern.empty()) return;
    pattern.erase(std::min(pattern.find('/'), pattern.size()));
    std::erase(pattern, '|');
    shape_["layer_pattern"] = pattern;
    const int head = arguments_.whole("--mamba-head-dim").value_or(64);  // defaults of TransformerConfig
    shape_["ssm_head_dim"] = head;
    shape_["ssm_heads"] = arguments_.whole("--mamba-num-heads").value_or(2 * shape_["hidden"].get<int>() / head);
    shape_["ssm_state"] = arguments_.whole("--mamba-state-dim").value_or(128);
    shape_["ssm_groups"] = arguments_.whole("--mamba-num-groups").value_or(8);
  }

  void layer_frequency(const std::string& text) {
    const auto how = megatron_expert_layers(text, layers_);
    if (!how)
      return diagnostics_.error(
          "", fmt::format("--moe-layer-freq: found {}", shown(text)),
          "a number, or a list like [0]*3+[1]*58 of all layers, with experts from one layer on or "
          "in every so many-th");
    if (how->dense > 0) shape_["dense_layers"] = how->dense;
    if (how->every > 1) shape_["moe_every"] = how->every;
  }

  /// Megatron-DeepSpeed's experts, by its own names and defaults (megatron/arguments.py).
  void deepspeed_experts() {
    shape_["top_k"] = arguments_.whole("--topk").value_or(1);
    if (const int every = arguments_.whole("--expert-interval").value_or(2); every > 1) shape_["moe_every"] = every;
    if (arguments_.has("--mlp-type") && arguments_.text("--mlp-type") == "residual")
      shape_["shared_expert_ffn"] = shape_["ffn_hidden"];
  }

  void rest_of_model() {
    const std::string kind = arguments_.has("--position-embedding-type") ? arguments_.text("--position-embedding-type")
                             : arguments_.has("--use-rotary-position-embeddings") ? "rope"
                                                                                  : "learned_absolute";
    const std::map<std::string, std::string> kinds{{"learned_absolute", "learned"},
                                                   {"rope", "rotary"},
                                                   {"yarn", "rotary"},
                                                   {"mrope", "rotary"},
                                                   {"none", "none"},
                                                   {"alibi", "alibi"}};
    arguments_.ignore("--use-rotary-position-embeddings");
    if (!kinds.contains(kind))
      diagnostics_.error("", fmt::format("--position-embedding-type: found {}", shown(kind)),
                         "learned_absolute, rope, yarn, mrope or none");
    else
      shape_["positions"] = kinds.at(kind);
    length_ = required(arguments_.has("--encoder-seq-length") ? "--encoder-seq-length" : "--seq-length");
    arguments_.ignore("--seq-length");
    if (has_two_sides())
      shape_["target_share"] = static_cast<double>(required("--decoder-seq-length")) / std::max(1, length_);
    const int positions = arguments_.whole("--max-position-embeddings").value_or(length_);
    if (kind == "learned_absolute") shape_["max_positions"] = positions;
    const bool rms = arguments_.has("--normalization") && arguments_.text("--normalization") == "RMSNorm";
    shape_["norm"] = rms ? "rms_norm" : "layer_norm";
    const double dropout = arguments_.number("--hidden-dropout").value_or(0.1);
    arguments_.ignore("--attention-dropout");
    if (dropout > 0) shape_["dropout"] = dropout;
    if (const auto layers = first_of({"--mtp-num-layers", "--num-mtp-predictor"}, 0)) shape_["mtp_layers"] = *layers;
    if (program_ && program_->file == "pretrain_bert.py") masked_language();
  }

  /// pretrain_bert.py: both ways, with segments, pooler and both heads (Devlin et al. 2018).
  void masked_language() {
    family_ = "encoder";
    shape_["token_types"] = 2;
    shape_["pooler_and_heads"] = true;
    shape_["predicted_share"] = arguments_.number("--mask-prob").value_or(0.15);
  }

  /// Parameters that every layer gathers are gathered, and their gradients reduced, beside its computation.
  void overlaps(const std::string& sharding) {
    const bool gradients = arguments_.has("--overlap-grad-reduce"), gathers = arguments_.has("--overlap-param-gather");
    if (sharding == "fsdp" || sharding == "hsdp") {
      if (!gradients)
        notes_.emplace_back(
            "--overlap-grad-reduce: off, but sharded parameters are forecast with overlap; the step is underestimated");
      return;
    }
    strategy_["overlap_gradients"] = gradients;
    if (sharding != "none") strategy_["overlap_parameter_gather"] = gathers;
  }

  void strategy() {
    strategy_ = {{"framework", arguments_.has("--deepspeed") ? "megatron-deepspeed" : "megatron-lm"}};
    const auto degree = [&](const char* key, int value) {
      if (value > 1) strategy_[key] = value;
    };
    degree("tensor_parallel", tp_);
    degree("pipeline_parallel", pp_);
    degree("context_parallel", cp_);
    degree("expert_parallel", ep_);
    const int etp = arguments_.whole("--expert-tensor-parallel-size").value_or(tp_);
    if (etp != tp_ && shape_.contains("experts")) strategy_["expert_tensor_parallel"] = etp;
    copy_flag(strategy_, "sequence_parallel", "--sequence-parallel");
    if (tp_ == 1) strategy_.erase("sequence_parallel");
    interleaving();
    if (arguments_.has("--cp-comm-type")) {
      const std::string kind = arguments_.text("--cp-comm-type");
      if (cp_ > 1)
        strategy_["context_method"] = kind == "a2a" ? "ulysses" : kind == "all_gather" ? "all-gather" : "ring";
    }
    const std::string sharding = this->sharding();
    strategy_["sharding"] = sharding;
    overlaps(sharding);
    arguments_.ignore("--overlap-param-gather");
    if (arguments_.has("--tp-comm-overlap") && tp_ > 1) strategy_["overlap_tensor_parallel"] = true;
    copy_flag(strategy_, "gradients_in_fp32", "--accumulate-allreduce-grads-in-fp32");
    if (arguments_.has("--grad-reduce-in-bf16")) strategy_["gradients_in_fp32"] = false;
    copy_flag(strategy_, "fused_loss", "--cross-entropy-loss-fusion");
    for (const char* option : {"--no-bias-swiglu-fusion", "--no-bias-gelu-fusion"})
      if (arguments_.has(option)) strategy_["fused_activation"] = false;
    if (arguments_.has("--use-tp-pp-dp-mapping")) strategy_["order"] = "tp-cp-ep-pp-dp";
    copy_flag(strategy_, "offload_optimizer", "--optimizer-cpu-offload");
    arguments_.ignore("--optimizer-offload-fraction");
    if (const std::string kind = arguments_.has("--optimizer") ? arguments_.text("--optimizer") : "adam";
        kind != "adam")
      notes_.push_back(fmt::format("--optimizer {}: its states and update are taken to be Adam's", kind));
    arguments_.ignore("--use-precision-aware-optimizer");  // states stay in fp32 unless another option says so
    copy_flag(strategy_, "fp8_dot_product_attention", "--fp8-dot-product-attention");
    const bool flex =
        arguments_.has("--moe-token-dispatcher-type") && arguments_.text("--moe-token-dispatcher-type") == "flex";
    if (flex && shape_.contains("experts")) strategy_["expert_dispatch"] = "deepep";
    copy_flag(strategy_, "overlap_expert_parallel", "--overlap-moe-expert-parallel-comm");
    arguments_.ignore("--delay-wgrad-compute");
    recomputation();
  }

  /// The distributed optimizer is ZeRO-1; Megatron-FSDP says itself what it cuts, by default nothing.
  std::string sharding() {
    const bool optimizer = arguments_.has("--use-distributed-optimizer");
    const bool custom = arguments_.has("--use-custom-fsdp");
    const bool fsdp = arguments_.has("--use-megatron-fsdp") || custom;
    if (arguments_.has("--use-torch-fsdp2")) return "fsdp";
    if (const auto stage = arguments_.whole("--zero-stage", 0)) return zero(*stage);
    const std::string option = "--data-parallel-sharding-strategy";
    if (!fsdp || !arguments_.has(option)) {
      if (arguments_.has(option)) notes_.push_back(option + " without --use-megatron-fsdp: not used");
      return optimizer ? "zero-1" : "none";
    }
    const std::string found = arguments_.text(option);
    const std::map<std::string, std::string> names{
        {"no_shard", "none"}, {"optim", "zero-1"}, {"optim_grads", "zero-2"}, {"optim_grads_params", "fsdp"}};
    if (names.contains(found)) return names.at(found);
    diagnostics_.error("", fmt::format("{}: found {}", option, shown(found)),
                       "no_shard, optim, optim_grads or optim_grads_params");
    return "none";
  }

  /// Megatron-DeepSpeed's stage. With bf16 and stage 0 DeepSpeed's BF16_Optimizer shards its states all the same
  /// (deepspeed/runtime/bf16_optimizer.py).
  std::string zero(int stage) {
    if (stage > 3) diagnostics_.error("", fmt::format("--zero-stage: found {}, expected 0 to 3", stage));
    if (stage > 1 && stage < 4) {
      strategy_["framework"] = "megatron-lm";
      notes_.push_back(fmt::format("--zero-stage {}: forecast with the profile of Megatron-LM, which has it", stage));
    }
    if (stage > 2) return "fsdp";
    if (stage > 0) return fmt::format("zero-{}", stage);
    if (!arguments_.has("--bf16")) return "none";
    notes_.emplace_back("--zero-stage 0 with --bf16: DeepSpeed's optimizer for bf16 shards its states, as zero-1");
    return "zero-1";
  }

  /// Parameters are cut within so many instances apart: a group of shards is what the replicas leave for each.
  void instances(long devices) {
    if (strategy_["sharding"] != "fsdp") return;
    const int instances = arguments_.whole("--num-distributed-optimizer-instances").value_or(1);
    const long replicas = devices / (static_cast<long>(tp_) * pp_);
    if (instances <= 1) return;
    if (replicas % instances != 0)
      diagnostics_.error("", fmt::format("--num-distributed-optimizer-instances {} does not divide the {} data- and "
                                         "context-parallel ranks",
                                         instances, replicas));
    strategy_["sharding"] = "hsdp";
    strategy_["hsdp_shard_size"] = replicas / instances;
  }

  void interleaving() {
    int chunks = arguments_.whole("--num-virtual-stages-per-pipeline-rank").value_or(1);
    if (const auto layers = arguments_.whole("--num-layers-per-virtual-pipeline-stage"); layers && pp_ > 1) {
      const int counted = (arguments_.has("--account-for-embedding-in-pipeline-split") ? 1 : 0) +
                          (arguments_.has("--account-for-loss-in-pipeline-split") ? 1 : 0);
      const int per_stage = (layers_ + counted) / pp_;
      if (per_stage % *layers != 0)
        diagnostics_.error("",
                           fmt::format("--num-layers-per-virtual-pipeline-stage {} does not divide the {} layers of "
                                       "a stage",
                                       *layers, per_stage));
      else
        chunks = per_stage / *layers;
    }
    stages(chunks);
  }

  /// Megatron-DeepSpeed's way to count the embeddings at both ends as layers.
  bool embeddings_count() {
    const std::string option = "--pp-partition-method";
    if (!arguments_.has(option)) return false;
    const std::string method = arguments_.text(option);
    if (method == "type:transformer|embedding") return true;
    if (method != "type:transformer")
      notes_.push_back(fmt::format("{} {}: not known, stages of equal layers", option, shown(method)));
    return false;
  }

  void stages(int chunks) {
    const bool ends = embeddings_count();
    MegatronStages how{layers_,
                       pp_,
                       chunks,
                       arguments_.whole("--decoder-first-pipeline-num-layers", 0),
                       arguments_.whole("--decoder-last-pipeline-num-layers", 0),
                       ends || arguments_.has("--account-for-embedding-in-pipeline-split"),
                       ends || arguments_.has("--account-for-loss-in-pipeline-split")};
    std::vector<int> layers = megatron_stage_layers(how, diagnostics_);
    if (arguments_.has("--pipeline-model-parallel-layout")) {
      // Its commas, which only please the eye, are blanks here.
      const std::vector<std::string> parts = arguments_.values("--pipeline-model-parallel-layout");
      layers = megatron_layout_layers(fmt::format("{}", fmt::join(parts, "")), diagnostics_);
      if (layers.size() % static_cast<std::size_t>(pp_) != 0)
        diagnostics_.error(
            "", fmt::format("--pipeline-model-parallel-layout: {} chunks over {} stages", layers.size(), pp_));
      chunks = static_cast<int>(layers.size()) / pp_;
    }
    if (chunks > 1) strategy_["virtual_pipeline"] = chunks;
    if (!layers.empty() && pp_ > 1) strategy_["stage_layers"] = layers;
  }

  void recomputation() {
    const std::string granularity =
        arguments_.has("--recompute-granularity") ? arguments_.text("--recompute-granularity") : "";
    for (const char* option : {"--recompute-method", "--recompute-num-layers"}) arguments_.ignore(option);
    // The option of Megatron-LM before 2.7, which Megatron-DeepSpeed has kept.
    if (granularity == "full" || arguments_.has("--checkpoint-activations")) strategy_["recompute"] = "full";
    for (const char* option : {"--checkpoint-num-layers", "--deepspeed-activation-checkpointing"})
      arguments_.ignore(option);
    const std::vector<std::string> modules = arguments_.values("--recompute-modules");
    if ((granularity == "selective" || arguments_.has("--recompute-activations")) && modules.empty())
      strategy_["recompute"] = "selective";
    if (modules.empty() || granularity == "full") return;
    const std::map<std::string, std::string> names{{"core_attn", "attention_core"},
                                                   {"mla_up_proj", "attention"},
                                                   {"mlp", "mlp"},
                                                   {"layernorm", "norm"},
                                                   {"moe", "moe"}};
    Json list = Json::array();
    for (const std::string& module : modules)
      if (names.contains(module))
        list.push_back(names.at(module));
      else
        notes_.push_back(fmt::format("--recompute-modules {}: not known, not used", module));
    strategy_["recompute"] = "modules";
    strategy_["recompute_modules"] = std::move(list);
  }

  void batch() {
    // Without a global batch every replica takes one micro-batch a step, as many as the cluster turns out to hold.
    if (!arguments_.has("--micro-batch-size") || arguments_.has("--global-batch-size"))
      workload_["global_batch"] = required("--global-batch-size");
    strategy_["micro_batch"] = arguments_.whole("--micro-batch-size").value_or(1);
    workload_["seq_len"] = target_.seq_len.value_or(length_);
    if (arguments_.has("--fp4-format"))
      workload_["precision"] = "fp4";
    else if (arguments_.has("--fp8-format") || arguments_.has("--fp8-hybrid") || arguments_.has("--fp8-recipe"))
      workload_["precision"] = arguments_.text("--fp8-recipe") == "mxfp8" ? "mxfp8" : "fp8";
    else
      workload_["precision"] = arguments_.has("--fp16") ? "fp16" : arguments_.has("--bf16") ? "bf16" : "fp32";
    for (const char* option :
         {"--fp16", "--bf16", "--fp8-recipe", "--fp8-hybrid", "--fp8-margin", "--fp8-interval", "--fp4-recipe",
          "--fp8-amax-history-len", "--fp8-amax-compute-algo", "--fp8-param-gather"})
      arguments_.ignore(option);
  }

  /// What depends on how many devices there are.
  void batch_of(long devices) {
    if (!workload_.contains("global_batch")) {
      const long replicas = std::max(1L, devices / (static_cast<long>(tp_) * pp_ * cp_));
      workload_["global_batch"] = replicas * strategy_["micro_batch"].get<int>();
      notes_.push_back(
          fmt::format("no --global-batch-size: {} × {} replicas", strategy_["micro_batch"].get<int>(), replicas));
    }
    const auto samples = length_of_training("--train-samples"), steps = length_of_training("--train-iters");
    if (samples) workload_["samples"] = *samples;
    const double batch = workload_["global_batch"].get<double>();
    if (!samples && steps && batch > 0) workload_["samples"] = *steps * batch;
  }

  /// Nothing, with a note, where the script does not come to a number: a step does not depend on it.
  std::optional<double> length_of_training(const std::string& option) {
    if (!arguments_.has(option) || !is_unknown(arguments_.text(option))) return arguments_.number(option);
    notes_.push_back(fmt::format("{}: found {}, not used", option, shown(arguments_.text(option))));
    return std::nullopt;
  }

  void cluster() {
    const Node* node = catalog_.find<Node>(target_.node, "/cluster/node", diagnostics_);
    if (!node) return;
    // Experts are dealt out within the ranks of a pipeline stage, over whole ones (docs/models/parallelism.md).
    const long stage = static_cast<long>(tp_) * cp_, experts = ep_ * strategy_.value("expert_tensor_parallel", tp_);
    const long unit = pp_ * (ep_ > 1 ? std::lcm(stage, experts) : stage), per_node = std::max(1, node->devices());
    int nodes = target_.nodes.value_or(0);
    if (nodes == 0) nodes = nodes_of_script(*node);
    const int fewest = static_cast<int>((unit + per_node - 1) / per_node);
    // Megatron-LM's own examples say one node beside degrees that fill sixteen ("Change for multinode config").
    if (!target_.nodes && nodes > 0 && nodes < fewest) {
      notes_.push_back(fmt::format(
          "the script's {} node{} of {} cannot hold the parallel degrees, which need {} devices: {} nodes (--nodes)",
          nodes, nodes == 1 ? "" : "s", per_node, unit, fewest));
      nodes = fewest;
    }
    if (nodes == 0) {
      nodes = fewest;
      notes_.push_back(
          fmt::format("{} node{}: the fewest that the parallel degrees fill (--nodes)", nodes, nodes == 1 ? "" : "s"));
    }
    cluster_ = {{"node", target_.node}, {"nodes", nodes}};
    batch_of(nodes * per_node);
    instances(nodes * per_node);
  }

  /// A count that the launcher is told; 0 where it is not, or asks the machine.
  int launched(std::initializer_list<const char*> options, std::initializer_list<const char*> variables,
               const char* ours) {
    std::string found, name;
    for (const char* option : options)
      if (arguments_.has(option) && found.empty()) found = arguments_.text(name = option);
    for (const char* variable : variables)
      if (found.empty()) found = arguments_.variable(variable);
    if (found.starts_with('$') && !name.empty() && !target_.nodes)
      diagnostics_.error("", fmt::format("{}: found {}, which the script does not set", name, shown(found)),
                         fmt::format("{} says it", ours));
    return std::max(0, whole_number(found).value_or(0));
  }

  /// Nodes of the kind that is asked for with as many devices as the script starts processes; 0 where it does not say.
  int nodes_of_script(const Node& node) {
    const int nodes = launched({"--nnodes", "--num_nodes"}, {"NNODES", "NUM_NODES", "SLURM_NNODES"}, "--nodes");
    const int processes = launched({"--nproc_per_node", "--nproc-per-node", "--num_gpus"}, {"GPUS_PER_NODE"}, "--node");
    const long devices = static_cast<long>(processes) * nodes;
    if (processes == 0 || processes == node.devices()) return nodes;
    const std::string differ = fmt::format("the script starts {} process{} a node, {} has {} devices", processes,
                                           processes == 1 ? "" : "es", target_.node, node.devices());
    if (devices % node.devices() != 0) {
      diagnostics_.error("", fmt::format("{}, and {} fill no whole number of them", differ, devices),
                         fmt::format("--node names a kind of {} devices, --nodes says how many", processes));
      return nodes;
    }
    const int ours = static_cast<int>(devices / node.devices());
    notes_.push_back(ours == 0 ? fmt::format("{} (--node)", differ)
                               : fmt::format("{}: {} nodes for the {} devices (--node)", differ, ours, devices));
    return ours;
  }

  ImportedScenario finish(const std::string& name) {
    std::vector<std::string> unknown;
    for (const std::string& option : arguments_.unknown())
      if (!is_harmless_megatron_option(option)) unknown.push_back(option);
    if (const std::string note = unknown_note(unknown); !note.empty()) notes_.push_back(note);
    for (std::string& note : arguments_.notes()) notes_.push_back(std::move(note));
    const int vocab = shape_["vocab"].get<int>();
    workload_["model"] = {{"id", name},
                          {"family", family_},
                          {"transformer", shape_},
                          {"default_seq_len", std::max(1, length_)},
                          {"sample_kB", std::max(1, length_) * (vocab <= 65536 ? 2 : 4) / 1000.0},
                          {"sources", {{"transformer", "Megatron-LM arguments of " + name}}}};
    return {{{"format_version", kScenarioFormatVersion},
             {"name", name},
             {"description", "Imported from Megatron-LM's arguments"},
             {"cluster", cluster_},
             {"workload", workload_},
             {"strategy", strategy_}},
            std::move(notes_)};
  }

  ArgumentList arguments_;
  const MegatronProgram* program_;
  std::string family_ = "decoder";
  const ImportTarget& target_;
  const Catalog& catalog_;
  Diagnostics& diagnostics_;
  Json shape_ = Json::object(), strategy_, workload_ = Json::object(), cluster_;
  int tp_ = 1, pp_ = 1, cp_ = 1, ep_ = 1, layers_ = 0, length_ = 0;
  bool gated_ = false;
  std::vector<std::string> notes_;
};

}  // namespace

ImportedScenario import_megatron(const std::filesystem::path& file, const ImportTarget& target,
                                 const Catalog& catalog) {
  Diagnostics diagnostics(file.string());
  const std::string text = read_description(file, diagnostics);
  diagnostics.throw_if_faulty();
  ImportedScenario out = MegatronReader(text, target, catalog, diagnostics).read(file.stem().string());
  diagnostics.throw_if_faulty();
  resolve(out.scenario, file.string(), {}, catalog);  // its faults are the list's
  return out;
}

}  // namespace stepcast
