#include "calibration/importers/models/megatron_strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "calibration/importers/models/megatron_noop.hpp"
#include "calibration/importers/models/megatron_stages.hpp"
#include "calibration/importers/models/optimizer_names.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr const char* kOldMethod = "--activations-checkpoint-method";

class StrategyReader {
 public:
  StrategyReader(MegatronArguments& arguments, const MegatronModel& model) : in_(arguments), model_(model) {}

  Json read() {
    strategy();
    return std::move(strategy_);
  }

 private:
  /// Parameters that every layer gathers are gathered, and their gradients reduced, beside its computation.
  void overlaps(const std::string& sharding) {
    const bool gradients = in_.list.has("--overlap-grad-reduce"), gathers = in_.list.has("--overlap-param-gather");
    if (sharding == "fsdp" || sharding == "hsdp") {
      if (!gradients)
        in_.notes.emplace_back(
            "--overlap-grad-reduce: off, but sharded parameters are forecast with overlap; the step is underestimated");
      return;
    }
    strategy_["overlap_gradients"] = gradients;
    if (sharding != "none") strategy_["overlap_parameter_gather"] = gathers;
  }

  void strategy() {
    strategy_ = {{"framework", in_.list.has("--deepspeed") ? "megatron-deepspeed" : "megatron-lm"}};
    const auto degree = [&](const char* key, int value) {
      if (value > 1) strategy_[key] = value;
    };
    degree("tensor_parallel", in_.degrees.tp);
    degree("pipeline_parallel", in_.degrees.pp);
    degree("context_parallel", in_.degrees.cp);
    degree("expert_parallel", in_.degrees.ep);
    const int usual = in_.list.has("--moe-tp-extend-ep") ? 1 : in_.degrees.tp;
    const int etp = in_.list.whole("--expert-tensor-parallel-size").value_or(usual);
    if (etp != in_.degrees.tp && model_.shape.contains("experts")) strategy_["expert_tensor_parallel"] = etp;
    in_.copy_flag(strategy_, "sequence_parallel", "--sequence-parallel");
    if (in_.degrees.tp == 1) strategy_.erase("sequence_parallel");
    interleaving();
    if (in_.list.has("--cp-comm-type")) {
      const std::string kind = in_.choice("--cp-comm-type", {"p2p", "a2a", "all_gather", "allgather", "a2a+p2p"});
      const bool gathers = kind == "all_gather" || kind == "allgather";
      if (in_.degrees.cp > 1) strategy_["context_method"] = kind == "a2a" ? "ulysses" : gathers ? "all-gather" : "ring";
    }
    const std::string sharding = this->sharding();
    strategy_["sharding"] = sharding;
    overlaps(sharding);
    in_.list.ignore("--overlap-param-gather");
    if (in_.list.has("--tp-comm-overlap") && in_.degrees.tp > 1) strategy_["overlap_tensor_parallel"] = true;
    in_.copy_flag(strategy_, "gradients_in_fp32", "--accumulate-allreduce-grads-in-fp32");
    if (in_.list.has("--grad-reduce-in-bf16")) strategy_["gradients_in_fp32"] = false;
    in_.copy_flag(strategy_, "fused_loss", "--cross-entropy-loss-fusion");
    for (const char* option : {"--no-bias-swiglu-fusion", "--no-bias-gelu-fusion"})
      if (in_.list.has(option)) strategy_["fused_activation"] = false;
    if (in_.list.has("--use-tp-pp-dp-mapping")) strategy_["order"] = "tp-cp-ep-pp-dp";
    for (const char* option : {"--optimizer-cpu-offload", "--cpu-optimizer"})
      in_.copy_flag(strategy_, "offload_optimizer", option);
    offloaded_fraction();
    optimizer();
    in_.copy_flag(strategy_, "fp8_dot_product_attention", "--fp8-dot-product-attention");
    attention_kernel();
    const bool flex =
        in_.list.has("--moe-token-dispatcher-type") && in_.list.text("--moe-token-dispatcher-type") == "flex";
    if (flex && model_.shape.contains("experts")) strategy_["expert_dispatch"] = "deepep";
    in_.copy_flag(strategy_, "overlap_expert_parallel", "--overlap-moe-expert-parallel-comm");
    in_.list.ignore("--delay-wgrad-compute");
    recomputation();
  }

  /// Of the parameters whose states the host holds; all by default (core/optimizer/optimizer_config.py).
  void offloaded_fraction() {
    const std::string option = "--optimizer-offload-fraction";
    const double fraction = in_.list.number(option).value_or(1);
    if (!strategy_.contains("offload_optimizer") || fraction >= 1) return;
    if (fraction <= 0) {
      strategy_.erase("offload_optimizer");
      return;
    }
    in_.notes.push_back(fmt::format(
        "{} {:g}: forecast as all of them, so that the step is overestimated and the device's memory underestimated",
        option, fraction));
  }

