#include <algorithm>
#include <numeric>

#include "models/scenario/draft.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// The output layer and each prediction further ahead, a block and the output layer once more, weigh as much as one
/// layer and two: so NVIDIA's recipes lay DeepSeek-V3 out, 61 layers as 15 times 4 and 1, as 7 times 8 and 5, or as 1
/// with the embedding, 30 times 2 and none (Megatron Bridge, src/megatron/bridge/recipes/deepseek).
std::vector<int> stages_before_predictions(int layers, int chunks, int predictions) {
  const int behind = 1 + 2 * predictions;
  const int last = std::max(0, (layers + behind) / chunks - behind);
  const int before = chunks - 1, odd = (layers - last) % before;
  std::vector<int> out(static_cast<std::size_t>(chunks), (layers - last) / before);
  for (int i = before - odd; i < before; ++i) ++out[static_cast<std::size_t>(i)];
  out.back() = last;
  return out;
}

}  // namespace

std::vector<int> balanced_stages(int layers, int chunks, int predictions) {
  if (predictions > 0 && chunks > 1) return stages_before_predictions(layers, chunks, predictions);
  if ((layers + 2) % chunks == 0 && (layers + 2) / chunks > 1 && chunks > 1) {
    std::vector<int> out(static_cast<std::size_t>(chunks), (layers + 2) / chunks);
    --out.front();
    --out.back();
    return out;
  }
  std::vector<int> out(static_cast<std::size_t>(chunks), layers / chunks);
  int odd = layers % chunks;
  for (int i = 1; i + 1 < chunks && odd > 0; ++i, --odd) ++out[i];
  for (int i = 0; i < chunks && odd > 0; i += chunks - 1, --odd) ++out[i];
  return out;
}

