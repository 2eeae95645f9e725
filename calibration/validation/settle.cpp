#include "calibration/validation/settle.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "models/compute/attention_time.hpp"
#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/scenario/draft.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

constexpr int kLargestMicroBatch = 64;  // beyond it a transformer's products gain nothing on any GPU
constexpr std::array kTensorDegrees{1L, 2L, 4L, 8L};
constexpr std::array kPipelineDegrees{1L, 2L, 4L, 8L, 16L, 32L};

struct Tried {
  Json strategy;
  Seconds time;
  bool fits;
  Bytes memory;
};

/// Layers of each chunk where chunks do not divide them.
void spread(Json& strategy, const Json& transformer) {
  const auto layers = transformer.at("layers").get<int>();
  strategy.erase("stage_layers");
  const long chunks = strategy.at("pipeline_parallel").get<long>() * strategy.value("virtual_pipeline", 1L);
  if (chunks > 1 && layers % chunks != 0 && layers >= chunks - 2)
    strategy["stage_layers"] = balanced_stages(layers, static_cast<int>(chunks), transformer.value("mtp_layers", 0));
}

/// A run fits where its memory comes within so much of the device's: what this memory model's errors on published peaks
/// are (docs/accuracy.md).
constexpr double kMemoryMargin = 1.15;

long devices_of(const MeasuredRun& run, const Catalog& catalog) {
  const Json& cluster = run.scenario.at("cluster");
  const Node* node = catalog.find<Node>(cluster.at("node").get<std::string>());
  return node == nullptr ? run.gpus : cluster.at("nodes").get<long>() * node->devices();
}

class Search {
 public:
  Search(const MeasuredRun& run, const Catalog& catalog)
      : run_(run),
        catalog_(catalog),
        layers_(run.scenario.at("workload").at("model").at("transformer").at("layers").get<long>()),
        batch_(run.scenario.at("workload").at("global_batch").get<long>()),
        devices_(devices_of(run, catalog)) {}

  /// The best strategy; null when every one is refused.
  std::optional<Json> best() {
    for (const Json& mapping : mappings())
      for (const Json& interleaved : chunkings(mapping))
        for (const Json& kept : recomputations(grouped(interleaved)))
          // Recomputing more only helps where it lets something fit.
          if (try_micro_batches(kept) && !run_.open.micro_batch) break;
    if (!best_) return std::nullopt;
    return best_->strategy;
  }

 private:
  const Json& written() const { return run_.scenario.at("strategy"); }

  std::vector<Json> mappings() const {
    if (!run_.open.mapping) return {written()};
    std::vector<Json> out;
    for (const long tp : kTensorDegrees)
      for (const long pp : kPipelineDegrees) {
        if (devices_ % (tp * pp) != 0 || pp > layers_) continue;
        Json strategy = written();
        strategy["tensor_parallel"] = tp;
        strategy["sequence_parallel"] = run_.open.sequence_parallel && tp > 1;
        strategy["pipeline_parallel"] = pp;
        const long cp = context_for_batch(devices_, tp, pp, 1, batch_);
        if (cp > 1 && run_.open.without_context) continue;
        strategy["context_parallel"] = cp;
        out.push_back(std::move(strategy));
      }
    return out;
  }

  /// One chunk a stage, or chunks of one or two layers: what large runs that say anything say.
  std::vector<Json> chunkings(const Json& mapping) const {
    std::vector<Json> out{mapping};
    const long pp = mapping.at("pipeline_parallel").get<long>();
    const long places = layers_ % pp == 0 ? layers_ / pp : (layers_ + 2) % pp == 0 ? (layers_ + 2) / pp : 0;
    if (run_.open.interleaving && pp > 1) {
      for (const long size : {1L, 2L}) {
        if (places % size != 0 || places / size < 2) continue;
        out.push_back(mapping);
        out.back()["virtual_pipeline"] = places / size;
      }
    }
    for (Json& strategy : out) spread(strategy, run_.scenario.at("workload").at("model").at("transformer"));
    return out;
  }

  /// Hybrid sharding over the fewest ranks that hold the model's states in half of their memory: fewer ranks exchange
  /// less, and the other half is for activations.
  Json grouped(Json strategy) const {
    if (!run_.open.shard_group) return strategy;
    const long ranks =
        devices_ / (strategy.at("tensor_parallel").get<long>() * strategy.at("pipeline_parallel").get<long>());
    for (long group = std::min(ranks, 8L); group <= ranks; group *= 2) {
      if (ranks % group != 0) break;
      strategy["hsdp_shard_size"] = group;
      if (states_fit(strategy)) break;
    }
    return strategy;
  }

