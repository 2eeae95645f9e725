#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/imported_cluster.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/text_file.hpp"
#include "calibration/importers/yaml_text.hpp"
#include "fields/plain_text.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

/// Keys that say where and how processes are started.
constexpr auto kHarmlessAccelerateKeys = std::to_array<std::string_view>({"compute_environment",
                                                                          "debug",
                                                                          "downcast_bf16",
                                                                          "machine_rank",
                                                                          "main_training_function",
                                                                          "main_process_ip",
                                                                          "use_cpu",
                                                                          "main_process_port",
                                                                          "rdzv_backend",
                                                                          "same_network",
                                                                          "tpu_env",
                                                                          "tpu_name",
                                                                          "tpu_zone",
                                                                          "tpu_use_cluster",
                                                                          "tpu_use_sudo",
                                                                          "enable_cpu_affinity",
                                                                          "gpu_ids",
                                                                          "commands",
                                                                          "command_file",
                                                                          "mpirun_config",
                                                                          "ipex_config",
                                                                          "fp8_config",
                                                                          "deepspeed_config",
                                                                          "fsdp_config",
                                                                          "megatron_lm_config",
                                                                          "parallelism_config",
                                                                          "dynamo_config",
                                                                          "dynamo_backend",
                                                                          "parallelism_cfg",
                                                                          "max_restarts",
                                                                          "monitor_interval",
                                                                          "role",
                                                                          "tee",
                                                                          "log_line_prefix_template",
                                                                          "use_parallelism_config",
                                                                          "rdzv_conf",
                                                                          "rdzv_id",
                                                                          "rdzv_endpoint",
                                                                          "mpirun_hostfile",
                                                                          "mpirun_ccl"});
constexpr auto kHarmlessFsdpKeys = std::to_array<std::string_view>(
    {"fsdp_auto_wrap_policy", "fsdp_transformer_layer_cls_to_wrap", "fsdp_min_num_params", "fsdp_state_dict_type",
     "fsdp_sync_module_states", "fsdp_use_orig_params", "fsdp_cpu_ram_efficient_loading", "fsdp_forward_prefetch",
     "fsdp_forward_prefetch_policy", "fsdp_version", "fsdp_mixed_precision_policy", "fsdp_ignored_modules",
     "fsdp_limit_all_gathers"});
constexpr auto kHarmlessMegatronKeys = std::to_array<std::string_view>({"megatron_lm_gradient_clipping"});
constexpr auto kHarmlessDeepSpeedKeys = std::to_array<std::string_view>(
    {"zero3_init_flag", "zero3_save_16bit_model", "deepspeed_multinode_launcher", "deepspeed_hostfile",
     "deepspeed_inclusion_filter", "deepspeed_exclusion_filter", "deepspeed_moe_layer_cls_names",
     "offload_optimizer_nvme_path", "offload_param_nvme_path"});

/// What the model is told, and not the launcher: attn_implementation.
constexpr const char* kAttention =
    "attention is forecast as FlashAttention-2 runs it; PyTorch's own on Hopper and newer since 2.5, and "
    "FlashAttention-3: strategy.attention_kernel native";

class AccelerateReader {
 public:
  AccelerateReader(const Json& config, const std::filesystem::path& file, const ImportTarget& target,
                   const Catalog& catalog, Diagnostics& diagnostics)
      : config_(config),
        reader_(config, "", diagnostics),
        file_(file),
        target_(target),
        catalog_(catalog),
        diagnostics_(diagnostics) {}

  ImportedScenario read(const std::string& name) {
    kind_ = kind();
    cluster_ = cluster_of({reader_.whole("num_processes", 0).value_or(0), reader_.whole("num_machines").value_or(0)},
                          target_, catalog_, notes_, diagnostics_);
    precision();
    if (kind_ == "DEEPSPEED") return with_deepspeed();
    strategy_ = {{"framework", "pytorch-ddp"}, {"sharding", "none"}};
    if (kind_ == "FSDP") fsdp();
    if (kind_ == "FSDP" && strategy_["framework"] == "pytorch-fsdp") notes_.emplace_back(kAttention);
    if (kind_ == "MEGATRON_LM") megatron();
    parallelism();
    compiler();
    batch();
    take_model(workload_, target_, notes_);
    norms();
    finish_keys();
    return {{{"format_version", kScenarioFormatVersion},
             {"name", name},
             {"description", "Imported from a configuration of Hugging Face accelerate"},
             {"cluster", {{"node", cluster_.node}, {"nodes", cluster_.nodes}}},
             {"workload", workload_},
             {"strategy", strategy_}},
            std::move(notes_)};
  }

