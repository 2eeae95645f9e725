#include <fmt/format.h>

#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/imported_cluster.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/optimizer_names.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

class DeepSpeedReader {
 public:
  DeepSpeedReader(const Json& config, const ImportTarget& target, const Catalog& catalog, Diagnostics& diagnostics)
      : config_(config),
        reader_(config, "", diagnostics),
        target_(target),
        catalog_(catalog),
        diagnostics_(diagnostics) {}

  ImportedScenario read(const std::string& name) {
    precision();
    zero();
    degrees();
    compiler();
    gradients();
    optimizer();
    batch();
    take_model(workload_, target_, notes_);
    ignored();
    reader_.refuse_misspelt();
    if (const std::string note = unknown_note(reader_.unknown()); !note.empty()) notes_.push_back(note);
    return {{{"format_version", kScenarioFormatVersion},
             {"name", name},
             {"description", "Imported from a DeepSpeed configuration"},
             {"cluster", {{"node", target_.node}, {"nodes", target_.nodes.value_or(1)}}},
             {"workload", workload_},
             {"strategy", strategy_}},
            std::move(notes_)};
  }

 private:
  const Json& section(const char* key) {
    static const Json kNothing = Json::object();
    reader_.ask({key});
    if (!config_.contains(key)) return kNothing;
    const Json& found = config_.at(key);
    if (found.is_object()) return found;
    diagnostics_.error(child_pointer("", key), fmt::format("found {}, expected an object", describe(found)));
    return kNothing;
  }

  /// MiCS and ZeRO++ change what is sent and kept; the scenario's DeepSpeed has plain ZeRO only.
  void shard_groups(ConfigReader& reader) {
    reader.ignore({"mics_hierarchical_params_gather"});
    if (const auto group = reader.whole("mics_shard_size", -1); group && *group > 0)
      notes_.push_back(fmt::format(
          "mics_shard_size {}: shards within groups are not modelled for DeepSpeed; taken as over all devices: traffic "
          "between nodes is overestimated, memory underestimated (sharding hsdp of another framework has them)",
          *group));
    if (const auto group = reader.whole("zero_hpz_partition_size", 0); group && *group > 1)
      notes_.push_back(fmt::format(
          "zero_hpz_partition_size {}: a second copy of the parameters for gathers within nodes is not modelled; "
          "their traffic between nodes is overestimated, memory underestimated",
          *group));
    for (const char* key : {"zero_quantized_weights", "zero_quantized_nontrainable_weights"})
      if (reader.flag(key, false))
        notes_.push_back(fmt::format("{}: gathers of 8 bits are not modelled; their traffic is overestimated", key));
    if (reader.flag("zero_quantized_gradients", false))
      notes_.emplace_back(
          "zero_quantized_gradients: reductions of 4 bits are not modelled; their traffic is overestimated");
  }

  enum class Switch { off, on, left_open };

  Switch enabled(const char* key) {
    const Json& found = section(key);
    if (found.contains("enabled") && found.at("enabled") == "auto") return Switch::left_open;
    ConfigReader reader(found, child_pointer("", key), diagnostics_);
    const bool on = reader.flag("enabled", false);
    reader.refuse_misspelt();
    return on ? Switch::on : Switch::off;
  }

  bool offloads(const Json& zero, const char* key) {
    if (!zero.contains(key) || !zero.at(key).is_object()) return false;
    ConfigReader reader(zero.at(key), child_pointer("/zero_optimization", key), diagnostics_);
    const std::string device = reader.text("device");
    reader.refuse_misspelt();
    if (device == "nvme" && std::string_view(key) == "offload_optimizer") to_drives_ = true;
    return device == "cpu" || device == "nvme";
  }

  /// The first files said true or false for stage 1 or none (deepspeed/runtime/zero/config.py).
  const Json& zero_section() {
    static const Json kFirst = Json::parse(R"({"stage": 1})");
    const auto found = config_.find("zero_optimization");
    if (found == config_.end() || !found->is_boolean()) return section("zero_optimization");
    reader_.ask({"zero_optimization"});
    static const Json kNone = Json::object();
    return found->get<bool>() ? kFirst : kNone;
  }

  /// DeepSpeed's own profile has no tensor parallelism; those that have it and the stage stand in.
  void with_tensor_parallel() {
    const std::string sharding = strategy_.value("sharding", "none");
    if (sharding == "zero-3") strategy_["sharding"] = "fsdp";
    const char* const framework = sharding == "zero-3"   ? "pytorch-fsdp"
                                  : sharding == "zero-2" ? "megatron-lm"
                                                         : "megatron-deepspeed";
    strategy_["framework"] = framework;
    notes_.push_back(fmt::format("tensor parallelism: forecast with the profile of {}, which has it", framework));
  }