namespace {

/// `[27, 27, 26]`, or in words when there are many.
std::string shown(const std::vector<int>& layers) {
  constexpr std::size_t kMostShown = 16;
  if (layers.size() <= kMostShown) return fmt::format("[{}]", fmt::join(layers, ", "));
  const auto [low, high] = std::minmax_element(layers.begin(), layers.end());
  const auto many = std::count(layers.begin(), layers.end(), *high);
  return fmt::format("{} entries: {} times {}, else {}", layers.size(), many, *high, *low);
}

std::string balanced(const Draft& draft, int layers, int chunks) {
  return shown(balanced_stages(layers, chunks, draft.scenario.model->transformer->mtp_layers));
}

/// The last stage's activations need no repeating only where it is one of several, and something is repeated.
void check_last_stage(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  const char* pointer = "/strategy/recompute_last_stage";
  if (strategy.recompute_last_stage || !draft.sound({pointer})) return;
  if (strategy.pipeline_parallel == 1)
    draft.fault(pointer, "found false, but pipeline_parallel is 1: the last stage is the only one",
                "recompute_last_stage true, or recompute \"none\"");
  else if (strategy.recompute == Recompute::none)
    draft.fault(pointer, "found false, but nothing is recomputed", "leave recompute_last_stage out");
}

/// Layers of a chunk that recompute are some of those that it has.
void check_recomputed_layers(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  const char* pointer = "/strategy/recompute_layers";
  if (!strategy.recompute_layers || !draft.sound({pointer, "/strategy/stage_layers"})) return;
  const int found = *strategy.recompute_layers;
  if (strategy.recompute == Recompute::none)
    return draft.fault(pointer, fmt::format("found {}, but nothing is recomputed", found),
                       "leave recompute_layers out, or recompute \"full\"");
  const std::vector<int>& chunks = draft.scenario.stage_layers;
  const int most = chunks.empty() ? found : *std::max_element(chunks.begin(), chunks.end());
  if (found > most)
    draft.fault(pointer, fmt::format("found {}, but no stage or chunk has more than {} layers", found, most),
                fmt::format("1 to {}, or leave recompute_layers out: all", most));
}

/// Whether a framework's pipelines run so.
bool runs_schedule(const FrameworkProfile& framework, PipelineSchedule schedule) {
  const std::vector<std::string>& own = framework.schedules;
  return own.empty() || std::find(own.begin(), own.end(), name_of(schedule)) != own.end();
}

void check_schedule(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  Scenario& s = draft.scenario;
  const bool chunks = strategy.virtual_pipeline > 1;
  const auto standard = chunks ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
  s.schedule = strategy.schedule.value_or(standard);
  if (!strategy.schedule && strategy.pipeline_parallel > 1)
    draft.assume(fmt::format("pipeline schedule {}", name_of(s.schedule)));
  const bool interleaved = s.schedule == PipelineSchedule::interleaved;
  if (s.framework && strategy.pipeline_parallel > 1 && !runs_schedule(*s.framework, s.schedule))
    return draft.fault(
        strategy.schedule ? "/strategy/schedule" : "/strategy/virtual_pipeline",
        fmt::format("found {}, but pipelines of {} run {}", name_of(s.schedule), s.framework->id,
                    fmt::join(s.framework->schedules, ", ")),
        offered_by([&](const FrameworkProfile& f) { return f.pipeline_parallel && runs_schedule(f, s.schedule); }));
  if (chunks && strategy.pipeline_parallel == 1)
    return draft.fault(
        "/strategy/virtual_pipeline",
        fmt::format("found {}, but pipeline_parallel is 1: there is nothing to interleave", strategy.virtual_pipeline),
        "virtual_pipeline 1");
  // An order of stages changes what one stage does, too: when its gradients are made, and what it keeps until then.
  if (strategy.pipeline_parallel == 1 && !interleaved && s.schedule != PipelineSchedule::one_f_one_b)
    return draft.fault(
        "/strategy/schedule",
        fmt::format("found {}, but pipeline_parallel is 1: there are no stages to order", name_of(s.schedule)),
        "schedule \"1f1b\", or leave it out");
  if (chunks && !interleaved)
    return draft.fault("/strategy/schedule",
                       fmt::format("{} runs one chunk of layers a stage, and virtual_pipeline is {}",
                                   name_of(s.schedule), strategy.virtual_pipeline),
                       "schedule \"interleaved-1f1b\", or virtual_pipeline 1");
  if (interleaved && !chunks) {
    const int layers = s.model && s.model->is_transformer() ? s.model->transformer->layers : 0;
    const int stages = strategy.pipeline_parallel;
    const std::string near =
        nearest_valid(1, std::max(1, layers / stages), [&](long v) { return layers % (v * stages) == 0; });
    draft.fault("/strategy/virtual_pipeline",
                "found 1, but interleaved-1f1b needs more than one chunk of layers a stage",
                near.empty() ? "schedule \"1f1b\"" : near);
  }
}

void check_stage_layers(Draft& draft, const std::vector<int>& given, int layers, int chunks) {
  const long sum = std::accumulate(given.begin(), given.end(), 0L);
  if (static_cast<int>(given.size()) != chunks)
    return draft.fault(
        "/strategy/stage_layers",
        fmt::format("found {} entries, expected pipeline_parallel ({}) × virtual_pipeline ({}) = {}", given.size(),
                    draft.spec().strategy.pipeline_parallel, draft.spec().strategy.virtual_pipeline, chunks),
        layers >= chunks ? "balanced: " + balanced(draft, layers, chunks) : std::string{});
  if (sum != layers)
    return draft.fault(
        "/strategy/stage_layers",
        fmt::format("the entries sum to {}, but {} has {} layers", sum, draft.scenario.model->id, layers),
        layers >= chunks ? "balanced: " + balanced(draft, layers, chunks) : std::string{});
  draft.scenario.stage_layers = given;
}

/// The nearest degree that divides the layers beside a fixed one, under its key; empty when there is none.
std::string nearest_split(const char* key, int degree, int fixed, int layers) {
  const std::string nearest =
      nearest_valid(degree, std::max(1, layers / fixed), [&](long n) { return layers % (n * fixed) == 0; });
  return nearest.empty() ? nearest : fmt::format("{}, {}", key, nearest);
}

void split_evenly(Draft& draft, int layers, int chunks) {
  const StrategySpec& strategy = draft.spec().strategy;
  const std::string product = strategy.virtual_pipeline > 1
                                  ? fmt::format("pipeline_parallel ({}) × virtual_pipeline ({}) = {}",
                                                strategy.pipeline_parallel, strategy.virtual_pipeline, chunks)
                                  : fmt::format("pipeline_parallel ({})", chunks);
  const int pipeline = strategy.pipeline_parallel, interleaved = strategy.virtual_pipeline;
  const char* key = interleaved > 1 ? "virtual_pipeline" : "pipeline_parallel";
  std::string near = interleaved > 1 ? nearest_split(key, interleaved, pipeline, layers) : std::string{};
  if (near.empty()) near = nearest_split("pipeline_parallel", pipeline, interleaved, layers);
  if (chunks > layers)
    return draft.fault(fmt::format("/strategy/{}", key),
                       fmt::format("{} is more than the {} layers of {}", product, layers, draft.scenario.model->id),
                       near);
  if (layers % chunks == 0) {
    draft.scenario.stage_layers.assign(static_cast<std::size_t>(chunks), layers / chunks);
    return;
  }
  draft.fault(
      fmt::format("/strategy/{}", key),
      fmt::format("{} does not divide the {} layers of {}: an uneven pipeline must say which stage has how many",
                  product, layers, draft.scenario.model->id),
      fmt::format("stage_layers {}{}", balanced(draft, layers, chunks), near.empty() ? near : "; or " + near));
}

}  // namespace

