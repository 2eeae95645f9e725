#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "models/scenario/draft.hpp"

namespace stepcast {

namespace {

/// What a degree should divide and does not, said in one breath.
class Undivided {
 public:
  explicit Undivided(long degree) : degree_(degree) {}
  Undivided& of(long whole, std::string_view what) {
    if (whole > 0 && whole % degree_ != 0) wholes_.push_back(fmt::format("the {} {}", whole, what));
    return *this;
  }
  void add_to(std::vector<std::string>& reasons) const {
    if (!wholes_.empty()) reasons.push_back("does not divide " + listed(wholes_));
  }

 private:
  long degree_;
  std::vector<std::string> wholes_;
};

/// Why a tensor-parallel degree cannot be; empty when it can. Megatron-LM asserts the same of heads, key-value groups
/// and widths (megatron/core/transformer); whole nodes keep every tensor group on the same links.
std::vector<std::string> tensor_faults(const Draft& draft, long tp) {
  std::vector<std::string> reasons;
  if (const TransformerShape* shape = draft.transformer()) {
    Undivided(tp)
        .of(shape->common_heads(), "attention heads")
        .of(shape->hidden, "columns of the hidden state")
        .of(shape->ffn_hidden, "columns of the MLP")
        .of(draft.spec().strategy.expert_tensor_parallel == 1 ? 0 : shape->moe_ffn_hidden, "columns of an expert")
        .of(shape->shared_expert_ffn, "columns of the shared expert")
        .of(shape->has_half('M') ? shape->ssm_heads : 0, "heads of a state-space layer")
        .of(shape->has_half('M') ? shape->ssm_groups : 0, "groups of a state-space layer")
        .of(shape->linear_attention ? shape->linear_attention->key_heads : 0, "key heads of linear attention")
        .add_to(reasons);
    if (shape->compressed_attention)
      reasons.emplace_back(
          "would cut compressed attention, all of whose heads share one of entries: Megatron-LM and "
          "transformers train it uncut");
    if (shape->kv() != shape->heads && shape->kv() % tp != 0 && tp % shape->kv() != 0)
      reasons.push_back(fmt::format("neither divides the {} key-value heads nor is a multiple of them", shape->kv()));
  }
  if (draft.cluster_known()) {
    const int per_node = draft.scenario.devices_per_node();
    if (per_node % tp != 0 && tp % per_node != 0)
      reasons.push_back(fmt::format("does not fit nodes of {} {} (it must divide them or fill whole nodes)", per_node,
                                    draft.device_word()));
  }
  return reasons;
}

bool check_tensor(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  const int tp = strategy.tensor_parallel;
  if (tp == 1 && strategy.sequence_parallel &&
      draft.sound({"/strategy/tensor_parallel", "/strategy/sequence_parallel"}))
    draft.fault("/strategy/sequence_parallel", "works inside a tensor-parallel group, and tensor_parallel is 1",
                "sequence_parallel false, or tensor_parallel above 1");
  if (tp == 1 || (draft.scenario.model && draft.transformer() == nullptr)) return true;
  const auto reasons = tensor_faults(draft, tp);
  if (reasons.empty()) return true;
  const long most = draft.cluster_known() ? draft.scenario.devices() : tp;
  draft.fault("/strategy/tensor_parallel", fmt::format("{} {}", tp, listed(reasons)),
              nearest_valid(tp, most, [&](long t) { return tensor_faults(draft, t).empty(); }));
  return false;
}

struct Factor {
  const char* key;
  int value;
};

/// tp × pp × cp must divide the devices; says which factor to change, and to what.
bool check_product(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  const std::array factors{Factor{"tensor_parallel", strategy.tensor_parallel},
                           Factor{"pipeline_parallel", strategy.pipeline_parallel},
                           Factor{"context_parallel", strategy.context_parallel}};
  const long devices = draft.scenario.devices();
  long product = 1;
  for (const Factor& factor : factors)
    product = std::min<long>(product * factor.value, 1L << 40);  // enough to be too many, and no overflow
  if (devices % product == 0) return true;
  std::string text;
  int cuts = 0;
  std::string pointer = "/strategy";
  for (const Factor& factor : factors) {
    if (factor.value == 1) continue;
    text += fmt::format("{}{} ({})", cuts++ > 0 ? " × " : "", factor.key, factor.value);
    pointer = fmt::format("/strategy/{}", factor.key);
  }
  // Pipelines are the easiest to change, tensor parallelism the last.
  std::string way_out;
  for (const std::size_t i : {1U, 2U, 0U}) {
    const long others = product / factors[i].value;
    if (factors[i].value == 1 || devices % others != 0) continue;
    way_out = nearest_valid(factors[i].value, devices / others, [&](long v) { return devices % (others * v) == 0; });
    way_out = fmt::format("{}, {}", factors[i].key, way_out);
    break;
  }
  draft.fault(cuts > 1 ? "/strategy" : pointer,
              fmt::format("{}{} does not divide {} {}", text, cuts > 1 ? fmt::format(" = {}", product) : "", devices,
                          draft.device_word()),
              way_out);
  return false;
}

/// Why heads of mixers and of linear attention cannot be dealt out to so many ranks; empty where they can.
std::string undealt_heads(const TransformerShape& shape, long ranks) {
  if (shape.deals_out_mixers(ranks)) return {};
  const bool mixers = shape.has_half('M');
  if (mixers && shape.ssm_heads % ranks != 0)
    return fmt::format("does not divide the {} heads of a state-space layer", shape.ssm_heads);
  if (shape.linear_attention && shape.linear_attention->key_heads % ranks != 0)
    return fmt::format("does not divide the {} key heads of linear attention", shape.linear_attention->key_heads);
  return fmt::format("neither divides the {} groups of a state-space layer nor is a multiple of them",
                     shape.ssm_groups);
}

/// Whether a query picks its keys, or may see any entry.
bool picks_keys(const TransformerShape& shape) { return shape.sparse_attention || shape.compressed_attention; }

/// Why ranks cannot each have a piece of a sequence whose tokens are pooled to entries; empty where they can. Windows
/// reach into the piece before, and no further.
std::string torn_entries(const TransformerShape& shape, long seq_len, long ranks) {
  if (!shape.compressed_attention || ranks == 1) return {};
  const auto& ratios = shape.compressed_attention->ratios;
  const long largest = ratios.empty() ? 0 : *std::max_element(ratios.begin(), ratios.end());
  if (largest > 0 && seq_len % (ranks * largest) != 0)
    return fmt::format("leaves pieces of {:g} tokens, which are no whole entries of {}",
                       static_cast<double>(seq_len) / static_cast<double>(ranks), largest);
  if (seq_len / ranks < shape.window)
    return fmt::format("leaves pieces of {} tokens, fewer than the window of {}", seq_len / ranks, shape.window);
  return {};
}

void check_context(Draft& draft) {
  Scenario& s = draft.scenario;
  const StrategySpec& strategy = draft.spec().strategy;
  const TransformerShape* shape = draft.transformer();
  const int cp = strategy.context_parallel;
  if (shape == nullptr || s.seq_len <= 0) return;
  const long ranks = static_cast<long>(cp) * strategy.tensor_parallel;
  if (const std::string undealt = undealt_heads(*shape, ranks); cp > 1 && !undealt.empty())
    return draft.fault("/strategy/context_parallel",
                       fmt::format("deals out heads: context_parallel ({}) × tensor_parallel ({}) = {} {}", cp,
                                   strategy.tensor_parallel, ranks, undealt),
                       nearest_valid(cp, std::max(shape->heads, shape->ssm_heads),
                                     [&](long c) { return shape->deals_out_mixers(c * strategy.tensor_parallel); }));
  if (cp > 1 && picks_keys(*shape) && s.context_method != ContextMethod::all_gather)
    return draft.fault("/strategy/context_method",
                       fmt::format("found {}, but a query of {} may attend to any {} before it",
                                   name_of(s.context_method), s.model->id, shape->sparse_attention ? "token" : "entry"),
                       "all-gather");
  if (const std::string torn = torn_entries(*shape, s.seq_len, cp); cp > 1 && !torn.empty())
    return draft.fault(
        "/strategy/context_parallel", fmt::format("{} {}", cp, torn),
        nearest_valid(cp, s.seq_len, [&](long c) { return torn_entries(*shape, s.seq_len, c).empty(); }));
  // Causal attention gives each rank one early and one late piece, so that all work alike (Megatron-Core, Llama 3).
  const bool halves = s.model->family == ModelFamily::decoder && s.context_method != ContextMethod::ulysses;
  const long pieces = halves && cp > 1 ? 2L * cp : cp;
  if (cp > 1 && s.seq_len % pieces != 0)
    return draft.fault(
        "/strategy/context_parallel",
        fmt::format("{} needs the sequence length ({}) to divide into {} pieces{}", cp, s.seq_len, pieces,
                    halves ? " (two a rank, to balance causal attention)" : ""),
        nearest_valid(cp, s.seq_len, [&](long c) { return s.seq_len % (halves && c > 1 ? 2 * c : c) == 0; }));
  if (cp > 1 && s.context_method == ContextMethod::ulysses && shape->common_heads() % ranks != 0)
    return draft.fault(
        "/strategy/context_parallel",
        fmt::format("ulysses deals out heads: context_parallel ({}) × tensor_parallel ({}) = {} does not "
                    "divide the {} attention heads",
                    cp, strategy.tensor_parallel, ranks, shape->common_heads()),
        nearest_valid(cp, shape->common_heads(), [&](long c) {
          return shape->common_heads() % (c * strategy.tensor_parallel) == 0 && s.seq_len % c == 0;
        }));
  const long local = s.seq_len / cp, target = std::lround(shape->target_tokens(s.seq_len)) / cp;
  for (const long tokens : {local, target}) {
    if (!strategy.sequence_parallel || tokens % strategy.tensor_parallel == 0) continue;
    return draft.fault("/strategy/sequence_parallel",
                       fmt::format("tensor_parallel ({}) does not divide the {} tokens of a rank's {}",
                                   strategy.tensor_parallel, tokens, tokens == local ? "sequence" : "target"),
                       "sequence_parallel false, or another seq_len");
  }
}

/// An encoder's result goes to every block of its decoder, so both lie on the same devices, whole.
void check_encoder(Draft& draft) {
  const TransformerShape* shape = draft.transformer();
  if (shape == nullptr || shape->encoder_layers == 0) return;
  const StrategySpec& strategy = draft.spec().strategy;
  for (const auto& [key, degree] : {std::pair{"pipeline_parallel", strategy.pipeline_parallel},
                                    std::pair{"context_parallel", strategy.context_parallel}})
    if (degree > 1)
      draft.fault(fmt::format("/strategy/{}", key),
                  fmt::format("found {}, but {} is an encoder-decoder, which has no description with it", degree,
                              draft.scenario.model->id),
                  fmt::format("{} 1", key));
  if (draft.spec().workload.adapter_rank > 0)
    draft.fault("/workload/adapter_rank",
                fmt::format("found {}, but {} is an encoder-decoder, which has no description with it",
                            draft.spec().workload.adapter_rank, draft.scenario.model->id),
                "leave adapter_rank out");
}

/// What is said of adapters, without them; and packed weights of products that need no 16-bit ones.
void check_adapters(Draft& draft) {
  const WorkloadSpec& workload = draft.spec().workload;
  const auto alone = [&](bool stated, const char* key) {
    if (stated && workload.adapter_rank == 0)
      draft.fault(fmt::format("/workload/{}", key), "is for adapters, and everything is trained without adapter_rank",
                  fmt::format("state adapter_rank, or leave {} out", key));
  };
  alone(workload.adapter_targets.has_value(), "adapter_targets");
  alone(workload.frozen_weights.has_value(), "frozen_weights");
  if (workload.frozen_weights && below_16_bit(draft.scenario.precision))
    draft.fault("/workload/frozen_weights",
                fmt::format("found {}, but weights are unpacked into 16 bit, which products in {} do not take",
                            name_of(*workload.frozen_weights), name_of(draft.scenario.precision)),
                "precision bf16");
}

/// Whole experts on tensor ranks: each routes its own tokens, so the ranks must hold different ones (Megatron-LM
/// asserts sequence parallelism for it).
void check_whole_experts(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  const int tp = strategy.tensor_parallel;
  const char* pointer = "/strategy/expert_tensor_parallel";
  if (!strategy.expert_tensor_parallel || !draft.sound({pointer, "/strategy/tensor_parallel"})) return;
  const int etp = *strategy.expert_tensor_parallel;
  const TransformerShape* shape = draft.transformer();
  if (draft.scenario.model && (shape == nullptr || shape->experts == 0))
    return draft.fault(pointer,
                       fmt::format("found {}, but {} is dense and has no experts", etp, draft.scenario.model->id),
                       "leave expert_tensor_parallel out");
  if (etp != 1 && etp != tp)
    return draft.fault(pointer, fmt::format("found {}, expected 1 (whole experts) or tensor_parallel ({})", etp, tp),
                       nearest_valid(etp, tp, [&](long e) { return e == 1 || e == tp; }));
  if (etp < tp && !strategy.sequence_parallel && draft.sound({"/strategy/sequence_parallel"}))
    draft.fault(pointer,
                fmt::format("found 1 with tensor_parallel {}, where every rank would route the same tokens", tp),
                "sequence_parallel true, or leave expert_tensor_parallel out");
}

/// At most all tokens reach one of the ranks that share experts.
void check_imbalance(Draft& draft) {
  const double imbalance = draft.spec().workload.expert_imbalance;
  const int ep = draft.spec().strategy.expert_parallel;
  const char* pointer = "/workload/expert_imbalance";
  if (imbalance <= ep || !draft.sound({pointer, "/strategy/expert_parallel"})) return;
  const TransformerShape* shape = draft.transformer();
  if (draft.scenario.model != nullptr && (shape == nullptr || shape->experts <= 0))
    return draft.fault(pointer, fmt::format("found {}, but {} has no experts", imbalance, draft.scenario.model->id),
                       "leave expert_imbalance out");
  draft.fault(pointer,
              fmt::format("found {}, expected 1 to {} (expert_parallel: all tokens on one rank)", imbalance, ep),
              ep == 1 ? "leave expert_imbalance out, or expert_parallel 2" : fmt::format("{}", ep));
}

void check_experts(Draft& draft) {
  const int ep = draft.spec().strategy.expert_parallel;
  const TransformerShape* shape = draft.transformer();
  if (ep == 1 || shape == nullptr) return;
  if (shape->experts == 0)
    return draft.fault("/strategy/expert_parallel",
                       fmt::format("found {}, but {} is dense and has no experts", ep, draft.scenario.model->id),
                       "expert_parallel 1");
  const Degrees& d = draft.scenario.degrees;
  const long ranks = d.expert_ranks();
  std::vector<std::string> reasons;
  Undivided(ep).of(shape->experts, "experts").add_to(reasons);
  if (draft.degrees_known && ranks % ep != 0)
    reasons.push_back(fmt::format("does not divide {}context_parallel ({}) × data_parallel ({}) = {}",
                                  d.etp < d.tp ? fmt::format("tensor_parallel ({}) × ", d.tp) : "", d.cp, d.dp, ranks));
  if (reasons.empty()) return;
  draft.fault("/strategy/expert_parallel", fmt::format("{} {}", ep, listed(reasons)),
              nearest_valid(ep, shape->experts, [&](long e) {
                return shape->experts % e == 0 && (!draft.degrees_known || ranks % e == 0);
              }));
}

/// Ranks of a tensor-parallel group would route the same tokens each: Megatron-Core raises.
void check_experts_in_tensor_group(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  const auto& framework = draft.scenario.framework;
  if (!framework || !framework->needs_sequence_parallel || strategy.sequence_parallel) return;
  if (strategy.tensor_parallel == 1 || strategy.expert_parallel == 1) return;
  const TransformerShape* shape = draft.transformer();
  if (shape == nullptr || shape->experts == 0) return;
  const bool whole = strategy.expert_tensor_parallel == 1;  // is refused for the same reason
  if (whole || !draft.sound({"/strategy/sequence_parallel", "/strategy/tensor_parallel", "/strategy/expert_parallel"}))
    return;
  draft.fault("/strategy/sequence_parallel",
              fmt::format("found false, but {} has expert_parallel ({}) beside tensor_parallel ({}) with sequence "
                          "parallelism only",
                          framework->id, strategy.expert_parallel, strategy.tensor_parallel),
              "sequence_parallel true, or one of the two degrees 1");
}

constexpr std::string_view kUsualOrder = "tp-cp-ep-dp-pp";

void check_order(Draft& draft) {
  const std::string& order = draft.spec().strategy.order;
  if (order == kUsualOrder) return;
  std::multiset<std::string> names;
  for (std::size_t start = 0; start <= order.size();) {
    const auto dash = std::min(order.find('-', start), order.size());
    names.insert(order.substr(start, dash - start));
    start = dash + 1;
  }
  if (names != std::multiset<std::string>{"cp", "dp", "ep", "pp", "tp"})
    draft.fault("/strategy/order",
                fmt::format("found \"{}\", expected each of tp, cp, ep, dp and pp once, joined by -", order),
                fmt::format("the usual order is \"{}\"", kUsualOrder));
}

/// A query that picks its tokens may pick them on any rank.
ContextMethod usual_context_method(const Draft& draft) {
  const TransformerShape* shape = draft.transformer();
  const auto& framework = draft.scenario.framework;
  if (framework && !framework->context_methods.empty())
    return parse_enum<ContextMethod>(framework->context_methods.front()).value();  // check_framework
  return shape != nullptr && picks_keys(*shape) ? ContextMethod::all_gather : ContextMethod::ring;
}

/// Whether a framework has keys and values reach the other ranks so.
bool offers_method(const FrameworkProfile& framework, ContextMethod method) {
  const std::vector<std::string>& own = framework.context_methods;
  return own.empty() || std::find(own.begin(), own.end(), name_of(method)) != own.end();
}

void check_context_method(Draft& draft) {
  const Scenario& s = draft.scenario;
  const char* pointer = "/strategy/context_method";
  if (draft.spec().strategy.context_parallel == 1 || !s.framework || !draft.sound({pointer}) ||
      offers_method(*s.framework, s.context_method))
    return;
  draft.fault(
      pointer,
      fmt::format("found {}, but {} offers {}", name_of(s.context_method), s.framework->id,
                  fmt::join(s.framework->context_methods, ", ")),
      offered_by([&](const FrameworkProfile& f) { return f.context_parallel && offers_method(f, s.context_method); }));
}

void resolve_data(Draft& draft) {
  Degrees& d = draft.scenario.degrees;
  d.dp = static_cast<int>(draft.scenario.devices() / (static_cast<long>(d.tp) * d.pp * d.cp));
  // A recommender's tables are dealt out over all ranks.
  if (draft.scenario.model && draft.scenario.model->recommender) d.ep = d.dp;
  draft.degrees_known = true;
  const auto& given = draft.spec().strategy.data_parallel;
  if (given && *given != d.dp)
    draft.fault("/strategy/data_parallel",
                fmt::format("found {}, but {} {} over tensor ({}) × pipeline ({}) × context ({}) leave {}", *given,
                            draft.scenario.devices(), draft.device_word(), d.tp, d.pp, d.cp, d.dp),
                fmt::format("data_parallel {}, or leave it out", d.dp));
}

}  // namespace

void resolve_degrees(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  if (draft.sound({"/strategy/order"})) check_order(draft);
  if (!draft.sound({"/strategy/tensor_parallel", "/strategy/pipeline_parallel", "/strategy/context_parallel",
                    "/strategy/expert_parallel"}))
    return;
  draft.scenario.context_method = strategy.context_method.value_or(usual_context_method(draft));
  check_context_method(draft);
  Degrees& d = draft.scenario.degrees;
  d = {.tp = strategy.tensor_parallel,
       .cp = strategy.context_parallel,
       .ep = strategy.expert_parallel,
       .pp = strategy.pipeline_parallel,
       .etp = strategy.expert_tensor_parallel == 1 ? 1 : strategy.tensor_parallel};
  const bool tensor = check_tensor(draft);
  const bool cut_cnn = draft.scenario.model && draft.transformer() == nullptr && std::max({d.tp, d.cp, d.pp}) > 1;
  if (tensor && !cut_cnn && draft.cluster_known() && check_product(draft)) resolve_data(draft);
  if (tensor && draft.sound({"/workload/seq_len", "/strategy/context_method", "/strategy/sequence_parallel"}))
    check_context(draft);
  check_whole_experts(draft);
  check_experts(draft);
  check_imbalance(draft);
  check_experts_in_tensor_group(draft);
  check_encoder(draft);
  check_adapters(draft);
}

}  // namespace stepcast