  /// DeepSpeed's compile of a whole engine, which "disable" turns off.
  void compiler() {
    const Json& compile = section("compile");
    ConfigReader reader(compile, "/compile", diagnostics_);
    const bool on = compile.contains("deepcompile") ? reader.flag("deepcompile", false)
                                                    : compile.contains("disable") && !reader.flag("disable", true);
    if (on && strategy_["framework"] == "deepspeed")
      strategy_["torch_compile"] = true;
    else if (on)
      notes_.push_back(fmt::format("compile: kernels are forecast as without it, as {} has them",
                                   strategy_["framework"].get<std::string>()));
  }

  /// Ranks that share a sample: tensor parallelism within a layer, and Ulysses over the sequence.
  void degrees() {
    ConfigReader tensor(section("tensor_parallel"), "/tensor_parallel", diagnostics_);
    const auto size = tensor.whole("tp_size");
    tensor_ = tensor.whole("autotp_size").value_or(size.value_or(1));
    tensor.refuse_misspelt();
    const auto sequence = reader_.whole("sequence_parallel_size");
    sequence_ = sequence.value_or(1);
    // DeepSpeed reads it beside the other size only (deepspeed/__init__.py).
    const auto replicas = reader_.whole("data_parallel_size");
    if (sequence) replicas_ = replicas;
    if (tensor_ > 1) {
      strategy_["tensor_parallel"] = tensor_;
      with_tensor_parallel();
    }
    if (sequence_ > 1) strategy_["context_parallel"] = sequence_;
    if (sequence_ > 1) strategy_["context_method"] = "ulysses";
  }

  /// Gradients of bf16 are summed in fp32 unless the file says otherwise, and such runs have BF16_Optimizer
  /// (deepspeed/runtime/engine.py, get_data_types and _do_optimizer_sanity_check).
  [[nodiscard]] bool reduces_in_fp32() {
    const Json& types = section("data_types");
    const Json kind = types.value("grad_accum_dtype", Json("fp32"));
    return kind == "fp32" || kind.is_null();
  }

  void zero() {
    const Json& zero = zero_section();
    ConfigReader reader(zero, "/zero_optimization", diagnostics_);
    const int stage = reader.whole("stage", 0).value_or(0);
    strategy_["framework"] = "deepspeed";
    if (stage > 3) {
      diagnostics_.error("/zero_optimization/stage", fmt::format("found {}, expected 0 to 3", stage));
      return;
    }
    const bool shards_all_the_same = stage == 0 && workload_["precision"] == "bf16" && reduces_in_fp32();
    strategy_["sharding"] = shards_all_the_same ? "zero-1" : stage == 0 ? "none" : fmt::format("zero-{}", stage);
    if (shards_all_the_same)
      notes_.emplace_back("stage 0 with bf16: DeepSpeed's optimizer for bf16 shards its states, as zero-1");
    shard_groups(reader);
    if (zero.contains("overlap_comm") && zero.at("overlap_comm").is_boolean()) {
      if (stage < 3)
        strategy_["overlap_gradients"] = zero.at("overlap_comm");
      else if (!zero.at("overlap_comm").get<bool>())
        notes_.emplace_back("overlap_comm: off, but stage 3 is forecast with overlap; the step is underestimated");
    }
    if (offloads(zero, "offload_optimizer") || reader.flag("cpu_offload", false)) strategy_["offload_optimizer"] = true;
    if (to_drives_ && stage == 3)
      strategy_["offload_optimizer_device"] = "nvme";
    else if (to_drives_)
      notes_.emplace_back("offload_optimizer to nvme: taken as to host memory, stage 3 alone has it on drives");
    if (offloads(zero, "offload_param"))
      notes_.emplace_back("offload_param: parameters are taken to stay on the devices; memory is overestimated");
    reader.ask({"overlap_comm", "offload_optimizer", "offload_param"});
    reader.ignore({"contiguous_gradients", "allgather_partitions", "round_robin_gradients", "load_from_fp32_weights",
                   "sub_group_size", "stage3_gather_16bit_weights_on_model_save",
                   "stage3_gather_fp16_weights_on_model_save", "ignore_unused_parameters", "elastic_checkpoint",
                   "reduce_scatter", "memory_efficient_linear", "log_trace_cache_warnings",
                   "param_persistence_threshold", "module_granularity_threshold", "use_multi_rank_bucket_allreduce",
                   "legacy_stage1"});
    reader.refuse_misspelt();
    for (const std::string& key : reader.unknown()) {
      const bool size = key.ends_with("_size") || key.starts_with("stage3_") || key.starts_with("zero_");
      notes_.push_back(fmt::format("zero_optimization.{}: {}", key,
                                   size ? "the framework profile's own value is used" : "unknown, not used"));
    }
  }