void resolve_pipeline(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  if (!draft.sound({"/strategy/pipeline_parallel", "/strategy/virtual_pipeline", "/strategy/schedule"})) return;
  Scenario& s = draft.scenario;
  s.degrees.vpp = strategy.virtual_pipeline;
  check_last_stage(draft);
  check_schedule(draft);
  if (!s.model || !draft.sound({"/strategy/stage_layers"})) return;
  const long wanted = static_cast<long>(strategy.pipeline_parallel) * strategy.virtual_pipeline;
  const int chunks = static_cast<int>(std::min(wanted, 1L << 30));
  const int layers = layer_count(*s.model);
  if (strategy.stage_layers) {
    check_stage_layers(draft, *strategy.stage_layers, layers, chunks);
  } else if (s.model->is_transformer() || chunks == 1) {
    split_evenly(draft, layers, chunks);
  }
  check_recomputed_layers(draft);
}

namespace {

/// Samples of a micro-batch when none is named.
long standard_micro_batch(Draft& draft, long share) {
  const Degrees& d = draft.scenario.degrees;
  const bool cut = d.tp * d.pp * d.cp > 1;
  draft.assume(cut ? "micro-batch 1 (the model is cut over devices)"
                   : fmt::format("micro-batch {} (a replica's whole share of the batch, no accumulation)", share));
  return cut ? 1 : share;
}

std::string nearest_batch(long wanted, long unit) {
  const long below = wanted / unit * unit;
  const long above = below + unit;
  if (below == 0) return fmt::format("nearest valid: {}", above);
  if (wanted - below == above - wanted) return fmt::format("nearest valid: {} or {}", below, above);
  return fmt::format("nearest valid: {}", wanted - below < above - wanted ? below : above);
}

/// The simulation plays every forward and backward pass of every chunk. Two million take some 10 s and 1 GB (measured
/// 2026-11: 0.46 million in 1.7 s and 0.2 GB, 9.2 million in 53 s and 3.3 GB) and are ten times the longest steps
/// known.
constexpr long kMostPasses = 2'000'000;

void check_passes(Draft& draft) {
  if (draft.spec().run.fidelity != Fidelity::simulated || !draft.sound({"/run/fidelity"})) return;
  const Degrees& d = draft.scenario.degrees;
  const long chunks = static_cast<long>(d.pp) * d.vpp;
  const long most = std::max(1L, kMostPasses / 2 / chunks);
  if (d.micro_batches <= most) return;
  draft.fault("/workload/global_batch",
              fmt::format("{} makes {} micro-batches of {} for each replica, and a simulation of {} takes at most {}",
                          draft.spec().workload.global_batch, d.micro_batches, d.micro_batch,
                          chunks == 1 ? "the whole model" : fmt::format("{} chunks of layers", chunks), most),
              "a larger micro_batch, a smaller global_batch, or run.fidelity \"analytic\"");
}

void check_interleaving(Draft& draft) {
  const Degrees& d = draft.scenario.degrees;
  // Narayanan et al. 2021 run micro-batches in groups of pp; Megatron-LM asserts it.
  if (draft.scenario.schedule != PipelineSchedule::interleaved || d.pp <= 1 || d.micro_batches % d.pp == 0) return;
  const long unit = d.micro_batch * d.dp * d.pp;
  draft.fault("/workload/global_batch",
              fmt::format("{} makes {} micro-batches, and interleaved-1f1b needs a multiple of pipeline_parallel ({})",
                          draft.spec().workload.global_batch, d.micro_batches, d.pp),
              nearest_batch(draft.spec().workload.global_batch, unit));
}

}  // namespace

void resolve_batch(Draft& draft) {
  if (!draft.degrees_known || !draft.sound({"/workload/global_batch", "/strategy/micro_batch"})) return;
  Degrees& d = draft.scenario.degrees;
  const long batch = draft.spec().workload.global_batch;
  const auto& wanted = draft.spec().strategy.micro_batch;
  const long unit = static_cast<long>(wanted.value_or(1)) * d.dp;
  if (batch % unit != 0) {
    const std::string product = wanted ? fmt::format("micro_batch ({}) × data_parallel ({}) = {}", *wanted, d.dp, unit)
                                       : fmt::format("the {} data-parallel replicas", d.dp);
    std::string near = nearest_batch(batch, unit);
    if (wanted && batch % d.dp == 0) {
      const long share = batch / d.dp;
      near +=
          fmt::format("; or micro_batch, {}", nearest_valid(*wanted, share, [&](long m) { return share % m == 0; }));
    }
    return draft.fault("/workload/global_batch", fmt::format("{} is not a multiple of {}", batch, product), near);
  }
  d.micro_batch = wanted ? *wanted : standard_micro_batch(draft, batch / d.dp);
  d.micro_batches = batch / (d.micro_batch * d.dp);
  draft.batch_known = true;
  check_passes(draft);
  check_interleaving(draft);
}

}  // namespace stepcast