  /// Adam's moments are in fp32 unless the options of the precision-aware optimizer say otherwise.
  void optimizer() {
    if (in_.list.has("--optimizer")) take_optimizer(strategy_, in_.list.text("--optimizer"), in_.notes);
    in_.list.ignore("--use-precision-aware-optimizer");
    for (const auto& [option, forecast] : {std::pair{"--muon-tp-mode", "blockwise"}, {"--muon-num-ns-steps", "5"}}) {
      const std::string found = in_.list.has(option) ? in_.list.text(option) : forecast;
      if (found != forecast) in_.notes.push_back(fmt::format("{} {}: forecast as {}", option, found, forecast));
    }
    const auto bytes = [&](const char* option) {
      const std::string type = in_.list.has(option) ? in_.list.text(option) : "fp32";
      if (type == "bf16" || type == "fp16") return 2;
      return type == "fp8" ? 1 : 4;
    };
    const int moments = bytes("--exp-avg-dtype") + bytes("--exp-avg-sq-dtype");
    if (moments == 8 || strategy_.contains("optimizer")) return;
    // Of two formats the sum counts: 8 bit and 16 lie nearer to 16.
    set_optimizer(strategy_, moments <= 2 ? "adam-8bit" : "adam-16bit", in_.notes);
    if (moments != 2 && moments != 4)
      in_.notes.push_back(fmt::format("moments of {} bytes a parameter are forecast as 4 (adam-16bit)", moments));
  }

  /// "flash" is whichever generation is installed, "fused" cuDNN's: both are the profile's own.
  void attention_kernel() {
    if (!in_.list.has("--attention-backend")) return;
    const std::string backend = in_.list.text("--attention-backend");
    if (backend == "unfused" || backend == "local") strategy_["attention_kernel"] = "unfused";
  }

  /// The distributed optimizer is ZeRO-1, as is the one that deals out whole matrices; Megatron-FSDP says itself what
  /// it cuts, by default nothing.
  std::string sharding() {
    const bool by_layer = in_.list.has("--optimizer") && in_.list.text("--optimizer") == "dist_muon";
    const bool optimizer = in_.list.has("--use-distributed-optimizer") || by_layer;
    const bool custom = in_.list.has("--use-custom-fsdp");
    const bool fsdp = in_.list.has("--use-megatron-fsdp") || custom;
    if (in_.list.has("--use-torch-fsdp2")) return "fsdp";
    if (const auto stage = in_.list.whole("--zero-stage", 0)) return zero(*stage);
    const std::string option = "--data-parallel-sharding-strategy";
    if (!fsdp || !in_.list.has(option)) {
      if (in_.list.has(option)) in_.notes.push_back(option + " without --use-megatron-fsdp: not used");
      return optimizer ? "zero-1" : "none";
    }
    const std::string found = in_.list.text(option);
    const std::map<std::string, std::string> names{
        {"no_shard", "none"}, {"optim", "zero-1"}, {"optim_grads", "zero-2"}, {"optim_grads_params", "fsdp"}};
    if (names.contains(found)) return names.at(found);
    in_.diagnostics.error("", fmt::format("{}: found {}", option, shown(found)),
                          "no_shard, optim, optim_grads or optim_grads_params");
    return "none";
  }

  /// Megatron-DeepSpeed's stage. With bf16 and stage 0 DeepSpeed's BF16_Optimizer shards its states all the same
  /// (deepspeed/runtime/bf16_optimizer.py).
  std::string zero(int stage) {
    if (stage > 3) in_.diagnostics.error("", fmt::format("--zero-stage: found {}, expected 0 to 3", stage));
    if (stage > 1 && stage < 4) {
      strategy_["framework"] = "megatron-lm";
      in_.notes.push_back(
          fmt::format("--zero-stage {}: forecast with the profile of Megatron-LM, which has it", stage));
    }
    if (stage > 2) return "fsdp";
    if (stage > 0) return fmt::format("zero-{}", stage);
    if (!in_.list.has("--bf16")) return "none";
    in_.notes.emplace_back("--zero-stage 0 with --bf16: DeepSpeed's optimizer for bf16 shards its states, as zero-1");
    return "zero-1";
  }

