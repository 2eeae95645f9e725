#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include "calibration/validation/attention_words.hpp"
#include "calibration/validation/expert_recipes.hpp"
#include "calibration/validation/published_row.hpp"
#include "calibration/validation/settle.hpp"
#include "calibration/validation/sharding_words.hpp"
#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"
#include "models/scenario/draft.hpp"

namespace stepcast {

namespace {

bool holds(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

/// "full (20/80 layers)", "full 20 layers": 20.
std::optional<long> number_before_layers(const std::string& text) {
  static const std::regex kLayers(R"((\d+)\s*(?:(?:/|of)\s*\d+\s*)?layer)");
  std::smatch match;
  return std::regex_search(text, match, kLayers) ? std::optional(std::stol(match[1])) : std::nullopt;
}

class Mapping {
 public:
  Mapping(PublishedRow& reading, const Json& model, long batch)
      : reading_(reading), row_(reading.row), model_(model), batch_(batch) {}

  Json read() {
    strategy_ = {{"framework", profile()}};
    read_degrees();
    if (!reading_.out.refusal.empty()) return nullptr;
    read_recompute();
    read_sharding();
    const bool merged = reading_.notes("exchanges of experts overlapped");
    if ((merged || (reading_.expert_recipe != nullptr && reading_.expert_recipe->overlaps)) && has_passes_to_merge()) {
      strategy_["overlap_expert_parallel"] = true;
      if (!merged) reading_.unstated("overlap_expert_parallel");
    }
    if (reading_.notes("bf16 moments")) strategy_["optimizer"] = "adam-16bit";
    if (reading_.notes("async TP")) strategy_["overlap_tensor_parallel"] = true;
    read_kernels();
    const std::string framework = lower_case(row_.text("framework"));
    if (reading_.notes("torch.compile") || framework.ends_with("+ compile")) strategy_["torch_compile"] = true;
    if (!reading_.defaults->compiles_loss && !strategy_.contains("fused_loss")) strategy_["fused_loss"] = false;
    return std::move(strategy_);
  }

 private:
  /// Kernels beside the framework's own ones.
  void read_kernels() {
    const StatedAttention attention = stated_attention(row_.text("attention"));
    if (!attention.refusal.empty()) reading_.refuse(attention.refusal);
    if (!attention.kernel.empty())
      strategy_["attention_kernel"] = attention.kernel;
    else if (row_.text("attention").empty() && !reading_.defaults->attention_kernel.empty())
      strategy_["attention_kernel"] = reading_.defaults->attention_kernel;
    // "no Liger kernels" aside; its loss computes the logits piece by piece (FusedLinearCrossEntropy).
    const bool all = reading_.notes("Liger kernels") && !reading_.notes("no Liger kernels");
    for (const auto& [words, key] :
         {std::pair{"fused loss", "fused_loss"}, std::pair{"fused norm", "fused_norm"},
          std::pair{"fused rotary", "fused_rotary"}, std::pair{"fused activation", "fused_activation"}})
      if (all || reading_.notes(words)) strategy_[key] = true;
  }

  [[nodiscard]] std::string_view profile() const {
    const FrameworkDefaults& defaults = *reading_.defaults;
    if (reading_.expert_recipe != nullptr && reading_.expert_recipe->whole_iteration) return kWholeIterationProfile;
    const bool own = reading_.task == TrainingTask::adapters && !defaults.adapter_profile.empty();
    return own ? defaults.adapter_profile : defaults.profile;
  }
  [[nodiscard]] long degree(const char* key) const { return strategy_.at(key).get<long>(); }
  [[nodiscard]] long layers() const { return model_.at("transformer").at("layers").get<long>(); }

  /// Where a recipe's own mapping is another, its overlap is not possible.
  [[nodiscard]] bool has_passes_to_merge() const {
    const bool interleaved = degree("virtual_pipeline") > 1 || reading_.out.open.interleaving;
    const std::string sharding = strategy_.value("sharding", "zero-1");
    return (degree("pipeline_parallel") == 1 || interleaved) && (sharding == "zero-1" || sharding == "none");
  }

  void set_degrees(long tp, long pp, long cp) {
    strategy_["tensor_parallel"] = tp;
    strategy_["pipeline_parallel"] = pp;
    strategy_["context_parallel"] = cp;
    strategy_["sequence_parallel"] = reading_.defaults->sequence_parallel && tp > 1;
    const std::string_view method = reading_.task == TrainingTask::adapters ? reading_.defaults->adapter_context_method
                                                                            : reading_.defaults->context_method;
    if (degree("context_parallel") > 1 && !method.empty()) strategy_["context_method"] = method;
  }

  /// The same where samples fewer than replicas mean that ranks share them.
  void share_samples(long tp, long pp, long cp) {
    set_degrees(tp, pp, context_for_batch(reading_.gpus, tp, pp, cp, batch_));
    // Two parts of a sequence a rank balance causal attention, but where heads are exchanged.
    const long parts = 2 * degree("context_parallel"), seq_len = model_.at("default_seq_len");
    if (parts > 2 * cp && seq_len % parts != 0 && strategy_.value("context_method", "ring") != "ulysses")
      refuse_batch(reading_.gpus / std::max(1L, tp * pp * cp));
  }

  /// Data-parallel ranks as a row states them. Null where they only follow from the rest: of adapters in results of
  /// MLPerf Training they are what the degrees that a submission logs leave over, which may be more than its batch; and
  /// some tables print counts that do not multiply to their GPUs (published_row.hpp).
  [[nodiscard]] std::optional<long> stated_replicas() const {
    const bool logged = holds(row_.text("source"), "MLPerf Training") && reading_.task == TrainingTask::adapters;
    if (logged || contradicted_devices(row_)) return std::nullopt;
    return row_.whole("dp");
  }

  void refuse_batch(long replicas) {
    reading_.refuse(
        fmt::format("global_batch: {} samples do not divide over {} data-parallel ranks", batch_, replicas));
  }

  void read_stated_degrees(long tp, long pp) {
    if (const std::optional<long> dp = stated_replicas()) {
      set_degrees(tp, pp, context_at_its_word(tp, pp, *dp));
      if (batch_ % *dp != 0) refuse_batch(*dp);
      return;
    }
    const std::optional<long> cp = row_.whole("cp");
    share_samples(tp, pp, cp.value_or(1));
    if (degree("context_parallel") != cp.value_or(1)) reading_.unstated("context_parallel");
    const long ranks = reading_.gpus / std::max(1L, tp * pp * cp.value_or(1));
    if (ranks > 0 && batch_ > ranks && batch_ % ranks != 0) refuse_batch(ranks);
  }

  /// A row that states its data-parallel ranks says how many share a sample: `cp`, which is what remains where the row
  /// leaves that out. Degrees that do not multiply to its devices are refused.
  long context_at_its_word(long tp, long pp, long dp) {
    // As real numbers, which no statement can overflow.
    const double cut = static_cast<double>(tp) * static_cast<double>(pp) * static_cast<double>(dp);
    const auto devices = static_cast<double>(reading_.gpus);
    const long cp = row_.whole("cp").value_or(std::max(1L, static_cast<long>(devices / cut)));
    const double ranks = cut * static_cast<double>(cp);
    if (ranks != devices)
      reading_.refuse(fmt::format("dp: tensor {} · pipeline {} · context {} · data {} are {} ranks, on {} devices", tp,
                                  pp, cp, dp, ranks, devices));
    return cp;
  }

  void read_degrees() {
    const std::optional<long> tp = row_.whole("tp"), pp = row_.whole("pp");
    if (tp && pp) {
      read_stated_degrees(*tp, *pp);
      read_chunks(row_.whole("vpp"));
      read_micro_batch(row_.number("micro_batch"));
      read_experts();
      return;
    }
    reading_.unstated("mapping");
    // The row says that it is a mapping of its own, so another row's does not stand for it.
    const bool own = reading_.notes("without context parallelism");
    if (const std::optional<StatedMapping> nearest = own ? std::nullopt : nearest_mapping(row_)) {
      share_samples(nearest->tensor_parallel, nearest->pipeline_parallel, row_.whole("cp").value_or(1));
      nearest_sharding_ = nearest->sharding;
      read_chunks(nearest->virtual_pipeline);
      const std::optional<double> micro_batch = row_.number("micro_batch");
      read_micro_batch(micro_batch ? micro_batch : std::optional<double>(nearest->micro_batch));
      nearest_recompute_ = nearest->recompute;
      // Another row's micro-batch stands for this one's only where it divides a replica's share.
      if (!micro_batch && !divides()) {
        strategy_.erase("micro_batch");
        reading_.out.open.micro_batch = true;
      }
      return;
    }
    search_degrees();
  }

  [[nodiscard]] bool divides() const {
    const long cut = degree("tensor_parallel") * degree("pipeline_parallel") * degree("context_parallel");
    const long replicas = std::max(1L, reading_.gpus / cut);
    return batch_ % (replicas * strategy_.value("micro_batch", 1L)) == 0;
  }

  void search_degrees() {
    set_degrees(1, 1, context_for_batch(reading_.gpus, 1, 1, 1, batch_));
    reading_.out.open.mapping = true;
    reading_.out.open.without_context = reading_.notes("without context parallelism");
    reading_.out.open.sequence_parallel = reading_.defaults->sequence_parallel;
    reading_.out.open.interleaving = reading_.defaults->interleaves;
    read_micro_batch(row_.number("micro_batch"));
  }

  void read_chunks(std::optional<long> stated) {
    const bool pipeline = degree("pipeline_parallel") > 1;
    strategy_["virtual_pipeline"] = pipeline ? stated.value_or(1) : 1;
    read_schedule();
    if (pipeline && !stated && reading_.defaults->interleaves && !strategy_.contains("schedule")) {
      reading_.out.open.interleaving = true;
      reading_.unstated("virtual_pipeline");
    }
    const long chunks = degree("pipeline_parallel") * degree("virtual_pipeline");
    // Layers that stages do not divide lie as evenly as whole layers can, as every framework's recipes place them.
    if (chunks > 1 && layers() % chunks != 0 && layers() >= chunks - 2)
      strategy_["stage_layers"] = balanced_stages(static_cast<int>(layers()), static_cast<int>(chunks),
                                                  model_.at("transformer").value("mtp_layers", 0));
  }

  /// Schedules that split the backward pass; DualPipe (DeepSeek-V3) does so too.
  void read_schedule() {
    const bool splits = reading_.notes("zero bubble") || reading_.notes("V-min") || reading_.notes("V-half") ||
                        reading_.notes("DualPipe");
    if (degree("pipeline_parallel") > 1 && splits) strategy_["schedule"] = "zero-bubble";
  }

  void read_micro_batch(std::optional<double> stated) {
    // Where a chip is several devices of the software, each has a micro-batch of its own.
    long devices = reading_.notes("two JAX devices per chip") ? 2 : 1;
    if (reading_.defaults->batch_per_device) devices *= degree("tensor_parallel") * degree("context_parallel");
    if (stated) {
      const double samples = *stated * static_cast<double>(devices);
      if (samples != std::floor(samples) || samples < 1)
        return reading_.refuse(
            fmt::format("a micro-batch of {:g} samples is shared by devices of one replica", samples));
      strategy_["micro_batch"] = static_cast<long>(samples);
      return;
    }
    reading_.out.open.micro_batch = true;
    reading_.unstated("micro_batch");
  }

  /// Rows name it in their notes, NVIDIA's recipes beside the tables; DeepSeek's own program is what DeepEP was taken
  /// from (DeepSeek-V3, arXiv 2412.19437, section 3.2.2).
  void read_dispatch() {
    const bool noted = reading_.notes("DeepEP") || reading_.notes("HybridEP") || reading_.notes("hybrid-EP");
    const bool own = holds(row_.text("framework"), "HAI-LLM");
    if (!noted && !own && !reading_.dispatches_once) return;
    strategy_["expert_dispatch"] = "deepep";
    if (!noted) reading_.unstated("expert_dispatch");
  }

  /// Few tables say whether tensor ranks share an expert or hold whole ones. Megatron's default is that they share; it
  /// is not where the recipes are known to say so, or where expert groups would not fit otherwise.
  void read_experts() {
    const long ep = row_.whole("ep").value_or(1);
    const long tp = degree("tensor_parallel");
    const long ranks = reading_.gpus / std::max(1L, tp * degree("pipeline_parallel"));
    const long experts = model_.at("transformer").value("experts", 0L);
    if (experts == 0) return;
    strategy_["expert_parallel"] = std::min(ep, experts);
    if (ep > 1) read_dispatch();
    if (tp == 1) return;
    if (reading_.notes("whole experts")) {
      strategy_["expert_tensor_parallel"] = 1;
      return;
    }
    reading_.unstated("expert_tensor_parallel");
    const bool by_recipe =
        holds(lower_case(row_.text("framework")), "megatron-core") && keeps_experts_whole(row_.text("model"));
    if (by_recipe || (ranks % ep != 0 && tp * ranks % ep == 0)) strategy_["expert_tensor_parallel"] = 1;
  }

  /// Layers of each stage, or chunk of an interleaved one, that words on recomputation name, "full block 4 layers";
  /// nothing where they count none, or as many as there are ("full, 20 layers", "full (20/80 layers)"). Megatron's
  /// block method counts so; its uniform method recomputes every layer, and its number is how many are kept together
  /// (megatron/core/transformer/transformer_block.py). Of the whole model's layers each stage has its share.
  [[nodiscard]] std::optional<long> recomputed_layers(const std::string& stated) const {
    if (holds(stated, "uniform")) return std::nullopt;
    const bool block = holds(stated, "block");
    std::optional<long> some = number_after(stated, block ? "block" : ",");
    if (!some) some = number_before_layers(stated);
    if (!some) return std::nullopt;
    const long chunks = degree("pipeline_parallel") * degree("virtual_pipeline");
    const long each = block || *some == 0
                          ? *some
                          : std::max(1L, std::lround(static_cast<double>(*some) / static_cast<double>(chunks)));
    return each < (layers() + chunks - 1) / chunks ? std::optional(each) : std::nullopt;
  }

  void read_recompute() {
    std::string stated = stated_recomputation(row_.text("recompute"));
    if (stated.empty()) {
      reading_.unstated("recompute");
      stated = nearest_recompute_;
    }
    if (stated.empty()) {
      strategy_["recompute"] = reading_.defaults->recompute;
      reading_.out.open.recompute = reading_.defaults->recomputes_to_fit;
      return;
    }
    const bool experts = model_.at("transformer").value("experts", 0L) > 0;
    const std::optional<long> some = recomputed_layers(stated);
    if (stated == "none" || some == 0) {  // "full, 0 layers" recomputes nothing
      strategy_["recompute"] = "none";
      return;
    }
    if (stated.find("full") == 0) {
      strategy_["recompute"] = "full";
    } else if (stated.find("minimal") == 0) {
      // MaxText keeps the projections' results, with "context" also attention's, and computes the rest again.
      set_modules(holds(stated, "context") ? std::vector<std::string>{"norm"}
                                           : std::vector<std::string>{"attention_core", "norm"});
    } else if (stated.find("custom") == 0 || stated.find("qkv") == 0) {
      // MaxText recipes that name tensors keep (or offload) the attention projections and compute the MLP again.
      set_modules({"attention_core", "norm", "mlp"});
      if (experts) strategy_["recompute_modules"].push_back("moe");
    } else if (stated.find("selective") == 0 || stated.find("per-op selective") == 0) {
      // A framework whose own way goes by operator means that by the word.
      const bool by_operator = holds(stated, "per-op") || reading_.defaults->recompute == "per-operator";
      strategy_["recompute"] = by_operator ? "per-operator" : "selective";
    } else {
      read_modules(stated, experts);
    }
    if (some && strategy_["recompute"] != "none") strategy_["recompute_layers"] = *some;
  }

  void set_modules(const std::vector<std::string>& modules) {
    strategy_["recompute"] = "modules";
    strategy_["recompute_modules"] = modules;
  }

  /// Megatron-Core's module names (recompute_modules); those that no module here stands for are small.
  void read_modules(const std::string& stated, bool experts) {
    struct Name {
      std::string_view theirs, ours;
      bool of_experts = false;
    };
    constexpr std::array kNames{Name{"core_attn", "attention_core"}, Name{"layernorm", "norm"}, Name{"mlp", "mlp"},
                                Name{"moe", "moe", true}};
    std::vector<std::string> modules;
    for (const Name& name : kNames)
      if (holds(stated, name.theirs) && !(name.of_experts && (!experts || holds(stated, "moe_act"))))
        modules.emplace_back(name.ours);
    const bool small = holds(stated, "moe_act") || holds(stated, "mla_up_proj");
    if (modules.empty() && !small)
      return reading_.refuse(not_understood("recompute", stated, {"none", "selective", "full", "yes", "no"}));
    strategy_["recompute"] = "none";
    if (!modules.empty()) set_modules(modules);
  }

  void read_sharding() {
    std::string stated = lower_case(row_.text("zero_or_fsdp"));
    if (holds(stated, "optimizer on cpu")) strategy_["offload_optimizer"] = true;
    if (stated.empty()) {
      reading_.unstated("sharding");
      stated = lower_case(nearest_sharding_);
      if (stated.empty() && reading_.defaults->sharding == "fsdp") stated = "fsdp";
      if (stated.empty()) return;
    }
    const std::string_view sharding = offered_sharding(stated_sharding(stated), profile());
    if (sharding == "fsdp" || sharding == "hsdp") return read_fsdp(stated);
    if (sharding.empty())
      return reading_.refuse(not_understood("zero_or_fsdp", row_.text("zero_or_fsdp"), sharding_choices()));
    strategy_["sharding"] = sharding;
    if (sharding != "zero-1") return;
    if (const std::optional<long> ranks = number_after(stated, "within")) strategy_["hsdp_shard_size"] = *ranks;
  }

  /// "fsdp 128 x dp", "fsdp 8 in node, dp across", "fsdp in slice, dp across": parameters lie over a part of the ranks.
  void read_fsdp(const std::string& stated) {
    // What is not gathered again for the backward pass is held whole, and under a pipeline kept over micro-batches.
    if (holds(stated, "not resharded")) {
      strategy_["sharding"] = degree("pipeline_parallel") > 1 ? "zero-1" : "zero-2";
      return;
    }
    const long tp = degree("tensor_parallel");
    const long ranks = reading_.gpus / std::max(1L, tp * degree("pipeline_parallel"));
    std::optional<long> size = number_after(stated, "fsdp ");
    if (!size && is_hybrid_shard(stated)) size = std::max(1L, row_.whole("gpus_per_node").value_or(ranks) / tp);
    // Over the data-centre network slices are replicas of each other in every recipe.
    const bool sliced = reading_.slices > 1 || holds(stated, "slice");
    const long group = sliced ? std::max(1L, ranks / reading_.slices) : size.value_or(ranks);
    const bool parts = sliced || is_hybrid_shard(stated) || holds(stated, "hsdp") || holds(stated, "dp across") ||
                       holds(stated, "x dp");
    if (!parts || group >= ranks) {
      const bool unsized = parts && !sliced && !size;
      strategy_["sharding"] = unsized ? "hsdp" : "fsdp";
      reading_.out.open.shard_group = unsized;
      return;
    }
    strategy_["sharding"] = "hsdp";
    strategy_["hsdp_shard_size"] = group;
  }

  PublishedRow& reading_;
  const CsvRow& row_;
  const Json& model_;
  long batch_;
  Json strategy_;
  std::string nearest_sharding_;   ///< of the row whose mapping was taken
  std::string nearest_recompute_;  ///< the same, where its micro-batch was taken too
};

}  // namespace

Json published_strategy(PublishedRow& reading, const Json& model, long global_batch) {
  return Mapping(reading, model, global_batch).read();
}

}  // namespace stepcast
