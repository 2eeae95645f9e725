#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/imported_cluster.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/optimizer_names.hpp"
#include "calibration/importers/models/torchtitan_stages.hpp"
#include "calibration/importers/text_file.hpp"
#include "calibration/importers/toml_text.hpp"
#include "fields/plain_text.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// A model and its size as torchtitan calls them, in small letters, and our preset where it is not called so, too.
struct Flavor {
  std::string_view name, flavor, preset;
};
constexpr std::array kFlavors{
    Flavor{"llama3", "1b", "llama3.2-1b"},           Flavor{"llama3", "3b", "llama3.2-3b"},
    Flavor{"llama4", "17bx16e", "llama4-scout"},     Flavor{"llama4", "17bx128e", "llama4-maverick"},
    Flavor{"deepseek_v3", "671b", "deepseek-v3"},    Flavor{"deepseek_v3", "236b", "deepseek-v2"},
    Flavor{"flux", "flux-schnell", "flux.1-schnell"}};

/// The preset of a flavour, of which a variant's name stands behind an underscore (8B_flex): the one that is called as
/// both together, else what the table says. Empty where there is none.
std::string preset_of(const std::string& name, const std::string& flavor) {
  std::string id = name + "-" + flavor.substr(0, flavor.find('_'));
  std::replace(id.begin(), id.end(), '_', '-');
  const std::vector<std::string> presets = model_ids();
  if (std::find(presets.begin(), presets.end(), id) != presets.end()) return id;
  const auto found = std::find_if(kFlavors.begin(), kFlavors.end(), [&](const Flavor& one) {
    return one.name == name && flavor.starts_with(one.flavor);
  });
  return found == kFlavors.end() ? std::string{} : std::string(found->preset);
}

/// torchtitan/config/job_config.py: of training.local_batch_size (batch_size until 2025) and of
/// activation_checkpoint.selective_ac_option, whose mode is selective where none is named.
constexpr int kUsualBatch = 8;
constexpr const char* kUsualSelection = "2";

/// Tables that change neither a step's time nor its memory.
constexpr auto kHarmlessTables = std::to_array<std::string_view>(
    {"job", "profiling", "metrics", "lr_scheduler", "checkpoint", "comm", "fault_tolerance", "validation", "debug",
     "memory_estimation", "experimental", "tokenizer", "hf_transformers"});

class TorchtitanReader {
 public:
  TorchtitanReader(const Json& config, const ImportTarget& target, const Catalog& catalog, Diagnostics& diagnostics)
      : config_(config), target_(target), catalog_(catalog), diagnostics_(diagnostics) {}

  ImportedScenario read(const std::string& name) {
    model();
    degrees();
    precision();
    checkpointing();
    compiler();
    optimizer();
    if (strategy_.contains("expert_parallel")) with_experts();
    for (const auto& [table, value] : config_.items())
      if (known_.count(table) == 0 &&
          std::find(kHarmlessTables.begin(), kHarmlessTables.end(), table) == kHarmlessTables.end())
        unknown_table(table);
    if (const std::string note = unknown_note(unknown_); !note.empty()) notes_.push_back(note);
    return {{{"format_version", kScenarioFormatVersion},
             {"name", name},
             {"description", "Imported from torchtitan's configuration"},
             {"cluster", {{"node", cluster_.node}, {"nodes", cluster_.nodes}}},
             {"workload", workload_},
             {"strategy", strategy_}},
            std::move(notes_)};
  }

 private:
  const Json& table(const char* name) {
    static const Json kNothing = Json::object();
    known_.insert(name);
    const auto found = config_.find(name);
    if (found == config_.end()) return kNothing;
    if (found->is_object()) return *found;
    diagnostics_.error(child_pointer("", name), fmt::format("found {}, expected a table", describe(*found)));
    return kNothing;
  }

  /// One that is a known one misspelt is a fault, as its keys would not count.
  void unknown_table(const std::string& table) {
    const auto meant = std::find_if(known_.begin(), known_.end(), [&](const std::string& known) {
      return !config_.contains(known) && is_slip(table, known);
    });
    if (meant == known_.end()) return unknown_.push_back(table);
    diagnostics_.error(child_pointer("", table), "unknown key", fmt::format("did you mean \"{}\"?", *meant));
  }