 private:
  const Json& section(const char* key) {
    static const Json kNothing = Json::object();
    reader_.ask({key});
    const auto found = config_.find(key);
    if (found == config_.end() || found->is_null()) return kNothing;
    if (found->is_object()) return *found;
    diagnostics_.error(child_pointer("", key), fmt::format("found {}, expected a mapping", describe(*found)));
    return kNothing;
  }

  std::string kind() {
    constexpr std::array kKinds{"NO",  "MULTI_GPU", "FSDP",      "DEEPSPEED", "MEGATRON_LM", "MULTI_NPU", "MULTI_XPU",
                                "XLA", "TPU",       "MULTI_CPU", "MULTI_MLU", "MULTI_HPU",   "MULTI_SDAA"};
    // `NO` without quotes is false to YAML.
    const auto found = config_.find("distributed_type");
    reader_.ignore({"distributed_type"});
    if (found == config_.end() || found->is_null()) {
      diagnostics_.error("/distributed_type", "missing", "a configuration of Hugging Face accelerate");
      return {};
    }
    if (found->is_boolean()) return "NO";
    std::string kind = found->is_string() ? found->get<std::string>() : found->dump();
    kind.erase(0, kind.rfind('.') == std::string::npos ? 0 : kind.rfind('.') + 1);
    std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char c) { return std::toupper(c); });
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end())
      diagnostics_.error("/distributed_type", fmt::format("found {}", describe(*found)),
                         expected_one_of({kKinds.begin(), kKinds.end()}));
    if (kind == "MULTI_CPU" || is_on(config_, "use_cpu"))
      diagnostics_.error(kind == "MULTI_CPU" ? "/distributed_type" : "/use_cpu",
                         "training on processors is not read from accelerate's files",
                         "a configuration for GPUs; framework pytorch-cpu trains on processors");
    return kind;
  }

  void precision() {
    const auto found = config_.find("mixed_precision");
    reader_.ignore({"mixed_precision"});
    if (found == config_.end() || found->is_null()) {
      workload_["precision"] = "bf16";
      notes_.emplace_back("mixed_precision is not given: bf16 is assumed (workload.precision)");
      return;
    }
    const std::string text = found->is_string() ? found->get<std::string>() : "no";  // `no` is false to YAML
    if (text != "no" && text != "bf16" && text != "fp16" && text != "fp8")
      diagnostics_.error("/mixed_precision", fmt::format("found {}", describe(*found)), "no, fp16, bf16 or fp8");
    workload_["precision"] = text == "no" ? "fp32" : text;
    if (text == "no")
      notes_.emplace_back("mixed_precision no: fp32 is taken; a model that is loaded in bf16 trains in it");
  }

  /// A flag, also of text: 'true' in quotes.
  bool is_on(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return false;
    return found->is_boolean() ? found->get<bool>()
                               : found->is_string() && lower_case(found->get<std::string>()) == "true";
  }

  /// Numbers of the enumeration before torch's names were written.
  std::string sharding_strategy(const Json& fsdp) {
    constexpr std::array kNames{"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"};
    for (const char* key : {"fsdp_sharding_strategy", "fsdp_reshard_after_forward"}) {
      const auto found = fsdp.find(key);
      if (found == fsdp.end() || found->is_null()) continue;
      if (found->is_boolean()) return found->get<bool>() ? "FULL_SHARD" : "SHARD_GRAD_OP";
      const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
      if (text == "true" || text == "false") return text == "true" ? "FULL_SHARD" : "SHARD_GRAD_OP";
      for (std::size_t i = 0; i < kNames.size(); ++i)
        if (text == kNames[i] || text == std::to_string(i + 1)) return kNames[i];
      diagnostics_.error(fmt::format("/fsdp_config/{}", key), fmt::format("found {}", describe(*found)),
                         expected_one_of({kNames.begin(), kNames.end()}));
    }
    return "FULL_SHARD";
  }

  void fsdp() {
    const Json& fsdp = section("fsdp_config");
    ConfigReader reader(fsdp, "/fsdp_config", diagnostics_);
    strategy_["framework"] = "pytorch-fsdp";
    const std::string how = sharding_strategy(fsdp);
    if (how == "NO_SHARD") {
      strategy_["framework"] = "pytorch-ddp";
    } else if (how.starts_with("HYBRID_SHARD") && cluster_.nodes > 1) {
      strategy_["sharding"] = "hsdp";
      strategy_["hsdp_shard_size"] = cluster_.per_node;
    } else {
      strategy_["sharding"] = how == "SHARD_GRAD_OP" ? "zero-2" : "fsdp";
    }
    if (how == "HYBRID_SHARD_ZERO2")
      notes_.emplace_back("HYBRID_SHARD_ZERO2: parameters are forecast as gathered again in the backward pass");
    if (is_on(fsdp, "fsdp_activation_checkpointing")) strategy_["recompute"] = "full";
    if (is_on(fsdp, "fsdp_offload_params") || is_on(fsdp, "fsdp_cpu_offload")) {
      strategy_["offload_optimizer"] = true;
      notes_.emplace_back("offloaded parameters are taken to stay on the devices; the optimizer runs on the host");
    }
    for (const char* key : {"fsdp_backward_prefetch", "fsdp_backward_prefetch_policy"})
      if (fsdp.value(key, Json()) == "NO_PREFETCH")
        notes_.emplace_back("NO_PREFETCH: gathers are forecast as prefetched; the step is underestimated");
    if (fsdp.value("fsdp_auto_wrap_policy", Json()) == "NO_WRAP")
      notes_.emplace_back("NO_WRAP: a unit of sharding is forecast as a layer; memory is underestimated");
    reader.ignore({"fsdp_sharding_strategy", "fsdp_reshard_after_forward", "fsdp_activation_checkpointing",
                   "fsdp_offload_params", "fsdp_cpu_offload", "fsdp_backward_prefetch",
                   "fsdp_backward_prefetch_policy"});
    reader.ignore(kHarmlessFsdpKeys);
    list_unknown(reader, "fsdp_config");
  }

  void megatron() {
    const Json& megatron = section("megatron_lm_config");
    ConfigReader reader(megatron, "/megatron_lm_config", diagnostics_);
    strategy_["framework"] = "megatron-lm";
    tensor_ = reader.whole("megatron_lm_tp_degree").value_or(1);
    pipeline_ = reader.whole("megatron_lm_pp_degree").value_or(1);
    rounds_ = reader.whole("megatron_lm_num_micro_batches").value_or(1);
    if (is_on(megatron, "megatron_lm_sequence_parallelism") && tensor_ > 1) strategy_["sequence_parallel"] = true;
    if (is_on(megatron, "megatron_lm_use_distributed_optimizer")) strategy_["sharding"] = "zero-1";
    if (is_on(megatron, "megatron_lm_recompute_activations")) strategy_["recompute"] = "selective";
    reader.ignore({"megatron_lm_sequence_parallelism", "megatron_lm_use_distributed_optimizer",
                   "megatron_lm_recompute_activations"});
    reader.ignore(kHarmlessMegatronKeys);
    list_unknown(reader, "megatron_lm_config");
  }

  /// Degrees of accelerate 1.10 and later, over FSDP2.
  void parallelism() {
    const Json& given = section("parallelism_config");
    ConfigReader reader(given, "/parallelism_config", diagnostics_);
    const auto degree = [&](const char* key) { return reader.whole(key, -1).value_or(1); };
    const int replicas = degree("parallelism_config_dp_replicate_size");
    const int shards = degree("parallelism_config_dp_shard_size");
    tensor_ = std::max(tensor_, degree("parallelism_config_tp_size"));
    context_ = std::max(1, degree("parallelism_config_cp_size"));
    const int sequence = degree("parallelism_config_sp_size");
    if (context_ > 1)
      strategy_["context_method"] =
          reader.text("parallelism_config_cp_comm_strategy") == "alltoall" ? "ring" : "all-gather";
    if (sequence > 1) {
      context_ = sequence;
      strategy_["context_method"] = "ulysses";
    }
    if (replicas > 1 && shards > 1) {
      strategy_["framework"] = "pytorch-fsdp";
      strategy_["sharding"] = "hsdp";
      strategy_["hsdp_shard_size"] = shards * context_;
    }
    if (tensor_ > 1) strategy_["tensor_parallel"] = tensor_;
    if (pipeline_ > 1) strategy_["pipeline_parallel"] = pipeline_;
    if (context_ > 1) strategy_["context_parallel"] = context_;
    reader.ignore({"parallelism_config_cp_comm_strategy", "parallelism_config_sp_backend",
                   "parallelism_config_sp_seq_length", "parallelism_config_sp_seq_length_is_variable",
                   "parallelism_config_sp_attn_implementation"});
    list_unknown(reader, "parallelism_config");
  }

  void compiler() {
    const Json& dynamo = section("dynamo_config");
    Json backend = dynamo.value("dynamo_backend", config_.value("dynamo_backend", Json()));
    const std::string name = backend.is_string() ? lower_case(backend.get<std::string>()) : "no";
    if (name == "inductor") strategy_["torch_compile"] = true;
    if (name != "no" && name != "inductor")
      notes_.push_back(fmt::format("dynamo_backend {}: kernels are forecast as without it", shown(name)));
  }

  /// Transformers' own classes: LlamaRMSNorm and its likes are kernels of their own operators until something compiles
  /// or replaces them.
  void norms() {
    if (strategy_["framework"] != "pytorch-ddp" || strategy_.contains("torch_compile") || !has_rms_norms()) return;
    strategy_["fused_norm"] = false;
    notes_.emplace_back(
        "norms run operator by operator, as in Hugging Face's models (strategy.fused_norm; true with Liger's)");
  }

  [[nodiscard]] bool has_rms_norms() const {
    const Json& model = workload_.at("model");
    if (model.is_object())
      return model.contains("transformer") && model.at("transformer").value("norm", "rms_norm") == "rms_norm";
    Diagnostics ignored("");
    const auto preset = find_model(model.get<std::string>(), "", ignored);
    return preset && preset->transformer && preset->transformer->norm == NormKind::rms_norm;
  }

  void batch() {
    const long of_sample = static_cast<long>(tensor_) * pipeline_ * context_;
    if (cluster_.devices() % of_sample != 0) {
      diagnostics_.error("", fmt::format("{} devices, but {} of them share a sample", cluster_.devices(), of_sample),
                         "--node and --nodes say how many");
      return;
    }
    rounds_ = std::max(rounds_, reader_.whole("gradient_accumulation_steps").value_or(1));
    const long replicas = cluster_.devices() / of_sample;
    workload_["global_batch"] = replicas * rounds_;
    strategy_["micro_batch"] = 1;
    notes_.push_back(
        fmt::format("the file says no batch: 1 × {} replicas × {} rounds (workload.global_batch, strategy.micro_batch)",
                    replicas, rounds_));
  }

  /// The configuration that accelerate makes of its own keys.
  Json deepspeed_config(ConfigReader& reader) {
    Json out = Json::object();
    out["zero_optimization"]["stage"] = reader.whole("zero_stage", 0).value_or(2);
    for (const char* part : {"optimizer", "param"}) {
      const std::string device = reader.text(fmt::format("offload_{}_device", part));
      if (!device.empty() && device != "none")
        out["zero_optimization"][fmt::format("offload_{}", part)]["device"] = device;
    }
    out[workload_["precision"] == "fp16" ? "fp16" : "bf16"]["enabled"] = workload_["precision"] != "fp32";
    if (const auto rounds = reader.whole("gradient_accumulation_steps")) out["gradient_accumulation_steps"] = *rounds;
    return out;
  }

  /// Beside the file, or as it is: such paths are often written for the folder from which accelerate is called.
  [[nodiscard]] std::filesystem::path beside_path(const std::string& beside) {
    std::filesystem::path next_to_it = file_.parent_path() / beside;
    if (std::filesystem::exists(next_to_it)) return next_to_it;
    if (std::filesystem::exists(beside)) return beside;
    diagnostics_.error(
        "/deepspeed_config/deepspeed_config_file",
        fmt::format("found {}, which is neither beside this file nor in the folder that this runs in", shown(beside)),
        "a path of DeepSpeed's configuration");
    diagnostics_.throw_if_faulty();
    return next_to_it;
  }

  ImportedScenario with_deepspeed() {
    ConfigReader reader(section("deepspeed_config"), "/deepspeed_config", diagnostics_);
    const std::string beside = reader.text("deepspeed_config_file");
    const Json config = beside.empty() ? deepspeed_config(reader) : Json();
    reader.ignore({"zero_stage", "offload_optimizer_device", "offload_param_device", "gradient_clipping",
                   "gradient_accumulation_steps"});
    reader.ignore(kHarmlessDeepSpeedKeys);
    list_unknown(reader, "deepspeed_config");
    finish_keys();
    diagnostics_.throw_if_faulty();
    ImportTarget target = target_;
    target.node = cluster_.node;
    target.nodes = cluster_.nodes;
    ImportedScenario out = beside.empty() ? import_deepspeed(config, file_, target, catalog_)
                                          : import_deepspeed(beside_path(beside), target, catalog_);
    if (workload_["precision"] == "fp8") out.scenario["workload"]["precision"] = "fp8";
    out.scenario["name"] = file_.stem().string();
    out.scenario["description"] = "Imported from a configuration of Hugging Face accelerate";
    out.notes.insert(out.notes.begin(), notes_.begin(), notes_.end());
    out.notes.emplace_back(kAttention);
    return out;
  }

  void list_unknown(ConfigReader& reader, std::string_view section) {
    reader.refuse_misspelt();
    for (const std::string& key : reader.unknown()) unknown_.push_back(fmt::format("{}.{}", section, key));
  }

  void finish_keys() {
    reader_.ignore(kHarmlessAccelerateKeys);
    reader_.ignore({"gradient_accumulation_steps"});
    reader_.refuse_misspelt();
    for (const std::string& key : reader_.unknown()) unknown_.push_back(key);
    if (const std::string note = unknown_note(unknown_); !note.empty()) notes_.push_back(note);
  }

  const Json& config_;
  ConfigReader reader_;
  const std::filesystem::path& file_;
  const ImportTarget& target_;
  const Catalog& catalog_;
  Diagnostics& diagnostics_;
  std::string kind_;
  ImportedCluster cluster_;
  Json strategy_ = Json::object(), workload_ = Json::object();
  int tensor_ = 1, pipeline_ = 1, context_ = 1, rounds_ = 1;
  std::vector<std::string> notes_, unknown_;
};

}  // namespace

ImportedScenario import_accelerate(const std::filesystem::path& file, const ImportTarget& target,
                                   const Catalog& catalog) {
  Diagnostics diagnostics(file.string());
  const std::string text = read_utf8_description(file, diagnostics);
  diagnostics.throw_if_faulty();
  const Json config = trimmed(text).starts_with('{') ? parse_json(text, diagnostics) : parse_yaml(text, diagnostics);
  diagnostics.throw_if_faulty();
  if (!config.is_object())
    throw InputError({{file.string(), "", fmt::format("found {}, expected keys with values", describe(config)),
                       "a configuration of Hugging Face accelerate"}});
  ImportedScenario out = AccelerateReader(config, file, target, catalog, diagnostics).read(file.stem().string());
  diagnostics.throw_if_faulty();
  resolve(out.scenario, file.string(), {}, catalog);
  return out;
}

}  // namespace stepcast