  /// "auto" is filled in by transformers' Trainer, from its own --bf16 and --fp16 (integrations/deepspeed.py).
  void precision() {
    const Switch bf16 = enabled("bf16"), bfloat16 = enabled("bfloat16"), fp16 = enabled("fp16");
    const auto either = [&](Switch wanted) { return bf16 == wanted || bfloat16 == wanted; };
    if (either(Switch::on) && fp16 == Switch::on) diagnostics_.error("/fp16/enabled", "bf16 and fp16 are both on");
    std::string precision = either(Switch::on) ? "bf16" : fp16 == Switch::on ? "fp16" : "";
    if (precision.empty() && (either(Switch::left_open) || fp16 == Switch::left_open)) {
      precision = either(Switch::left_open) ? "bf16" : "fp16";
      notes_.push_back(fmt::format(
          "enabled \"auto\" follows the Trainer's --bf16 or --fp16: {0} is assumed (workload.precision)", precision));
    }
    if (precision.empty()) precision = apex();
    if (precision.empty()) precision = autocast();
    workload_["precision"] = precision.empty() ? "fp32" : precision;
  }

  /// torch.autocast: computes in 16 bits and keeps parameters in fp32.
  std::string autocast() {
    if (enabled("torch_autocast") != Switch::on) return {};
    ConfigReader reader(section("torch_autocast"), "/torch_autocast", diagnostics_);
    const std::string type = reader.text("dtype");
    notes_.push_back(fmt::format("torch_autocast {}: taken as masters in fp32 beside parameters of 16 bits",
                                 type.empty() ? "bfloat16" : type));
    return type == "float16" || type == "fp16" ? "fp16" : "bf16";
  }

  /// NVIDIA Apex' levels: O0 is fp32, all others compute in fp16.
  std::string apex() {
    if (enabled("amp") != Switch::on) return {};
    ConfigReader reader(section("amp"), "/amp", diagnostics_);
    const std::string level = reader.text("opt_level");
    if (level == "O0") return {};
    notes_.push_back(fmt::format("amp {}: taken as fp16 with masters in fp32", level.empty() ? "O1" : level));
    return "fp16";
  }

  /// The description has reductions of whole gradients.
  void optimizer() {
    ConfigReader reader(section("optimizer"), "/optimizer", diagnostics_);
    const std::string type = reader.text("type");
    const std::string low = lower_case(type);
    if (low.starts_with("onebit") || low.starts_with("zeroone"))
      notes_.push_back(
          fmt::format("optimizer {}: reductions of 1 bit are not modelled; their traffic is overestimated", type));
    else
      take_optimizer(strategy_, type, notes_);
  }

  /// What gradients are reduced in; without it, as the framework's profile has them.
  void gradients() {
    const Json& types = section("data_types");
    ConfigReader kept(types, "/data_types", diagnostics_);
    gradient_type(kept, "grad_accum_dtype", "/data_types/grad_accum_dtype");
    kept.refuse_misspelt();
    gradient_type(reader_, "communication_data_type", "/communication_data_type");
  }

  void gradient_type(ConfigReader& reader, const char* key, const char* pointer) {
    const std::string type = reader.text(key);
    if (type.empty()) return;
    if (type == "fp32" || type == "fp16" || type == "bf16" || type == "bfp16") {
      const Json before = strategy_.value("gradients_in_fp32", Json());
      strategy_["gradients_in_fp32"] = type == "fp32";
      if (!before.is_null() && before != strategy_["gradients_in_fp32"])
        notes_.push_back(fmt::format("{} {}: gradients are kept in it, too", key, type));
      return;
    }
    diagnostics_.error(pointer, fmt::format("found {}", shown(type)), "fp32, fp16 or bf16");
  }

