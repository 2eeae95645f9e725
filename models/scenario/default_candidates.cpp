#include "models/scenario/default_candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <tuple>

#include "models/scenario/draft.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// A decoder's batch in tokens, from so many parameters on.
struct BatchOfSize {
  double parameters, tokens;
};
// GPT-3 (Brown et al. 2020, table 2.1): 0.5 M tokens at 0.125 to 0.76 G parameters, 1 M at 1.3 and 2.7 G. Llama 2
// (Touvron et al. 2023, table 1): 4 M at 7 to 70 G, where GPT-3 had 2 M at 6.7 (counted: 6.66) and 13 G and 3.2 M at
// 175 G. Llama 3 405B began with 4 M (Grattafiori et al. 2024, section 3.4.1).
constexpr std::array kBatches{BatchOfSize{0, 1 << 19}, BatchOfSize{1.3e9, 1 << 20}, BatchOfSize{6.6e9, 1 << 22}};
// Llama 3 405B went from 4 M to 16 M tokens a step (Grattafiori et al. 2024, section 3.4.1).
constexpr double kMostOverRule = 4;
/// Parameters from which on a framework for large models is worth its trouble.
constexpr double kLargeModel = 1e9;
// Encoders: 256 sequences of 512 tokens (Devlin et al. 2019) for the whole cluster, but at least a small batch a
// device; diffusion transformers: 256 latents (Peebles & Xie 2022, section 4), alike.
constexpr long kEncoderBatch = 256;
constexpr long kLeastSamplesPerDevice = 8;
// CNNs: linear scaling with a constant batch a device (Goyal et al. 2017: 32 on a P100; today's parts need more to be
// busy).
constexpr long kImagesPerAccelerator = 64;
constexpr long kImagesPerProcessor = 32;
constexpr long kMostSequencesAtOnce = 8;  // beyond it a layer's products are long enough on every part known
/// By which a batch may grow so that replicas can take more than one sample at once.
constexpr double kRoundedUp = 1.1;
constexpr int kMostTensorParallel = 8;
constexpr int kShortestPart = 4096;  // of a sequence: NVIDIA's recipe of Llama 3.1 405B halves its 8,192 tokens

using Candidates = std::vector<DefaultCandidate>;

/// How a replica is cut.
struct Cut {
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;
};

std::string framework_for(const DefaultQuestion& q, Spread spread) {
  return default_framework(q.accelerator != nullptr ? q.accelerator->vendor : std::string(), spread);
}

/// Whether models are cut at all where nobody says how: they are shared out in shards where the usual framework has no
/// pipelines (JAX).
bool cuts_models(const DefaultQuestion& q) {
  Diagnostics ignored("");
  return find_framework(framework_for(q, Spread::cut), "", ignored)->pipeline_parallel;
}

bool mixes_experts(const DefaultQuestion& q) { return q.model->is_transformer() && q.model->transformer->experts > 0; }

/// Whether norms and residuals of so many tensor ranks are cut by tokens.
bool by_tokens(const DefaultQuestion& q, int tensor) {
  if (tensor == 1) return false;
  const long target = std::lround(q.model->transformer->target_tokens(q.seq_len));
  return q.seq_len % tensor == 0 && target % tensor == 0;
}

/// Whether tensor ranks hold whole experts: cut ones need every rank's tokens and are smaller products.
bool whole_experts(const DefaultQuestion& q, int tensor) { return by_tokens(q, tensor) && mixes_experts(q); }

long round_up(double wanted, long unit) {
  return std::max(1L, static_cast<long>(std::ceil(wanted / static_cast<double>(unit)))) * unit;
}

/// Whether the batch is no larger than with micro-batches of one sample: more at once is no reason for another
/// training.
bool keeps_batch(const DefaultQuestion& q, DefaultCandidate candidate) {
  if (q.states_batch()) return true;  // or the rules of scenarios refuse it
  const long own = standard_batch(q, candidate);
  candidate.micro_batch = 1;
  return own == standard_batch(q, candidate);
}

/// One candidate for every recomputation and number of samples at once. Blocks of transformers recompute, nothing else
/// does; of images as many at once as there is room for.
void add_each(Candidates& out, const DefaultQuestion& q, DefaultCandidate one) {
  if (!q.model->is_transformer()) {
    const bool processors = !q.node->has_accelerators();
    for (one.micro_batch = processors ? kImagesPerProcessor : kImagesPerAccelerator; one.micro_batch >= 1;
         one.micro_batch /= 2)
      out.push_back(one);
    return;
  }
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
    for (one.micro_batch = 1; one.micro_batch <= kMostSequencesAtOnce; one.micro_batch *= 2) {
      one.recompute = recompute;
      if (keeps_batch(q, one)) out.push_back(one);
    }
}