  void interleaving() {
    int chunks = in_.list.whole("--num-virtual-stages-per-pipeline-rank").value_or(1);
    if (const auto layers = in_.list.whole("--num-layers-per-virtual-pipeline-stage"); layers && in_.degrees.pp > 1) {
      const int counted = (in_.list.has("--account-for-embedding-in-pipeline-split") ? 1 : 0) +
                          (in_.list.has("--account-for-loss-in-pipeline-split") ? 1 : 0);
      const int per_stage = (model_.layers + counted) / in_.degrees.pp;
      if (per_stage % *layers != 0)
        in_.diagnostics.error("",
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
    if (!in_.list.has(option)) return false;
    const std::string method = in_.list.text(option);
    if (method == "type:transformer|embedding") return true;
    if (method != "type:transformer")
      in_.notes.push_back(fmt::format("{} {}: not known, stages of equal layers", option, shown(method)));
    return false;
  }

  void stages(int chunks) {
    const bool ends = embeddings_count();
    MegatronStages how{model_.layers,
                       in_.degrees.pp,
                       chunks,
                       in_.list.whole("--decoder-first-pipeline-num-layers", 0),
                       in_.list.whole("--decoder-last-pipeline-num-layers", 0),
                       ends || in_.list.has("--account-for-embedding-in-pipeline-split"),
                       ends || in_.list.has("--account-for-loss-in-pipeline-split")};
    std::vector<int> layers = megatron_stage_layers(how, in_.diagnostics);
    if (in_.list.has("--num-layer-list")) {
      const std::vector<std::string> numbers = in_.list.values("--num-layer-list");
      layers = megatron_listed_stages(fmt::format("{}", fmt::join(numbers, ",")), how, in_.diagnostics);
    }
    if (layers.empty() && !model_.noops.empty()) layers = megatron_even_stages(how, in_.diagnostics);
    if (in_.list.has("--pipeline-model-parallel-layout")) {
      // Its commas, which only please the eye, are blanks here.
      const std::vector<std::string> parts = in_.list.values("--pipeline-model-parallel-layout");
      layers = megatron_layout_layers(fmt::format("{}", fmt::join(parts, "")), in_.diagnostics);
      if (layers.size() % static_cast<std::size_t>(in_.degrees.pp) != 0)
        in_.diagnostics.error("", fmt::format("--pipeline-model-parallel-layout: {} chunks over {} stages",
                                              layers.size(), in_.degrees.pp));
      chunks = static_cast<int>(layers.size()) / in_.degrees.pp;
    }
    if (chunks > 1) strategy_["virtual_pipeline"] = chunks;
    leave_out_noop_layers(layers, model_.noops);
    for (int& part : layers) part *= model_.halves;
    if (!layers.empty() && in_.degrees.pp > 1) strategy_["stage_layers"] = layers;
  }

  void recomputation() {
    const std::string granularity = in_.choice("--recompute-granularity", {"full", "selective"});
    // Options of Megatron-LM of 2021 and 2022, each of which says by itself that layers recompute; Megatron-DeepSpeed
    // has kept the first.
    const bool older = in_.list.has("--checkpoint-activations") || in_.list.has(kOldMethod);
    if (granularity == "full" || older) strategy_["recompute"] = "full";
    in_.list.ignore("--deepspeed-activation-checkpointing");
    recomputed_layers();
    const std::vector<std::string> modules = in_.list.values("--recompute-modules");
    const bool activations = in_.list.has("--recompute-activations");
    if ((granularity == "selective" || activations) && modules.empty()) strategy_["recompute"] = "selective";
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
        in_.notes.push_back(fmt::format("--recompute-modules {}: not modelled, not used", module));
    if (list.empty()) return;
    strategy_["recompute"] = "modules";
    strategy_["recompute_modules"] = std::move(list);
  }

  /// The block method recomputes the first layers of each stage or chunk (core/transformer/transformer_block.py); the
  /// uniform one all, keeping what goes into so many of them together.
  void recomputed_layers() {
    const auto layers =
        in_.first_of({"--recompute-num-layers", "--activations-checkpoint-num-layers", "--checkpoint-num-layers"}, 0);
    std::string method;
    for (const char* option : {kOldMethod, "--recompute-method"})
      if (in_.list.has(option)) method = in_.choice(option, {"uniform", "block"});
    if (method != "block" || strategy_.value("recompute", "") != "full") return;
    const int some = layers.value_or(1);  // the default before it had to be stated
    const long chunks = static_cast<long>(in_.degrees.pp) * strategy_.value("virtual_pipeline", 1);
    long most = static_cast<long>(model_.layers) * model_.halves / chunks;
    if (strategy_.contains("stage_layers")) {
      const auto stages = strategy_["stage_layers"].get<std::vector<int>>();
      most = *std::max_element(stages.begin(), stages.end());
    }
    const long repeating = static_cast<long>(some) * model_.halves;
    if (repeating == 0)
      strategy_["recompute"] = "none";
    else if (repeating < most)
      strategy_["recompute_layers"] = repeating;
  }

  MegatronArguments& in_;
  const MegatronModel& model_;
  Json strategy_;
};

}  // namespace

Json read_megatron_strategy(MegatronArguments& arguments, const MegatronModel& model) {
  return StrategyReader(arguments, model).read();
}

}  // namespace stepcast