  void list_unknown(ConfigReader& reader, std::string_view table) {
    reader.refuse_misspelt();
    for (const std::string& key : reader.unknown()) unknown_.push_back(fmt::format("{}.{}", table, key));
  }

  void model() {
    ConfigReader reader(table("model"), "/model", diagnostics_);
    const std::string name = lower_case(reader.text("name")), flavor = lower_case(reader.text("flavor"));
    converters_ = table("model").value("converters", Json::array()).dump();
    reader.ignore(
        {"tokenizer_path", "hf_assets_path", "tokenizer_backend", "converters", "print_after_conversion", "norm_type"});
    list_unknown(reader, "model");
    if (!target_.model.is_null()) return take_model(workload_, target_, notes_);
    const std::string preset = preset_of(name, flavor);
    if (preset.empty()) {
      diagnostics_.error("/model/flavor", fmt::format("no preset is known for {} {}", shown(name), shown(flavor)),
                         "--model or --model-config says what it is");
      return;
    }
    workload_["model"] = preset;
  }

  /// -1: what the other degrees leave.
  void degrees() {
    const Json& training = table("training");
    ConfigReader reader(training, "/training", diagnostics_);
    // Before 2025 the degrees stood among what was trained, those of pipelines and contexts among the experiments.
    const bool apart = config_.contains("parallelism");
    known_.insert("parallelism");
    Json before = training;
    if (!apart) before.update(table("experimental"));
    const Json& parallelism = apart ? table("parallelism") : before;
    ConfigReader degree(parallelism, "/parallelism", diagnostics_);
    const auto of = [&](const char* key) { return std::max(1, degree.whole(key, -1).value_or(1)); };
    const int tensor = of("tensor_parallel_degree"), pipeline = of("pipeline_parallel_degree");
    const int context = of("context_parallel_degree"), experts = of("expert_parallel_degree");
    const int replicas = of("data_parallel_replicate_degree");
    const int shards = degree.whole("data_parallel_shard_degree", -1).value_or(-1);
    const long model_ranks = static_cast<long>(tensor) * pipeline * context;
    cluster_ =
        cluster_of({shards > 0 ? model_ranks * replicas * shards : 0, 0}, target_, catalog_, notes_, diagnostics_);
    const long of_experts = static_cast<long>(experts) * pipeline * tensor;
    if (shards < 0 && !target_.nodes) fewest(std::lcm(model_ranks * replicas, experts > 1 ? of_experts : 1L));
    sharding(cluster_.devices(), model_ranks, replicas, context, shards);
    set("tensor_parallel", tensor);
    set("pipeline_parallel", pipeline);
    set("context_parallel", context);
    set("expert_parallel", experts);
    const int expert_tensor = of("expert_tensor_parallel_degree");
    if (experts > 1 && expert_tensor != tensor) strategy_["expert_tensor_parallel"] = expert_tensor;
    // Its plans cut norms and residuals by tokens, whether the loss is cut by the vocabulary or not.
    if (tensor > 1) strategy_["sequence_parallel"] = true;
    if (degree.flag("enable_async_tensor_parallel", false) && tensor > 1) strategy_["overlap_tensor_parallel"] = true;
    if (context > 1)
      strategy_["context_method"] = degree.text("context_parallel_rotate_method") == "alltoall" ? "ring" : "all-gather";
    if (degree.text("fsdp_reshard_after_forward") == "never" && strategy_["sharding"] == "fsdp")
      strategy_["sharding"] = "zero-2";
    read_pipeline(degree, pipeline);
    degree.ignore({"enable_compiled_autograd", "context_parallel_rotate_method", "disable_loss_parallel"});
    if (apart) list_unknown(degree, "parallelism");
    batch(reader, model_ranks);
    if (pipeline > 1) cut_pipeline();
  }