  bool states_fit(const Json& strategy) const {
    Json document = run_.scenario;
    document["strategy"] = strategy;
    try {
      const Scenario scenario = resolve(std::move(document), run_.id, {}, catalog_);
      const MemoryReport memory = memory_of(lower(scenario));
      const MemoryFootprint& worst = memory.stages[static_cast<std::size_t>(memory.worst_stage)];
      return 2 * (worst.parameters + worst.gradients + worst.optimizer) <= memory.capacity;
    } catch (const InputError&) {
      return true;
    }
  }

  /// What the framework recomputes by itself, and what frees more.
  std::vector<Json> recomputations(const Json& mapping) const {
    std::vector<Json> out;
    for (const char* kind : {"none", "selective", "full"}) {
      if (out.empty() && mapping.at("recompute") != kind) continue;
      out.push_back(mapping);
      out.back()["recompute"] = kind;
    }
    if (!run_.open.recompute || out.empty()) return {mapping};
    return out;
  }

  /// Whether any fits.
  bool try_micro_batches(const Json& strategy) {
    if (!run_.open.micro_batch) return consider(strategy).value_or(false);
    bool any = false;
    for (int size = 1; size <= kLargestMicroBatch; size *= 2) {
      Json candidate = strategy;
      candidate["micro_batch"] = size;
      // What does not divide a replica's share is refused, and so is what leaves an interleaved schedule too few.
      if (!consider(std::move(candidate)).value_or(false)) break;
      any = true;
    }
    return any;
  }

  bool better(const Tried& one, const Tried& other) const {
    if (one.fits != other.fits) return one.fits;
    return one.fits || !run_.open.mapping ? one.time < other.time : one.memory < other.memory;
  }

  /// Whether it fits; null when it is refused.
  std::optional<bool> consider(Json strategy) {
    Json document = run_.scenario;
    document["strategy"] = strategy;
    try {
      const Scenario scenario = resolve(std::move(document), run_.id, {}, catalog_);
      const Job job = lower(scenario);
      const MemoryReport memory = memory_of(job);
      const Bytes total = memory.stages[static_cast<std::size_t>(memory.worst_stage)].total();
      const bool fits = total <= memory.capacity * kMemoryMargin;
      Tried tried{std::move(strategy), estimate(job).step_time, fits, total};
      if (!best_ || better(tried, *best_)) best_ = std::move(tried);
      return fits;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  const MeasuredRun& run_;
  const Catalog& catalog_;
  long layers_, batch_, devices_;
  std::optional<Tried> best_;
};

/// Under context parallelism their recipes turn to 16 bit but where heads are exchanged, and there, too, beside tensor
/// parallelism (MLPerf Training v5.0, Llama 2 70B LoRA: FP8_DPA=0 in the files of TP 4, CP 2).
bool keeps_narrow_attention(const Json& strategy) {
  if (strategy.value("context_parallel", 1) == 1) return true;
  return strategy.value("context_method", "ring") == "ulysses" && strategy.value("tensor_parallel", 1) == 1;
}

bool has_narrow_attention(const Json& cluster, const Catalog& catalog) {
  const Node* node = catalog.find<Node>(cluster.at("node").get<std::string>());
  const Accelerator* accelerator = node == nullptr ? nullptr : catalog.find<Accelerator>(node->accelerator);
  return accelerator != nullptr && narrow_attention(*accelerator, catalog.find<OperatorProfile>(accelerator->family));
}

}  // namespace

long context_for_batch(long gpus, long tensor_parallel, long pipeline_parallel, long context_parallel,
                       long global_batch) {
  const long ranks = gpus / std::max(1L, tensor_parallel * pipeline_parallel * context_parallel);
  for (long shared = 1; shared <= ranks; ++shared)
    if (ranks % shared == 0 && global_batch % (ranks / shared) == 0) return context_parallel * shared;
  return context_parallel;
}

void settle(MeasuredRun& run, const Catalog& catalog) {
  if (run.open.any())
    if (std::optional<Json> best = Search(run, catalog).best()) run.scenario["strategy"] = std::move(*best);
  if (!run.open.narrow_attention) return;
  Json& strategy = run.scenario.at("strategy");
  if (keeps_narrow_attention(strategy) && has_narrow_attention(run.scenario.at("cluster"), catalog))
    strategy["fp8_dot_product_attention"] = true;
}

std::shared_ptr<Scenario> settled_scenario(MeasuredRun& run, const Catalog& catalog) {
  if (run.scenario.is_null()) return nullptr;
  try {
    settle(run, catalog);
    return std::make_shared<Scenario>(resolve(run.scenario, run.id, {}, catalog));
  } catch (const InputError&) {
    return nullptr;
  }
}

}  // namespace stepcast
