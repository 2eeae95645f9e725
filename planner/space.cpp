#include "planner/space.hpp"

#include <algorithm>
#include <set>

#include "models/scenario/dispatchers.hpp"
#include "models/scenario/draft.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// Where the question leaves context parallelism open, sequences are cut no shorter than this: below it attention is a
/// small share of a layer, and what context ranks exchange is not (docs/models/planner.md).
constexpr int kShortestLocalSequence = 2048;

template <class T>
std::vector<T> chosen(const Choices<T>& choices, std::vector<T> standard) {
  return choices.open() ? std::move(standard) : choices.values;
}

bool even(int layers, int chunks) { return layers % chunks == 0; }

/// Whether layers take more of earlier ones than the hidden state, which stages do not hand on.
bool is_one_stage(const TransformerShape& shape) {
  return shape.encoder_layers > 0 || shape.hidden_groups > 0 || shape.shared_kv_layers > 0 ||
         shape.per_layer_embedding > 0;
}

}  // namespace

std::vector<long> divisors(long number) {
  std::vector<long> low, high;
  for (long d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d != number / d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

Space::Space(const PlanQuestionSpec& question, const Scenario& shared)
    : question_(question),
      shared_(shared),
      shape_(shared.model->transformer ? &*shared.model->transformer : nullptr),
      devices_(shared.devices()),
      per_node_(shared.devices_per_node()),
      layers_(layer_count(*shared.model)),
      fixed_(shared.spec.strategy) {}

/// The rules of models/scenario/degrees.cpp, which have the last word.
bool Space::tensor_degree(int tp) const {
  if (devices_ % tp != 0 || (per_node_ % tp != 0 && tp % per_node_ != 0)) return false;
  if (shape_ == nullptr || shape_->compressed_attention) return tp == 1;
  const bool mixes = shape_->has_half('M');
  for (const int width : {shape_->common_heads(), shape_->hidden, shape_->ffn_hidden, shape_->shared_expert_ffn,
                          mixes ? shape_->ssm_heads : 0, mixes ? shape_->ssm_groups : 0,
                          shape_->linear_attention ? shape_->linear_attention->key_heads : 0})
    if (width > 0 && width % tp != 0) return false;
  return shape_->kv() == shape_->heads || shape_->kv() % tp == 0 || tp % shape_->kv() == 0;
}

std::vector<int> Space::tensor_degrees(Tally& tally) const {
  std::vector<int> wanted = question_.strategy.tensor_parallel.values;
  if (wanted.empty()) {
    // Devices decide what can be tried, the model what of it is legal.
    const int most = shape_ == nullptr || !shared_.framework->tensor_parallel ? 1 : shape_->heads;
    for (const long d : divisors(devices_))
      if (d <= most) wanted.push_back(static_cast<int>(d));
  }
  std::vector<int> out;
  for (const int tp : wanted) {
    if (tensor_degree(tp)) {
      out.push_back(tp);
    } else {
      tally.reject(Rejection::devices_do_not_divide);
    }
  }
  return out;
}

std::vector<int> Space::context_degrees(int tp) const {
  if (!question_.strategy.context_parallel.open()) return question_.strategy.context_parallel.values;
  std::vector<int> out{1};
  if (shape_ == nullptr || shape_->encoder_layers > 0 || shape_->shared_kv_layers > 0 ||
      !shared_.framework->context_parallel)
    return out;
  for (int cp = 2; shared_.seq_len / cp >= kShortestLocalSequence && devices_ % (tp * cp) == 0; cp *= 2)
    if (shape_->deals_out_mixers(static_cast<long>(tp) * cp)) out.push_back(cp);
  return out;
}

std::vector<int> Space::expert_degrees(int ranks, Tally& tally) const {
  const bool routed = shape_ != nullptr && shape_->experts > 0;
  std::vector<int> out;
  for (const int ep : question_.strategy.expert_parallel.values) {
    if (routed || ep == 1) {
      out.push_back(ep);
    } else {
      tally.reject(Rejection::no_experts);
    }
  }
  if (!question_.strategy.expert_parallel.open()) return out;
  out = {1};
  if (!routed || !shared_.framework->expert_parallel) return out;
  for (const long ep : divisors(shape_->experts))
    if (ep > 1 && ranks % ep == 0) out.push_back(static_cast<int>(ep));
  return out;
}

/// Ranks that hold whole experts route their own tokens, which differ with sequence parallelism alone.
std::vector<int> Space::expert_tensor_degrees(int tp, bool sequence, Tally& tally) const {
  std::vector<int> wanted = question_.strategy.expert_tensor_parallel.values;
  const bool routed = shape_ != nullptr && shape_->experts > 0;
  if (wanted.empty()) wanted = routed && sequence ? std::vector{tp, 1} : std::vector{tp};
  std::vector<int> out;
  for (const int etp : wanted) {
    const bool whole = etp == 1 && tp > 1;
    const bool legal = routed ? (whole ? sequence : etp == tp && shape_->moe_ffn_hidden % tp == 0)
                              : question_.strategy.expert_tensor_parallel.open();
    if (legal) {
      out.push_back(etp);
    } else {
      tally.reject(Rejection::devices_do_not_divide);
    }
  }
  return out;
}

/// Where every device has all experts nothing is sent, and one way is as good as another.
std::vector<ExpertDispatch> Space::dispatches(int ep, int ranks) const {
  const std::vector<ExpertDispatch>& wanted = question_.strategy.expert_dispatch.values;
  if (ep == 1) return {wanted.empty() ? ExpertDispatch::all_to_all : wanted.front()};
  if (!wanted.empty()) return wanted;
  std::vector<ExpertDispatch> out;
  for (const std::string& name : shared_.framework->expert_dispatches)
    if (const auto dispatch = parse_enum<ExpertDispatch>(name);
        dispatch && dispatch_runs_on(*dispatch, shared_.accelerator) && dispatch_takes(*dispatch, ranks, *shared_.node))
      out.push_back(*dispatch);
  return out;
}

std::vector<int> Space::pipeline_degrees(int rest, Tally& tally) const {
  std::vector<int> wanted = question_.strategy.pipeline_parallel.values;
  if (wanted.empty()) {
    const bool whole = shape_ == nullptr || is_one_stage(*shape_) || !shared_.framework->pipeline_parallel;
    const int most = whole ? 1 : layers_;
    for (const long d : divisors(rest))
      if (d <= most) wanted.push_back(static_cast<int>(d));
  }
  std::vector<int> out;
  for (const int pp : wanted) {
    if (rest % pp == 0 && pp <= layers_ && (question_.strategy.uneven_stages || even(layers_, pp))) {
      out.push_back(pp);
    } else {
      tally.reject(Rejection::devices_do_not_divide);
    }
  }
  return out;
}

/// Chunks a stage where layers do not divide evenly: as many as divide a stage's whole layers (as Calculon does).
std::vector<int> Space::virtual_degrees(int pp) const {
  const int most = layers_ / pp;
  std::vector<int> out;
  if (!question_.strategy.virtual_pipeline.open()) {
    for (const int v : question_.strategy.virtual_pipeline.values)
      if (v <= most && (question_.strategy.uneven_stages || even(layers_, pp * v))) out.push_back(v);
    return out;
  }
  for (const long v : divisors(most))
    if (question_.strategy.uneven_stages || even(layers_, static_cast<int>(pp * v))) out.push_back(static_cast<int>(v));
  return out;
}

long Space::batch_for(long unit) const {
  const PlanWorkload& w = question_.workload;
  const long batch = w.training.global_batch / unit * unit;
  return batch > 0 && batch >= w.least_global_batch.value_or(w.training.global_batch) ? batch : 0;
}

/// All sizes that divide some replica's share of a batch.
std::vector<long> Space::micro_batches(int tp, int cp) const {
  if (!question_.strategy.micro_batch.open()) return question_.strategy.micro_batch.values;
  Tally ignored;
  std::set<long> out;
  const int rest = devices_ / (tp * cp);
  for (const int pp : pipeline_degrees(rest, ignored))
    if (const long batch = batch_for(rest / pp); batch > 0)
      for (const long size : divisors(batch / (rest / pp))) out.insert(size);
  return {out.begin(), out.end()};
}

std::vector<Sharding> Space::shardings(int replicas, int pp) const {
  std::vector<Sharding> offered;
  for (const std::string& name : shared_.framework->shardings)
    if (const auto sharding = parse_enum<Sharding>(name)) offered.push_back(*sharding);
  if (!question_.strategy.sharding.open()) return question_.strategy.sharding.values;
  // With nobody to share with, all are the same.
  if (replicas == 1 && !offered.empty()) return {offered.front()};
  if (pp > 1)
    std::erase_if(offered, [&](Sharding sharding) { return !shards_in_pipelines(*shared_.framework, sharding); });
  return offered;
}

/// States that stay on the device lie nowhere else.
std::vector<Offload> Space::offloads() const {
  const PlanStrategy& s = question_.strategy;
  std::vector<Offload> out;
  for (const bool offload : chosen(s.offload_optimizer, {false}))
    for (const OffloadDevice device :
         offload ? chosen(s.offload_optimizer_device, {OffloadDevice::host}) : std::vector{OffloadDevice::host})
      out.push_back({offload, device});
  return out;
}

std::vector<Block> Space::blocks(std::size_t family, Tally& tally) const {
  const PlanStrategy& s = question_.strategy;
  const std::vector<Recompute> recomputes =
      chosen(s.recompute, shape_ != nullptr ? std::vector{Recompute::none, Recompute::selective, Recompute::full}
                                            : std::vector{Recompute::none});
  std::vector<Block> out;
  for (const int tp : tensor_degrees(tally))
    for (const int cp : context_degrees(tp)) {
      if (devices_ % (tp * cp) != 0) {
        tally.reject(Rejection::devices_do_not_divide);
        continue;
      }
      const std::vector<long> sizes = micro_batches(tp, cp);
      if (sizes.empty()) tally.reject(Rejection::batch_does_not_divide);
      for (const bool sequence : chosen(s.sequence_parallel, {false, true})) {
        if (sequence && tp == 1) continue;
        for (const int etp : expert_tensor_degrees(tp, sequence, tally))
          for (const int ep : expert_degrees(devices_ / etp, tally))
            for (const ExpertDispatch dispatch : dispatches(ep, ep * etp))
              for (const auto& [offload, device] : offloads())
                for (const Recompute recompute : recomputes)
                  for (const long size : sizes)
                    out.push_back({family, tp, cp, ep, etp, dispatch, size, recompute, sequence, offload, device});
      }
    }
  return out;
}

/// Those that are asked for; else those of 1F1B that the framework runs.
std::vector<PipelineSchedule> Space::schedules() const {
  std::vector<PipelineSchedule> usual{PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved};
  const std::vector<std::string>& own = shared_.framework->schedules;
  if (!own.empty())
    std::erase_if(usual,
                  [&](PipelineSchedule s) { return std::find(own.begin(), own.end(), name_of(s)) == own.end(); });
  return chosen(question_.strategy.schedule, usual);
}

void Space::add_schedules(std::vector<Option>& out, Option option, int dp, Tally& tally) const {
  const std::vector<PipelineSchedule> schedules = this->schedules();
  const bool plain_only = option.pp == 1;
  for (const int vpp : plain_only ? std::vector{1} : virtual_degrees(option.pp))
    for (const PipelineSchedule schedule : plain_only ? std::vector{PipelineSchedule::one_f_one_b} : schedules) {
      const bool interleaved = schedule == PipelineSchedule::interleaved;
      if (interleaved != (vpp > 1)) continue;
      option.vpp = vpp;
      option.schedule = schedule;
      // Interleaving runs micro-batches in groups of as many as there are stages.
      option.batch = batch_for(option.micro_batch * dp * (interleaved ? option.pp : 1));
      if (option.batch == 0) {
        tally.reject(Rejection::batch_does_not_divide);
        continue;
      }
      for (const Sharding sharding : shardings(dp * option.cp, option.pp)) {
        option.sharding = sharding;
        out.push_back(option);
      }
    }
}

std::vector<Option> Space::options(const Block& block, Tally& tally) const {
  std::vector<Option> out;
  const int rest = devices_ / (block.tp * block.cp);
  for (const int pp : pipeline_degrees(rest, tally)) {
    const int dp = rest / pp;
    if (block.tp / block.etp * dp * block.cp % block.ep != 0) {
      tally.reject(Rejection::devices_do_not_divide);
      continue;
    }
    Option option;
    option.tp = block.tp;
    option.cp = block.cp;
    option.ep = block.ep;
    option.etp = block.etp;
    option.dispatch = block.dispatch;
    option.pp = pp;
    option.micro_batch = block.micro_batch;
    option.recompute = block.recompute;
    option.sequence_parallel = block.sequence_parallel;
    option.offload_optimizer = block.offload_optimizer;
    option.offload_device = block.offload_device;
    add_schedules(out, option, dp, tally);
  }
  return out;
}

StrategySpec Space::strategy(const Option& option) const {
  StrategySpec out = fixed_;
  out.tensor_parallel = option.tp;
  out.context_parallel = option.cp;
  out.expert_parallel = option.ep;
  if (option.etp < option.tp) out.expert_tensor_parallel = option.etp;
  if (option.ep > 1) out.expert_dispatch = option.dispatch;
  out.pipeline_parallel = option.pp;
  out.virtual_pipeline = option.vpp;
  out.micro_batch = static_cast<int>(option.micro_batch);
  out.schedule = option.schedule;
  out.recompute = option.recompute;
  out.sharding = option.sharding;
  out.sequence_parallel = option.sequence_parallel;
  out.offload_optimizer = option.offload_optimizer;
  out.offload_optimizer_device = option.offload_device;
  if (option.recompute == Recompute::modules) out.recompute_modules = question_.strategy.recompute_modules;
  const int chunks = option.pp * option.vpp;
  if (shape_ != nullptr && !even(layers_, chunks))
    out.stage_layers = balanced_stages(layers_, chunks, shape_->mtp_layers);
  return out;
}

}  // namespace stepcast