  void read_pipeline(ConfigReader& degree, int pipeline) {
    pipeline_.ranks = pipeline;
    pipeline_.schedule = degree.text("pipeline_parallel_schedule");
    pipeline_.layers_per_stage = degree.whole("pipeline_parallel_layers_per_stage");
    pipeline_.first_less = degree.whole("pipeline_parallel_first_stage_less_layers", 0).value_or(1);
    pipeline_.last_less = degree.whole("pipeline_parallel_last_stage_less_layers", 0).value_or(1);
    const auto micro = degree.whole("pipeline_parallel_microbatch_size");
    const auto rounds = degree.whole("pipeline_parallel_microbatches");
    if (pipeline > 1 && micro) micro_ = *micro;
    if (pipeline > 1 && rounds) micro_batches_ = *rounds;
    for (const char* key :
         {"pipeline_parallel_split_points", "module_fqns_per_model_part", "pipeline_parallel_schedule_csv"}) {
      if (pipeline > 1 && degree.has(key))
        notes_.push_back(
            fmt::format("{}: not read; stages are those that torchtitan makes by itself (strategy.stage_layers)", key));
      degree.ignore({key});
    }
  }

  void cut_pipeline() {
    pipeline_.layers = layers();
    const long rank_batch = workload_["global_batch"].get<long>() / replicas_;
    const TorchtitanStages stages =
        torchtitan_stages(pipeline_, rank_batch / strategy_["micro_batch"].get<long>(), diagnostics_);
    if (!stages.schedule.empty()) strategy_["schedule"] = stages.schedule;
    set("virtual_pipeline", stages.parts);
    if (!stages.layers.empty()) strategy_["stage_layers"] = stages.layers;
    notes_.insert(notes_.end(), stages.notes.begin(), stages.notes.end());
  }

  /// Of the model, a preset or a description; 0 where it is neither.
  int layers() const {
    const Json model = workload_.value("model", Json());
    Diagnostics ignored("");
    if (model.is_string()) {
      const auto preset = find_model(model.get<std::string>(), "", ignored);
      return preset ? layer_count(*preset) : 0;
    }
    const Json::json_pointer described("/transformer/layers");
    const bool known = model.is_object() && model.contains(described) && model.at(described).is_number_integer();
    return known ? model.at(described).get<int>() : 0;
  }

  /// The profile for FSDP has no expert parallelism; Megatron-LM's, which has, stands in.
  void with_experts() {
    strategy_["framework"] = "megatron-lm";
    strategy_.erase("torch_compile");
    if (strategy_.erase("parameters_in_16_bit") > 0)
      notes_.emplace_back("training.dtype bfloat16: parameters are forecast with fp32 copies");
    if (strategy_.value("recompute", Json()) == "per-operator") strategy_["recompute"] = "selective";
    notes_.emplace_back("expert parallelism: forecast with the profile of megatron-lm, which has it");
  }

  void set(const char* key, int value) {
    if (value > 1) strategy_[key] = value;
  }

  void fewest(long ranks) {
    cluster_.nodes = static_cast<int>(std::max(1L, (ranks + cluster_.per_node - 1) / cluster_.per_node));
    notes_.push_back(
        fmt::format("data_parallel_shard_degree -1 takes all devices: {} node{}, the fewest that the other "
                    "degrees fill (--nodes)",
                    cluster_.nodes, cluster_.nodes == 1 ? "" : "s"));
  }

  void sharding(long devices, long model_ranks, int replicas, int context, int shards) {
    strategy_["framework"] = "pytorch-fsdp";
    if (devices % (model_ranks * replicas) != 0) {
      diagnostics_.error("/parallelism",
                         fmt::format("{} devices are no multiple of the degrees' {}", devices, model_ranks * replicas),
                         "--node and --nodes say how many");
      return;
    }
    const long left = devices / (model_ranks * replicas);
    if (shards > 0 && left != shards)
      notes_.push_back(fmt::format("data_parallel_shard_degree {}: {} on these nodes", shards, left));
    strategy_["sharding"] = "fsdp";
    if (replicas > 1 && left * context > 1) {
      strategy_["sharding"] = "hsdp";
      strategy_["hsdp_shard_size"] = left * context;
    } else if (left * context == 1) {
      strategy_["sharding"] = "none";
      strategy_["framework"] = replicas > 1 && model_ranks == 1 ? "pytorch-ddp" : "pytorch-fsdp";
      if (strategy_["framework"] == "pytorch-fsdp") strategy_["sharding"] = "fsdp";
    }
  }

