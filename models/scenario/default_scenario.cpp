#include "models/scenario/default_scenario.hpp"

#include <algorithm>
#include <cmath>

#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/draft.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

// A decoder's batch in tokens grows with the model: GPT-3's table (Brown et al. 2020, table 2.1) has 0.5 M tokens up to
// 1.3 G parameters, 1 M at 2.7 G, 2 M at 6.7 to 13 G and 3.2 M at 175 G; Llama 2 and 3 take 4 M at 7 to 70 G.
constexpr double kLargeModel = 1e9;
constexpr double kLargeBatchTokens = 4 * (1 << 20);
constexpr double kSmallBatchTokens = 1 << 19;
// Encoders: 256 sequences of 512 tokens (Devlin et al. 2019) for the whole cluster, but at least a small batch a
// device.
constexpr long kEncoderBatch = 256;
constexpr long kLeastSamplesPerDevice = 8;
// CNNs: linear scaling with a constant batch a device (Goyal et al. 2017: 32 on a P100; today's parts need more to be
// busy).
constexpr long kImagesPerAccelerator = 64;
constexpr long kImagesPerProcessor = 32;
constexpr long kMostSequencesAtOnce = 8;  // beyond it a layer's products are long enough on every part known
constexpr int kMostTensorParallel = 8;
// Gathered for every layer and micro-batch, parameters should be small beside what a device holds.
constexpr double kShardedParametersShare = 0.25;
constexpr double kBytesPerParameter = 2;

/// A strategy to try, from least communication to most.
struct Candidate {
  std::string framework{};
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;
  int context = 1;
  long micro_batch = 1;
  Recompute recompute = Recompute::none;
  std::optional<Sharding> sharding{};
};

/// What `--model M --node N --nodes K` is about, or a scenario that lacks a strategy.
struct Question {
  std::string model_id;
  Json described;  ///< the model, where no preset has it
  const Node* node = nullptr;
  const Accelerator* accelerator = nullptr;
  std::shared_ptr<const Model> model;
  int nodes = 1;
  int seq_len = 0;
  Json rest;  ///< the scenario that a strategy is chosen for; null: nothing but the above is said
  [[nodiscard]] int devices() const { return nodes * node->devices(); }
};

/// Whether norms and residuals of so many tensor ranks are cut by tokens.
bool by_tokens(const Question& q, int tensor) {
  if (tensor == 1) return false;
  const long target = std::lround(q.model->transformer->target_tokens(q.seq_len));
  return q.seq_len % tensor == 0 && target % tensor == 0;
}

/// Whether tensor ranks hold whole experts: cut ones need every rank's tokens and are smaller products.
bool whole_experts(const Question& q, int tensor) { return by_tokens(q, tensor) && q.model->transformer->experts > 0; }

long round_up(double wanted, long unit) {
  return std::max(1L, static_cast<long>(std::ceil(wanted / static_cast<double>(unit)))) * unit;
}

/// A whole number of samples a replica at least, near the rule's batch.
long standard_batch(const Question& q, const Candidate& candidate) {
  const long replicas = q.devices() / (static_cast<long>(candidate.tensor) * candidate.pipeline * candidate.context);
  // A pipeline is kept busy by four micro-batches a stage or more.
  const long least = candidate.micro_batch * replicas * (candidate.pipeline > 1 ? 4L * candidate.pipeline : 1);
  const Model& model = *q.model;
  if (!model.is_transformer()) return least;
  if (model.family == ModelFamily::encoder)
    return round_up(static_cast<double>(std::max(kEncoderBatch, kLeastSamplesPerDevice * q.devices())), least);
  const double tokens = parameter_count(model) >= kLargeModel ? kLargeBatchTokens : kSmallBatchTokens;
  return round_up(tokens / std::max(1, q.seq_len), least);
}

Json strategy_of(const Question& q, const Candidate& candidate) {
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
  return strategy;
}

/// The scenario that lacks a strategy with this one; its batch is chosen only where it has none.
Json completed(const Question& q, const Candidate& candidate) {
  Json out = q.rest;
  out["strategy"] = strategy_of(q, candidate);
  if (!out["workload"].contains("global_batch")) out["workload"]["global_batch"] = standard_batch(q, candidate);
  return out;
}