/// The model whole on every device: replicated.
Candidates replicated(const DefaultQuestion& q) {
  Candidates out;
  add_each(out, q, {.framework = framework_for(q, Spread::replicated)});
  return out;
}

/// The model gathered layer by layer from all devices, or from those of a node.
Candidates sharded(const DefaultQuestion& q) {
  Candidates out;
  const std::string framework = framework_for(q, Spread::sharded);
  add_each(out, q, {.framework = framework, .sharding = Sharding::fsdp});
  if (q.nodes > 1 && q.node->devices() > 1) add_each(out, q, {.framework = framework, .sharding = Sharding::hsdp});
  return out;
}

/// Degrees of tensor parallelism inside a node.
std::vector<int> tensor_degrees(const DefaultQuestion& q) {
  std::vector<int> out;
  for (int tensor = 1; tensor <= std::min(kMostTensorParallel, q.node->devices()); tensor *= 2) {
    if (q.model->transformer->common_heads() % tensor != 0 || q.node->devices() % tensor != 0) break;
    out.push_back(tensor);
  }
  return out;
}

/// Lengths of pipelines of so many tensor ranks.
std::vector<int> pipeline_lengths(const DefaultQuestion& q, int tensor) {
  std::vector<int> out;
  const int groups = q.devices() / tensor;
  for (int pipeline = 1; pipeline <= std::min(q.model->transformer->layers, groups); ++pipeline)
    if (groups % pipeline == 0) out.push_back(pipeline);
  return out;
}

std::vector<Cut> cuts_of_dense(const DefaultQuestion& q) {
  std::vector<Cut> out;
  for (const int tensor : tensor_degrees(q))
    for (const int pipeline : pipeline_lengths(q, tensor)) out.push_back({tensor, pipeline});
  std::stable_sort(out.begin(), out.end(), [](const Cut& a, const Cut& b) { return a.pipeline < b.pipeline; });
  return out;
}

/// As many of so many replicas as divide the experts, at most so many.
int widest_split(int experts, int replicas, int most) {
  int out = std::min({experts, replicas, most});
  while (experts % out != 0 || replicas % out != 0) --out;
  return out;
}

/// Experts over as many devices of a node as divide them, for their tokens then stay in it, with ever longer pipelines;
/// the same over more nodes; tensor parallelism, with whole experts where it can, behind each of them.
std::vector<Cut> cuts_of_experts(const DefaultQuestion& q) {
  const TransformerShape& shape = *q.model->transformer;
  std::vector<Cut> out;
  for (const int tensor : tensor_degrees(q)) {
    const int groups = q.devices() / tensor;
    const int over = whole_experts(q, tensor) ? tensor : 1;  // of the tensor ranks, that share the experts out
    for (int most = q.node->devices() / tensor * over;; most *= 2) {
      for (const int pipeline : pipeline_lengths(q, tensor)) {
        const int expert = widest_split(shape.experts, groups / pipeline * over, most);
        const bool known = std::any_of(out.begin(), out.end(), [&](const Cut& cut) {
          return cut.tensor == tensor && cut.pipeline == pipeline && cut.expert == expert;
        });
        if (!known) out.push_back({tensor, pipeline, expert});
      }
      if (most >= shape.experts) break;
    }
  }
  return out;
}

Candidates cut(const DefaultQuestion& q) {
  Candidates out;
  for (const Cut& each : mixes_experts(q) ? cuts_of_experts(q) : cuts_of_dense(q))
    add_each(out, q,
             {.framework = framework_for(q, Spread::cut),
              .tensor = each.tensor,
              .pipeline = each.pipeline,
              .expert = each.expert});
  return out;
}

/// Devices share sequences out: in parts of `shortest` tokens or more.
Candidates cut_by_context(const DefaultQuestion& q, int shortest) {
  Candidates out;
  for (int context = 2; context <= q.devices() && q.seq_len % (2 * context) == 0 && q.seq_len / context >= shortest;
       context *= 2)
    for (DefaultCandidate candidate : cut(q)) {
      candidate.context = context;
      out.push_back(std::move(candidate));
    }
  return out;
}

Candidates joined(std::initializer_list<Candidates> lists) {
  Candidates out;
  for (const Candidates& list : lists) std::copy(list.begin(), list.end(), std::back_inserter(out));
  return out;
}

}  // namespace

bool DefaultCandidate::spreads_as(const DefaultCandidate& other) const {
  const auto spread = [](const DefaultCandidate& c) {
    return std::tie(c.framework, c.sharding, c.tensor, c.pipeline, c.expert, c.context);
  };
  return spread(*this) == spread(other);
}

namespace {

/// Sequences of a decoder's step by the rule.
double sequences_of_rule(const DefaultQuestion& q) {
  const double parameters = parameter_count(*q.model);
  const auto larger = std::find_if(kBatches.begin(), kBatches.end(),
                                   [&](const BatchOfSize& one) { return one.parameters > parameters; });
  const double tokens = std::prev(larger)->tokens;
  return tokens / std::max(1, q.seq_len);
}

}  // namespace