  void batch(ConfigReader& reader, long model_ranks) {
    int local = reader.whole("local_batch_size").value_or(reader.whole("batch_size").value_or(0));
    if (local == 0) {
      local = kUsualBatch;
      notes_.push_back(fmt::format("training.local_batch_size is not given: {}, torchtitan's own", local));
    }
    replicas_ = std::max(1L, cluster_.devices() / model_ranks);
    const auto global = reader.whole("global_batch_size", -1);
    workload_["global_batch"] = global && *global > 0 ? *global : local * replicas_;
    if (micro_batches_) micro_ = std::max(1, local / *micro_batches_);
    strategy_["micro_batch"] = std::min(local, micro_.value_or(strategy_.contains("pipeline_parallel") ? 1 : local));
    workload_["seq_len"] = target_.seq_len.value_or(reader.whole("seq_len").value_or(2048));
    if (const auto steps = reader.whole("steps"))
      workload_["samples"] = static_cast<double>(*steps) * workload_["global_batch"].get<double>();
    const std::string reduced = reader.text("mixed_precision_reduce");
    if (reduced == "bfloat16") strategy_["gradients_in_fp32"] = false;
    type_ = reader.text("mixed_precision_param");
    const std::string held = reader.text("dtype");
    if (type_.empty()) type_ = held;
    const bool on_host = reader.flag("enable_cpu_offload", false);
    if (on_host) strategy_["offload_optimizer"] = true;
    if (held == "bfloat16") hold_in_16_bit(on_host);
    if (reader.flag("compile", false)) strategy_["torch_compile"] = true;
    linears_in_fp8_ = reader.flag("enable_fp8_linear", false);
    reader.ignore({"dataset",
                   "dataset_path",
                   "max_norm",
                   "warmup_steps",
                   "seed",
                   "deterministic",
                   "gc_freq",
                   "gc_debug",
                   "data_parallel_type",
                   "dtype",
                   "mixed_precision_param",
                   "dump_folder",
                   "tensor_parallel_degree",
                   "pipeline_parallel_degree",
                   "context_parallel_degree",
                   "data_parallel_replicate_degree",
                   "data_parallel_shard_degree",
                   "debug_moe_force_load_balance",
                   "enable_loss_parallel",
                   "disable_loss_parallel"});
    list_unknown(reader, "training");
  }

  /// Until early in 2025 a switch turned linear layers to float8, model.converters since.
  void precision() {
    ConfigReader switches(table("float8"), "/float8", diagnostics_);
    const bool switched = switches.flag("enable_float8_linear", false) || linears_in_fp8_;
    const bool eight = config_.contains("float8") || contains(converters_, "float8") || contains(converters_, "mx");
    const bool converted = switched || contains(converters_, "float8") || contains(converters_, "mx");
    workload_["precision"] = type_ == "float32" ? "fp32" : type_ == "float16" ? "fp16" : "bf16";
    if (converted) workload_["precision"] = contains(converters_, "mx") ? "mxfp8" : "fp8";
    for (const char* name : {"float8", "mx", "quantize"}) known_.insert(name);
    if (eight && !converted)
      notes_.emplace_back("float8 is described, but no converter of the model: products are forecast in bf16");
  }

  void checkpointing() {
    ConfigReader reader(table("activation_checkpoint"), "/activation_checkpoint", diagnostics_);
    const std::string given = reader.text("mode"), mode = given.empty() ? "selective" : given;
    const bool chosen = reader.has("selective_ac_option");
    const Json option = chosen ? table("activation_checkpoint").at("selective_ac_option") : Json(kUsualSelection);
    reader.ignore({"selective_ac_option", "early_stop", "per_op_sac_force_recompute_mm_shapes_by_fqns", "memory_budget",
                   "visualize_memory_budget_pareto"});
    list_unknown(reader, "activation_checkpoint");
    if (mode == "full") strategy_["recompute"] = "full";
    if (mode == "selective") {
      strategy_["recompute"] = option == "op" ? "per-operator" : "full";
      if (option != "op") every_so_many_layers(option);
      if (given.empty() || !chosen)
        notes_.push_back(fmt::format(
            "activation_checkpoint.{} is not given: {}selective_ac_option {}, torchtitan's own",
            given.empty() ? "mode" : "selective_ac_option", given.empty() ? "selective with " : "", option.dump()));
    }
    if (mode == "memory_budget")
      notes_.emplace_back(
          "activation_checkpoint.mode memory_budget: the compiler chooses what is kept; forecast without "
          "recomputation: memory is the most, time the least that it can be");
    else if (mode != "full" && mode != "selective" && mode != "none")
      notes_.push_back(fmt::format("activation_checkpoint.mode {}: not known, taken as none", shown(mode)));
  }