Json document_of(const Question& q, const Candidate& candidate) {
  if (!q.rest.is_null()) return completed(q, candidate);
  return {{"format_version", kScenarioFormatVersion},
          {"description",
           "Default: the strategy with the least communication that fits memory, by the rules of "
           "docs/formats/scenario.md"},
          {"name", fmt::format("{} on {} × {}", q.model_id, q.nodes, q.node->id)},
          {"cluster", {{"node", q.node->id}, {"nodes", q.nodes}}},
          {"workload",
           {{"model", q.described.is_null() ? Json(q.model_id) : q.described},
            {"global_batch", standard_batch(q, candidate)}}},
          {"strategy", strategy_of(q, candidate)}};
}

/// The scenario of a candidate, if it is legal.
std::optional<Scenario> resolved(const Question& q, const Candidate& candidate, const Catalog& catalog) {
  try {
    return resolve(document_of(q, candidate), "default scenario", {}, catalog);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

MemoryReport memory_of_candidate(const Scenario& scenario) { return memory_of(lower(scenario)); }

bool on_tpu(const Question& q) { return q.accelerator != nullptr && q.accelerator->vendor == "Google"; }

std::string plainest(const Question& q) {
  return default_framework(q.accelerator != nullptr ? q.accelerator->vendor : std::string());
}

/// PyTorch's other frameworks, where it runs at all; else the maker's own.
std::string beside_pytorch(const Question& q, const char* other) {
  const std::string own = plainest(q);
  return own == "pytorch-ddp" ? other : own;
}

/// The model whole on every device: replicated, or with `sharded` split over the data-parallel ranks. Fewer samples at
/// once before recomputation.
std::vector<Candidate> uncut(const Question& q, bool sharded) {
  const bool processors = !q.node->has_accelerators();
  Candidate one{.framework = sharded ? beside_pytorch(q, "pytorch-fsdp") : plainest(q)};
  if (sharded) one.sharding = Sharding::fsdp;
  const long most = q.model->is_transformer() ? kMostSequencesAtOnce
                    : processors              ? kImagesPerProcessor
                                              : kImagesPerAccelerator;
  std::vector<Candidate> out;
  // Blocks of transformers recompute, nothing else does.
  std::vector<Recompute> recomputes{Recompute::none};
  if (q.model->is_transformer()) recomputes.push_back(Recompute::full);
  for (const Recompute recompute : recomputes)
    for (one.micro_batch = most; one.micro_batch >= 1; one.micro_batch /= 2) {
      one.recompute = recompute;
      out.push_back(one);
    }
  return out;
}

/// How a replica is cut.
struct Cut {
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;
};

/// Tensor parallelism inside a node, then the widest of it with ever longer pipelines.
std::vector<Cut> cuts_of_dense(const Question& q) {
  const TransformerShape& shape = *q.model->transformer;
  std::vector<Cut> out;
  int widest = 1;
  for (int tensor = 2; tensor <= std::min(kMostTensorParallel, q.node->devices()); tensor *= 2) {
    if (shape.heads % tensor != 0 || q.node->devices() % tensor != 0) break;
    out.push_back({tensor});
    widest = tensor;
  }
  const int groups = q.devices() / widest;
  for (int pipeline = 2; pipeline <= std::min(shape.layers, groups); ++pipeline)
    if (groups % pipeline == 0) out.push_back({widest, pipeline});
  return out;
}

/// As many of so many replicas as divide the experts, at most so many.
int widest_split(int experts, int replicas, int most) {
  int out = std::min({experts, replicas, most});
  while (experts % out != 0 || replicas % out != 0) --out;
  return out;
}

/// Experts over as many devices of a node as divide them, for their tokens then stay in it, with ever longer pipelines;
/// the same over more nodes; tensor parallelism, with whole experts where it can, for what still does not fit. Cuts of
/// one list are alike in what they send.
std::vector<std::vector<Cut>> cuts_of_experts(const Question& q) {
  const TransformerShape& shape = *q.model->transformer;
  std::vector<std::vector<Cut>> out;
  for (int tensor = 1; tensor <= std::min(kMostTensorParallel, q.node->devices()); tensor *= 2) {
    if (shape.heads % tensor != 0 || q.node->devices() % tensor != 0) break;
    const int groups = q.devices() / tensor;
    const int over = whole_experts(q, tensor) ? tensor : 1;  // of the tensor ranks, that share the experts out
    for (int most = q.node->devices() / tensor * over;; most *= 2) {
      std::vector<Cut>& alike = out.emplace_back();
      for (int pipeline = 1; pipeline <= std::min(shape.layers, groups); ++pipeline)
        if (groups % pipeline == 0)
          alike.push_back({tensor, pipeline, widest_split(shape.experts, groups / pipeline * over, most)});
      if (most >= shape.experts) break;
    }
  }
  return out;
}

/// Full recomputation last: it repeats a third of the work, while a pipeline with four micro-batches a stage idles for
/// less than a quarter. All to all between nodes, and tensor parallelism of small layers, cost more than that.
std::vector<Candidate> cut(const Question& q) {
  std::vector<std::vector<Cut>> cuts{cuts_of_dense(q)};
  if (q.model->transformer->experts > 0) cuts = cuts_of_experts(q);
  std::vector<Candidate> out;
  for (const std::vector<Cut>& alike : cuts) {
    const auto add = [&](Recompute recompute, const Cut& cut) {
      out.push_back({.framework = beside_pytorch(q, "megatron-lm"),
                     .tensor = cut.tensor,
                     .pipeline = cut.pipeline,
                     .expert = cut.expert,
                     .recompute = recompute});
    };
    for (const Cut& each : alike)
      for (const Recompute recompute : {Recompute::none, Recompute::selective}) add(recompute, each);
    for (const Cut& each : alike) add(Recompute::full, each);
  }
  return out;
}

/// Where nothing else fits a stated sequence, devices share it out.
std::vector<Candidate> cut_by_context(const Question& q) {
  std::vector<Candidate> out;
  for (int context = 2; context <= q.devices() && q.seq_len % (2 * context) == 0; context *= 2)
    for (Candidate candidate : cut(q)) {
      candidate.context = context;
      out.push_back(std::move(candidate));
    }
  return out;
}

/// From least communication to most. Sharding comes before cutting for models that are small beside a device.
std::vector<Candidate> candidates(const Question& q) {
  std::vector<Candidate> out = uncut(q, false);
  const auto append = [&](const std::vector<Candidate>& more) { out.insert(out.end(), more.begin(), more.end()); };
  if (!q.model->is_transformer() || q.accelerator == nullptr || q.devices() == 1) return out;
  const std::vector<Candidate> sharded = uncut(q, true);
  const bool small = kBytesPerParameter * parameter_count(*q.model) <=
                     kShardedParametersShare * q.accelerator->usable_memory().value();
  if (small) append(sharded);
  if (!on_tpu(q)) append(cut(q));
  if (!small) append(sharded);
  if (!q.rest.is_null() && !on_tpu(q)) append(cut_by_context(q));
  return out;
}

Question question(const std::string& model, const Json& described, const std::string& node, int nodes,
                  const Catalog& catalog) {
  Diagnostics diagnostics("default scenario");
  Question q;
  q.model_id = model;
  q.described = described;
  q.nodes = nodes;
  if (nodes < 1) diagnostics.error("/cluster/nodes", fmt::format("found {}, expected at least 1", nodes));
  q.node = catalog.find<Node>(node, "/cluster/node", diagnostics);
  if (q.node != nullptr && q.node->has_accelerators())
    q.accelerator = catalog.find<Accelerator>(q.node->accelerator, "/cluster/node", diagnostics);
  if (described.is_null()) {
    q.model = find_model(model, "/workload/model", diagnostics);
  } else {
    auto read = std::make_shared<Model>();
    Model::fields().read(*read, described, "/workload/model", diagnostics);
    if (diagnostics.ok()) check_model(*read, "/workload/model", diagnostics);
    q.model = std::move(read);
  }
  diagnostics.throw_if_faulty();
  q.seq_len = q.model->default_seq_len;
  return q;
}

/// What a scenario says of model and servers; the rest of it is heeded by whoever resolves the candidates.
Question question_of(const Json& scenario, const Catalog& catalog) {
  const auto at = [&](const char* pointer) {
    const Json::json_pointer place(pointer);
    return scenario.contains(place) ? scenario.at(place) : Json(nullptr);
  };
  const Json model = at("/workload/model"), node = at("/cluster/node"), nodes = at("/cluster/nodes"),
             seq_len = at("/workload/seq_len");
  Diagnostics diagnostics("scenario");
  if (!model.is_string() && !model.is_object()) diagnostics.error("/workload/model", "no model is chosen");
  if (!node.is_string()) diagnostics.error("/cluster/node", "no server is chosen");
  if (!nodes.is_null() && !nodes.is_number_integer()) diagnostics.error("/cluster/nodes", "expected a whole number");
  diagnostics.throw_if_faulty();
  Question q =
      question(model.is_string() ? model.get<std::string>() : "model", model.is_object() ? model : Json(nullptr),
               node.get<std::string>(), nodes.is_null() ? 1 : nodes.get<int>(), catalog);
  if (seq_len.is_number_integer() && seq_len.get<int>() > 0) q.seq_len = seq_len.get<int>();
  q.rest = scenario;
  return q;
}

/// The first candidate that fits memory, or the smallest of those that do not; neither: none is legal.
struct Choice {
  std::optional<Json> fitting;
  std::optional<Scenario> smallest;
  Bytes over;  ///< what the smallest lacks on its fullest device, or beside it
};

Choice choose(const Question& q, const Catalog& catalog) {
  Choice out;
  Bytes least;
  for (const Candidate& candidate : candidates(q)) {
    std::optional<Scenario> scenario = resolved(q, candidate, catalog);
    if (!scenario) continue;
    const MemoryReport memory = memory_of_candidate(*scenario);
    if (memory.fits) {
      out.fitting = document_of(q, candidate);
      return out;
    }
    const Bytes need = memory.stages.at(static_cast<std::size_t>(memory.worst_stage)).total();
    if (!out.smallest || need < least) {
      out.smallest = std::move(scenario);
      out.over = std::max(memory.over_device(), memory.over_host());
      least = need;
    }
  }
  return out;
}

/// Where no candidate is legal, the plainest one says why.
Scenario plainest_of(const Question& q, const Catalog& catalog) {
  return resolve(document_of(q, uncut(q, false).front()), "default scenario", {}, catalog);
}

Json default_of(const Question& q, const Catalog& catalog) {
  Choice choice = choose(q, catalog);
  if (choice.fitting) return std::move(*choice.fitting);
  // Nothing fits: the smallest is shown, and its report says by how much it does not.
  return to_json(choice.smallest ? *choice.smallest : plainest_of(q, catalog));
}

}  // namespace

Json default_scenario(const std::string& model, const std::string& node, int nodes, const Catalog& catalog) {
  return default_of(question(model, nullptr, node, nodes, catalog), catalog);
}

Json default_scenario_of(const Json& model, const std::string& node, int nodes, const Catalog& catalog) {
  const std::string name = model.is_object() ? model.value("id", std::string("model")) : "model";
  return default_of(question(name, model, node, nodes, catalog), catalog);
}

Json with_default_strategy(const Json& scenario, const Catalog& catalog) {
  const Question q = question_of(scenario, catalog);
  Choice choice = choose(q, catalog);
  if (choice.fitting) return std::move(*choice.fitting);
  if (!choice.smallest) (void)plainest_of(q, catalog);
  throw InputError({{"scenario", "/strategy",
                     fmt::format("no strategy that the rules try fits memory: the nearest lacks {:.1f} GiB on a device",
                                 choice.over.in(1_GiB)),
                     "more servers, shorter sequences, or a smaller model"}});
}

}  // namespace stepcast