  void batch() {
    const Node* node = catalog_.find<Node>(target_.node, "/cluster/node", diagnostics_);
    if (!node) return;
    const long devices = static_cast<long>(target_.nodes.value_or(1)) * node->devices();
    const long of_sample = static_cast<long>(tensor_) * sequence_;
    if (devices % of_sample != 0)
      return diagnostics_.error(
          "",
          fmt::format("{} devices, but {} of them share a sample (tensor and sequence parallel)", devices, of_sample),
          "--node and --nodes say how many");
    const long ranks = devices / of_sample;
    if (replicas_ && *replicas_ != ranks)
      return diagnostics_.error("/data_parallel_size",
                                fmt::format("found {}, but {} devices, of which {} share a sample, are {} replicas",
                                            *replicas_, devices, of_sample, ranks),
                                fmt::format("--nodes: {} devices make it so", *replicas_ * of_sample));
    const std::string called = of_sample > 1 ? "replicas" : "devices";
    const auto all = reader_.whole("train_batch_size"), micro = reader_.whole("train_micro_batch_size_per_gpu");
    const auto rounds = reader_.whole("gradient_accumulation_steps");
    long batch = 0;
    if (all) {
      batch = *all;
    } else {
      batch = ranks * micro.value_or(1) * rounds.value_or(1);
      notes_.push_back(fmt::format("train_batch_size is not given: {} × {} {} × {} rounds = {}", micro.value_or(1),
                                   ranks, called, rounds.value_or(1), batch));
    }
    if (all && micro && rounds && ranks * *micro * *rounds != batch)
      diagnostics_.error(
          "/train_batch_size",
          fmt::format("found {}, but {} {} × micro-batch {} × {} rounds are {}", batch, ranks, called, *micro, *rounds,
                      ranks * *micro * *rounds),
          fmt::format("--nodes: {} devices make it so", batch / std::max(1L, long(*micro) * *rounds) * of_sample));
    workload_["global_batch"] = batch;
    if (micro) strategy_["micro_batch"] = *micro;
    if (!micro && rounds && ranks > 0 && batch % (ranks * *rounds) == 0)
      strategy_["micro_batch"] = batch / (ranks * *rounds);
  }

  void ignored() {
    if (config_.contains("activation_checkpointing"))
      notes_.emplace_back(
          "activation_checkpointing says how, not whether: set strategy.recompute if the model does it");
    reader_.ignore({"activation_checkpointing",
                    "scheduler",
                    "gradient_clipping",
                    "steps_per_print",
                    "wall_clock_breakdown",
                    "zero_allow_untested_optimizer",
                    "prescale_gradients",
                    "gradient_predivide_factor",
                    "sparse_gradients",
                    "tensorboard",
                    "wandb",
                    "csv_monitor",
                    "flops_profiler",
                    "dump_state",
                    "memory_breakdown",
                    "comms_logger",
                    "checkpoint",
                    "zero_force_ds_cpu_optimizer",
                    "aio",
                    "disable_allgather",
                    "allgather_size",
                    "max_grad_norm",
                    "dataloader_drop_last",
                    "autotuning",
                    "monitor_config",
                    "nebula",
                    "hybrid_engine",
                    "torch_autocast",
                    "comet",
                    "bf16",
                    "fp16",
                    "bfloat16"});
  }

  const Json& config_;
  ConfigReader reader_;
  const ImportTarget& target_;
  const Catalog& catalog_;
  Diagnostics& diagnostics_;
  Json strategy_ = Json::object(), workload_ = Json::object();
  int tensor_ = 1, sequence_ = 1;
  std::optional<int> replicas_;  ///< as the mesh of devices has them
  std::vector<std::string> notes_;
  bool to_drives_ = false;  ///< the optimizer's states
};

/// DeepSpeed reads Hjson, whose comments begin with # as well; blanks take their place.
std::string without_hash_comments(std::string text) {
  bool quoted = false, comment = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n')
      comment = false;
    else if (comment)
      text[at] = ' ';
    else if (quoted && text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      quoted = !quoted;
    else if (!quoted && text[at] == '#') {
      comment = true;
      text[at] = ' ';
    }
  }
  return text;
}

}  // namespace

ImportedScenario import_deepspeed(const std::filesystem::path& file, const ImportTarget& target,
                                  const Catalog& catalog) {
  Diagnostics diagnostics(file.string());
  const std::string text = read_utf8_description(file, diagnostics);
  diagnostics.throw_if_faulty();
  const Json config = parse_json(without_hash_comments(text), diagnostics);
  diagnostics.throw_if_faulty();
  return import_deepspeed(config, file, target, catalog);
}

ImportedScenario import_deepspeed(const Json& config, const std::filesystem::path& file, const ImportTarget& target,
                                  const Catalog& catalog) {
  Diagnostics diagnostics(file.string());
  if (!config.is_object())
    throw InputError({{file.string(), "", fmt::format("found {}, expected an object", describe(config)),
                       "a DeepSpeed configuration"}});
  ImportedScenario out = DeepSpeedReader(config, target, catalog, diagnostics).read(file.stem().string());
  diagnostics.throw_if_faulty();
  resolve(out.scenario, file.string(), {}, catalog);
  return out;
}

}  // namespace stepcast