std::optional<long> largest_batch(const DefaultQuestion& q) {
  if (q.states_batch() || q.model->family != ModelFamily::decoder) return std::nullopt;
  return std::max(1L, std::lround(kMostOverRule * sequences_of_rule(q)));
}

long standard_batch(const DefaultQuestion& q, const DefaultCandidate& candidate) {
  const long replicas = q.devices() / (static_cast<long>(candidate.tensor) * candidate.pipeline * candidate.context);
  // A pipeline is kept busy by four micro-batches a stage or more.
  const long samples = replicas * (candidate.pipeline > 1 ? 4L * candidate.pipeline : 1);
  const Model& model = *q.model;
  if (!model.is_transformer()) return candidate.micro_batch * samples;
  const double rule = model.family == ModelFamily::decoder
                          ? sequences_of_rule(q)
                          : static_cast<double>(std::max(kEncoderBatch, kLeastSamplesPerDevice * q.devices()));
  const auto most = kRoundedUp * static_cast<double>(round_up(rule, samples));
  long at_once = kMostSequencesAtOnce;
  while (at_once > candidate.micro_batch && static_cast<double>(round_up(rule, at_once * samples)) > most) at_once /= 2;
  return round_up(rule, std::max(at_once, candidate.micro_batch) * samples);
}

namespace {

/// What a strategy states under a key, where it is a degree that cuts so many.
int stated_degree(const Json& stated, const char* key, int own, int most) {
  const auto at = stated.find(key);
  if (at == stated.end() || !at->is_number_integer()) return own;
  const auto degree = at->get<std::int64_t>();
  return degree >= 1 && degree <= most ? static_cast<int>(degree) : own;
}

}  // namespace

std::optional<DefaultCandidate> as_stated(const DefaultQuestion& q, DefaultCandidate candidate) {
  if (q.stated.is_null()) return candidate;
  if (q.model->is_transformer()) {
    candidate.tensor = stated_degree(q.stated, "tensor_parallel", candidate.tensor, q.devices());
    candidate.pipeline = stated_degree(q.stated, "pipeline_parallel", candidate.pipeline, q.model->transformer->layers);
    candidate.context = stated_degree(q.stated, "context_parallel", candidate.context, q.devices());
  }
  candidate.micro_batch = stated_degree(q.stated, "micro_batch", static_cast<int>(candidate.micro_batch), 1 << 20);
  const long cut = static_cast<long>(candidate.tensor) * candidate.pipeline * candidate.context;
  if (q.devices() % cut != 0) return std::nullopt;
  return candidate;
}

Json strategy_of(const DefaultQuestion& q, const DefaultCandidate& candidate) {
  Json strategy{{"framework", candidate.framework}};
  if (candidate.tensor > 1) {
    strategy["tensor_parallel"] = candidate.tensor;
    strategy["sequence_parallel"] = by_tokens(q, candidate.tensor);
  }
  if (candidate.pipeline > 1) {
    strategy["pipeline_parallel"] = candidate.pipeline;
    const TransformerShape& shape = *q.model->transformer;
    if (shape.layers % candidate.pipeline != 0)
      strategy["stage_layers"] = balanced_stages(shape.layers, candidate.pipeline, shape.mtp_layers);
  }
  if (candidate.context > 1) strategy["context_parallel"] = candidate.context;
  if (candidate.expert > 1) strategy["expert_parallel"] = candidate.expert;
  if (whole_experts(q, candidate.tensor)) strategy["expert_tensor_parallel"] = 1;
  strategy["micro_batch"] = candidate.micro_batch;
  if (candidate.recompute != Recompute::none) strategy["recompute"] = name_of(candidate.recompute);
  if (candidate.sharding) strategy["sharding"] = name_of(*candidate.sharding);
  if (!q.stated.is_null()) strategy.update(q.stated);
  return strategy;
}

std::vector<std::vector<DefaultCandidate>> default_candidates(const DefaultQuestion& q) {
  if (!q.model->is_transformer() || q.accelerator == nullptr || q.devices() == 1) return {replicated(q)};
  std::vector<Candidates> out;
  const bool large = parameter_count(*q.model) >= kLargeModel || mixes_experts(q);
  if (!cuts_models(q)) {
    out = {joined({replicated(q), sharded(q)})};
  } else if (large) {
    out = {joined({replicated(q), sharded(q), cut(q), cut_by_context(q, kShortestPart)})};
  } else {
    // Nobody cuts what PyTorch holds as it is.
    out = {joined({replicated(q), sharded(q)}), cut(q)};
  }
  // Where nothing else fits a stated sequence.
  if (q.states_length() && cuts_models(q)) out.push_back(cut_by_context(q, 1));
  return out;
}

}  // namespace stepcast