  /// Every so many-th layer recomputes: of a stage, or a part of it, its share.
  void every_so_many_layers(const Json& option) {
    const int every = whole_number(option.is_string() ? option.get<std::string>() : option.dump()).value_or(0);
    if (every < 1)
      return diagnostics_.error("/activation_checkpoint/selective_ac_option", fmt::format("found {}", describe(option)),
                                "\"op\", or a whole number of at least 1");
    if (every == 1) return;
    const int all = layers();
    if (all == 0)
      return notes_.push_back(fmt::format(
          "selective_ac_option {}: every layer is forecast as computed again (strategy.recompute_layers)", every));
    const int parts = strategy_.value("pipeline_parallel", 1) * strategy_.value("virtual_pipeline", 1);
    if (const int repeated = all / parts / every; repeated > 0)
      strategy_["recompute_layers"] = repeated;
    else
      strategy_["recompute"] = "none";
  }

  /// Model and loss are compiled apart; a compiled model's loss would be taken for compiled, too.
  void compile_parts(bool model, bool loss) {
    if (model) strategy_["torch_compile"] = true;
    if (model == loss) return;
    strategy_["fused_loss"] = loss;
    notes_.emplace_back(loss ? "compile.components: the loss alone is compiled (fused_loss)"
                             : "compile.components: the model is compiled, its loss is not (fused_loss false)");
  }

  void compiler() {
    const Json& compile = table("compile");
    ConfigReader reader(compile, "/compile", diagnostics_);
    const auto compiles = [&](const char* part) {
      return !compile.contains("components") || contains(compile.at("components").dump(), part);
    };
    if (reader.flag("enable", false)) compile_parts(compiles("\"model\""), compiles("\"loss\""));
    reader.ignore({"components", "backend"});
    list_unknown(reader, "compile");
  }

  void hold_in_16_bit(bool on_host) {
    if (!on_host && type_ != "float32")
      strategy_["parameters_in_16_bit"] = true;
    else
      notes_.push_back(fmt::format("training.dtype bfloat16 beside training.{}: parameters are forecast in fp32",
                                   on_host ? "enable_cpu_offload" : "mixed_precision_param float32"));
  }

  void optimizer() {
    ConfigReader reader(table("optimizer"), "/optimizer", diagnostics_);
    take_optimizer(strategy_, reader.text("name"), notes_);
    reader.ignore({"lr", "eps", "beta1", "beta2", "weight_decay", "implementation", "early_step_in_backward", "fused"});
    list_unknown(reader, "optimizer");
  }

  const Json& config_;
  const ImportTarget& target_;
  const Catalog& catalog_;
  Diagnostics& diagnostics_;
  ImportedCluster cluster_;
  Json strategy_ = Json::object(), workload_ = Json::object();
  std::string converters_, type_;
  bool linears_in_fp8_ = false;
  std::optional<int> micro_, micro_batches_;
  TorchtitanPipeline pipeline_;
  long replicas_ = 1;
  std::set<std::string> known_;
  std::vector<std::string> notes_, unknown_;
};

}  // namespace

ImportedScenario import_torchtitan(const std::filesystem::path& file, const ImportTarget& target,
                                   const Catalog& catalog) {
  Diagnostics diagnostics(file.string());
  const std::string text = read_utf8_description(file, diagnostics);
  diagnostics.throw_if_faulty();
  const Json config = parse_toml(text, diagnostics);
  diagnostics.throw_if_faulty();
  if (config.empty()) throw InputError({{file.string(), "", "is empty", "torchtitan's configuration"}});
  ImportedScenario out = TorchtitanReader(config, target, catalog, diagnostics).read(file.stem().string());
  diagnostics.throw_if_faulty();
  resolve(out.scenario, file.string(), {}, catalog);
  return out;
}

}  // namespace stepcast
