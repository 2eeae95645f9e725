#include <algorithm>
#include <array>
#include <utility>

#include "models/compute/device.hpp"
#include "models/scenario/actor_spec.hpp"
#include "models/scenario/draft.hpp"
#include "models/scenario/helper_kinds.hpp"
#include "models/workload/key_values.hpp"

namespace stepcast {

namespace {

constexpr double kMostSamplesPerSecond = 1e9;
/// Share of a device's memory that inference servers fill with weights and keys and values (vLLM's
/// gpu_memory_utilization).
constexpr double kServedMemory = 0.9;

/// The scenario of one generated token for every concurrent sequence, on the actors' nodes alone.
ScenarioSpec token_spec(const Draft& draft, const ActorSpec& actors, const Node& node) {
  ScenarioSpec spec = draft.spec();
  if (node.id != spec.cluster.node) leave_to_catalogue(spec.cluster.cost);
  spec.cluster.node = node.id;
  spec.cluster.nodes = actors.nodes;
  spec.cluster.fabric = FabricSpec{};
  spec.cluster.conditions.clear();
  spec.cluster.other_nodes.clear();
  spec.cluster.power_cap.reset();
  spec.cluster.clock_MHz.reset();
  spec.cluster.local_raid.reset();
  spec.run.phases.clear();
  spec.strategy = StrategySpec{};
  // An inference engine cuts a model as training does.
  if (node.has_accelerators() && actors.tensor_parallel > 1)
    if (const auto* accelerator = draft.catalog.find<Accelerator>(node.accelerator))
      spec.strategy.framework = default_framework(accelerator->vendor, Spread::cut);
  spec.strategy.tensor_parallel = actors.tensor_parallel;
  const long copies = static_cast<long>(actors.nodes) * node.devices() / actors.tensor_parallel;
  spec.workload.global_batch = std::max(1L, copies) * actors.concurrent;
  spec.strategy.micro_batch = actors.concurrent;
  if (draft.transformer() != nullptr) spec.workload.seq_len = 1;
  spec.workload.adapter_rank = 0;
  spec.workload.document_len = 0;
  // With a stated rate nothing is computed in the learners' format, which may be none of the actors' devices.
  if (actors.samples_per_s) spec.workload.precision.reset();
  return spec;
}

/// The framework as an inference engine. A token's kernels are replayed as one graph, experts' among them: their
/// kernels take each expert's rows from device memory, so the host need not know them (vLLM and SGLang, fused MoE
/// kernels).
FrameworkProfile engine_of(FrameworkProfile framework) {
  framework.cuda_graphs = true;
  framework.host_per_layer_forward = framework.host_per_peer = Seconds(0);
  framework.data_parallel_overhead = 0;
  return framework;
}

/// Where the values of the actors stand that a token's scenario is made of; what else is wrong with it is of them all.
constexpr std::array kActorPointers{std::pair{"/cluster/nodes", "/strategy/actors/nodes"},
                                    std::pair{"/cluster/node", "/strategy/actors/node"},
                                    std::pair{"/strategy/tensor_parallel", "/strategy/actors/tensor_parallel"},
                                    std::pair{"/strategy/micro_batch", "/strategy/actors/concurrent"},
                                    std::pair{"/workload/global_batch", "/strategy/actors/concurrent"}};

/// A fault of a token's scenario is one of the actors, whom the user knows it by.
void take_over(Draft& draft, const Fault& fault, const Scenario& token) {
  if (fault.pointer == "/workload/precision")
    return draft.fault("/strategy/actors/node",
                       fmt::format("found {}, whose devices do not compute in {}, in which the learners train and "
                                   "actors generate",
                                   token.node->id, name_of(*token.spec.workload.precision)),
                       "a node whose devices do, or state samples_per_s as measured");
  if (fault.pointer == "/cluster/cost/basis")
    return draft.fault("/strategy/actors/node", fault.message, "a node that has one, or leave /cluster/cost/basis out");
  const auto* const known = std::find_if(kActorPointers.begin(), kActorPointers.end(),
                                         [&](const auto& pair) { return fault.pointer == pair.first; });
  draft.fault(known != kActorPointers.end() ? known->second : "/strategy/actors", fault.message, fault.suggestion);
}

/// Weights and the keys and values of all concurrent sequences have to fit.
void check_memory(Draft& draft, const ActorSpec& actors, const Scenario& token) {
  if (token.accelerator == nullptr || !token.model->is_transformer()) return;
  const double element = element_bytes(token.precision);
  const double weights = parameter_count(*token.model) * element;
  const double each = key_value_bytes(*token.model->transformer, element) * draft.scenario.seq_len;
  const double room = kServedMemory * token.accelerator->memory.value() * actors.tensor_parallel - weights;
  if (each * actors.concurrent <= room) return;
  const auto most = static_cast<long>(std::max(0.0, room / each));
  draft.fault(
      "/strategy/actors/concurrent",
      fmt::format("found {}: weights of {:.0f} GB and {:.2f} GB of keys and values for each sequence do not fit "
                  "into {} {} of {:.0f} GB",
                  actors.concurrent, weights / 1e9, each / 1e9, actors.tensor_parallel, token.accelerator->id,
                  token.accelerator->memory.in(1_GB)),
      most > 0 ? fmt::format("at most {}", most) : "more tensor_parallel");
}

void check_amounts(Draft& draft, const ActorSpec& actors) {
  const std::string at = "/strategy/actors";
  if (actors.samples_per_s) {
    if (actors.tensor_parallel > 1 || actors.prompt_tokens > 0 || actors.max_tokens > 0)
      draft.fault(at + "/samples_per_s", "found beside how the model generates",
                  "keep it, or tensor_parallel, prompt_tokens and max_tokens");
    return;
  }
  // Token by token, as decoders do: encoders and diffusion transformers write no sequence.
  if (draft.scenario.model == nullptr || draft.scenario.model->family != ModelFamily::decoder) {
    if (draft.scenario.model)
      draft.fault(at + "/samples_per_s",
                  fmt::format("missing: how fast {}, {}, generates samples is not modelled", draft.scenario.model->id,
                              kind_in_words(*draft.scenario.model)),
                  "state what one node generates");
    return;
  }
  if (draft.scenario.seq_len > 0 && actors.prompt_tokens >= draft.scenario.seq_len)
    draft.fault(at + "/prompt_tokens",
                fmt::format("found {}, and sequences have {} tokens", actors.prompt_tokens, draft.scenario.seq_len),
                fmt::format("at most {}", draft.scenario.seq_len - 1));
  if (actors.max_tokens > 0 && actors.max_tokens <= actors.prompt_tokens)
    draft.fault(at + "/max_tokens",
                fmt::format("found {}, and prompts have {} tokens", actors.max_tokens, actors.prompt_tokens),
                fmt::format("at least {}", actors.prompt_tokens + 1));
}

}  // namespace

const FieldTable<ActorSpec>& ActorSpec::fields() {
  static const auto kTable = [] {
    using S = ActorSpec;
    FieldTable<S> t("actors", "Nodes that generate the samples that the cluster trains on");
    t.field("nodes", &S::nodes, "How many, beside cluster.nodes", {.required = true, .min = 1, .max = 1e6})
        .field("node", &S::node, "Catalogue id of their node; default: the learners' kind", {.refers_to = "nodes"})
        .field(
            "samples_per_s", &S::samples_per_s,
            "What one node generates with all its concurrent samples under way, as measured; each goes on at its own "
            "pace, so that fewer generate less; default: computed from the language model that generates",
            {.min = 0, .max = kMostSamplesPerSecond, .above_min = true})
        .field("tensor_parallel", &S::tensor_parallel, "Devices of one copy of the model", {.min = 1, .max = 1024})
        .field("concurrent", &S::concurrent,
               "Sequences that a copy generates at once at most; with fewer under way each is faster. With "
               "samples_per_s: samples of a node at that rate",
               {.min = 1, .max = 1e6})
        .field("prompt_tokens", &S::prompt_tokens, "Tokens of a sequence that are given; the rest is generated",
               {.min = 0, .max = 1e8})
        .field("staleness_bound", &S::staleness_bound,
               "Steps that the weights of a sample may be behind when it is learned; 0: generate, then learn",
               {.min = 0, .max = 1e6})
        .field("length_spread", &S::length_spread, "Standard deviation of the logarithm of a sample's time",
               {.min = 0, .max = 3})
        .field("max_tokens", &S::max_tokens,
               "Tokens of a sequence, its prompt included, at which it is cut off; default: never",
               {.min = 0, .max = 1e8})
        .field(
            "interruptible", &S::interruptible,
            "Sequences under way go on with new weights as soon as these arrive, their keys and values computed anew");
    return t;
  }();
  return kTable;
}

void resolve_actors(Draft& draft) {
  const auto& actors = draft.spec().strategy.actors;
  if (!actors || !draft.sound({"/strategy/actors"}) || !draft.cluster_known() || !draft.scenario.model) return;
  const std::string at = "/strategy/actors";
  if (draft.scenario.update != UpdateMode::synchronous || draft.scenario.servers)
    return draft.fault(at,
                       fmt::format("learners that generate nothing train synchronously, found update {}",
                                   name_of(draft.scenario.update)),
                       "update \"synchronous\"");
  check_amounts(draft, *actors);
  const Node* node = actors->node.empty() ? draft.scenario.node
                                          : draft.catalog.find<Node>(actors->node, at + "/node", draft.diagnostics);
  if (node == nullptr || !draft.diagnostics.faults().empty()) return;
  Diagnostics own(draft.diagnostics.file());
  Draft token(token_spec(draft, *actors, *node), draft.catalog, own);
  resolve_parts(token);
  for (const Fault& fault : own.faults()) take_over(draft, fault, token.scenario);
  if (!own.faults().empty()) return;
  if (!actors->samples_per_s) check_memory(draft, *actors, token.scenario);
  token.scenario.framework = std::make_shared<const FrameworkProfile>(engine_of(*token.scenario.framework));
  draft.scenario.actors = std::make_shared<const Scenario>(std::move(token.scenario));
}

}  // namespace stepcast
