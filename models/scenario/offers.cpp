#include <algorithm>
#include <array>

#include "models/scenario/dispatchers.hpp"
#include "models/scenario/draft.hpp"
#include "models/storage/rates.hpp"

namespace stepcast {

namespace {

/// A dimension of parallelism beside the data's: where it is written, and who offers it.
struct CutDimension {
  const char* key;
  int StrategySpec::*degree;
  bool FrameworkProfile::*offered;
  const char* words;
  const char* needs;  ///< what a CNN lacks for it
};
constexpr std::array kCuts{
    CutDimension{"tensor_parallel", &StrategySpec::tensor_parallel, &FrameworkProfile::tensor_parallel,
                 "tensor parallelism", "attention heads and MLPs to cut"},
    CutDimension{"pipeline_parallel", &StrategySpec::pipeline_parallel, &FrameworkProfile::pipeline_parallel,
                 "pipeline parallelism", "equal layers to make stages of"},
    CutDimension{"context_parallel", &StrategySpec::context_parallel, &FrameworkProfile::context_parallel,
                 "context parallelism", "a sequence to cut"},
    CutDimension{"expert_parallel", &StrategySpec::expert_parallel, &FrameworkProfile::expert_parallel,
                 "expert parallelism", "experts to place"},
};

void check_cut(Draft& draft, const CutDimension& cut) {
  const int degree = draft.spec().strategy.*cut.degree;
  if (degree <= 1) return;
  const std::string pointer = fmt::format("/strategy/{}", cut.key);
  if (!draft.sound({pointer})) return;
  const Scenario& s = draft.scenario;
  if (s.model && !s.model->is_transformer())
    return draft.fault(
        pointer,
        fmt::format("found {}, but {} is {} without {}", degree, s.model->id, kind_in_words(*s.model), cut.needs),
        fmt::format("{} 1 (all but transformers are data parallel)", cut.key));
  const TransformerShape* shape = draft.transformer();
  // A dense model has no use for expert parallelism whoever offers it; that is said with the degrees.
  if (cut.degree == &StrategySpec::expert_parallel && shape != nullptr && shape->experts == 0) return;
  if (s.framework && !((*s.framework).*cut.offered))
    draft.fault(pointer, fmt::format("found {}, but {} has no {}", degree, s.framework->id, cut.words),
                offered_by([&](const FrameworkProfile& f) { return f.*cut.offered; }));
}

void check_machine(Draft& draft) {
  const Scenario& s = draft.scenario;
  if (!s.framework || s.node == nullptr) return;
  if (s.node->has_accelerators() && s.accelerator == nullptr) return;
  const std::string maker = s.accelerator != nullptr ? s.accelerator->vendor : std::string();
  if (s.framework->runs_on(maker)) return;
  const std::string usual = default_framework(maker);
  Diagnostics ignored("");
  // Of a maker that no profile names nothing is known.
  if (s.accelerator != nullptr && s.framework->on_accelerators && !find_framework(usual, "", ignored)->runs_on(maker))
    return;
  const std::string where = maker.empty()                   ? "processors"
                            : !s.framework->on_accelerators ? "accelerators"
                                                            : fmt::format("accelerators of {}", maker);
  draft.fault("/strategy/framework",
              fmt::format("{} does not train on {} (node \"{}\")", s.framework->id, where, s.node->id),
              fmt::format("did you mean \"{}\"?", usual));
}

}  // namespace

namespace {

/// That products hide gathers and scatters, where nothing in the framework could.
void check_tensor_overlap(Draft& draft) {
  const char* pointer = "/strategy/overlap_tensor_parallel";
  const auto& framework = draft.scenario.framework;
  if (!framework || !draft.spec().strategy.overlap_tensor_parallel.value_or(false) || !draft.sound({pointer})) return;
  const auto overlaps = [](const FrameworkProfile& f) {
    return f.tensor_parallel && (f.tensor_parallel_exposed < 1 || f.overlap_input_gradients);
  };
  const StrategySpec& strategy = draft.spec().strategy;
  if (!overlaps(*framework)) {
    draft.fault(pointer, fmt::format("found true, but {} waits for every gather and scatter", framework->id),
                offered_by(overlaps));
  } else if (framework->needs_sequence_parallel && strategy.tensor_parallel > 1 && !strategy.sequence_parallel &&
             draft.sound({"/strategy/tensor_parallel", "/strategy/sequence_parallel"})) {
    draft.fault(pointer, fmt::format("found true, but {} overlaps with sequence parallelism only", framework->id),
                "sequence_parallel true, or leave overlap_tensor_parallel out");
  }
}

}  // namespace

std::string usual_framework(const StrategySpec& strategy, std::string_view maker) {
  const auto states = [&](const CutDimension& cut) { return strategy.*cut.degree > 1; };
  const auto offers = [&](const FrameworkProfile& framework) {
    const auto& known = framework.shardings;
    if (strategy.sharding && std::ranges::find(known, name_of(*strategy.sharding)) == known.end()) return false;
    return std::ranges::none_of(kCuts,
                                [&](const CutDimension& cut) { return states(cut) && !(framework.*cut.offered); });
  };
  const bool cut = std::ranges::any_of(kCuts, states);
  Diagnostics ignored("");
  for (const Spread spread :
       {Spread::replicated, cut ? Spread::cut : Spread::sharded, cut ? Spread::sharded : Spread::cut})
    if (std::string id = default_framework(maker, spread); offers(*find_framework(id, "", ignored))) return id;
  return default_framework(maker);
}

void check_offers(Draft& draft) {
  check_machine(draft);
  check_tensor_overlap(draft);
  for (const CutDimension& cut : kCuts) check_cut(draft, cut);
}

namespace {

/// What sharding decides by itself.
void check_data_overlaps(Draft& draft) {
  const Sharding sharding = draft.scenario.sharding;
  const StrategySpec& strategy = draft.spec().strategy;
  const bool in_shards = sharding == Sharding::zero3 || sharding == Sharding::fsdp || sharding == Sharding::hsdp;
  const bool gathers = sharding == Sharding::zero1 || sharding == Sharding::zero2;
  const char *gradients = "/strategy/overlap_gradients", *parameters = "/strategy/overlap_parameter_gather";
  if (in_shards && !strategy.overlap_gradients.value_or(true) && draft.sound({gradients}))
    draft.fault(gradients,
                fmt::format("found false, but {} is forecast with gradients reduced beside the backward pass alone",
                            name_of(sharding)),
                "leave overlap_gradients out, or sharding \"zero-2\"");
  if (!gathers && strategy.overlap_parameter_gather.value_or(false) && draft.sound({parameters}))
    draft.fault(parameters, fmt::format("is for sharding zero-1 and zero-2, found {}", name_of(sharding)),
                "sharding \"zero-1\", or leave overlap_parameter_gather out");
}

}  // namespace

bool shards_in_pipelines(const FrameworkProfile& framework, Sharding sharding) {
  const bool shards_gradients = sharding != Sharding::none && sharding != Sharding::zero1;
  return framework.pipelines_shard_gradients || !shards_gradients;
}

void resolve_sharding(Draft& draft) {
  Scenario& s = draft.scenario;
  const StrategySpec& strategy = draft.spec().strategy;
  if (!draft.sound({"/strategy/sharding"}) || !s.framework) return;
  const auto& offered = s.framework->shardings;
  if (!strategy.sharding) {
    s.sharding = parse_enum<Sharding>(offered.front()).value();  // check_framework
    if (s.sharding != Sharding::none)
      draft.assume(fmt::format("sharding {} (the default of {})", offered.front(), s.framework->id));
  } else {
    s.sharding = *strategy.sharding;
    const std::string name(name_of(s.sharding));
    if (std::find(offered.begin(), offered.end(), name) == offered.end()) {
      const std::string others = offered_by([&](const FrameworkProfile& f) {
        return std::find(f.shardings.begin(), f.shardings.end(), name) != f.shardings.end();
      });
      return draft.fault("/strategy/sharding",
                         fmt::format("found {}, but {} offers {}", name, s.framework->id, listed(offered)), others);
    }
  }
  if (!shards_in_pipelines(*s.framework, s.sharding) && strategy.pipeline_parallel > 1 &&
      draft.sound({"/strategy/pipeline_parallel"}))
    draft.fault("/strategy/sharding",
                fmt::format("{} shards gradients, which {} refuses beside pipeline_parallel {}", name_of(s.sharding),
                            s.framework->id, strategy.pipeline_parallel),
                "zero-1, or pipeline_parallel 1");
  const bool in_groups = s.sharding == Sharding::hsdp || s.sharding == Sharding::zero1;
  if (strategy.hsdp_shard_size && !in_groups && draft.sound({"/strategy/hsdp_shard_size"}))
    draft.fault("/strategy/hsdp_shard_size",
                fmt::format("is for sharding hsdp or zero-1, found {}", name_of(s.sharding)),
                "sharding \"hsdp\", or leave hsdp_shard_size out");
  check_data_overlaps(draft);
}

namespace {

/// Data-parallel ranks (context included) of one node: the usual shard group of HSDP.
int data_ranks_of_a_node(const Draft& draft) {
  const Degrees& d = draft.scenario.degrees;
  const std::string& order = draft.spec().strategy.order;
  const int stride = d.tp * (order.find("pp") < order.find("dp") ? d.pp : 1);
  const int ranks = d.dp * d.cp;
  int inside = std::clamp(draft.scenario.devices_per_node() / stride, 1, ranks);
  while (ranks % inside != 0) --inside;
  return inside;
}

}  // namespace

void resolve_shard_group(Draft& draft) {
  Scenario& s = draft.scenario;
  if (!draft.degrees_known || !draft.sound({"/strategy/sharding", "/strategy/hsdp_shard_size"})) return;
  const int ranks = s.degrees.dp * s.degrees.cp;
  const auto& wanted = draft.spec().strategy.hsdp_shard_size;
  if (s.sharding != Sharding::hsdp && !wanted) {
    s.shard_size = s.sharding == Sharding::none ? 1 : ranks;
    return;
  }
  s.shard_size = wanted.value_or(data_ranks_of_a_node(draft));
  if (!wanted) draft.assume(fmt::format("shard groups of {} ranks (those of one node)", s.shard_size));
  if (ranks % s.shard_size != 0)
    draft.fault("/strategy/hsdp_shard_size",
                fmt::format("{} does not divide the {} data-parallel ranks", s.shard_size, ranks),
                nearest_valid(s.shard_size, ranks, [&](long n) { return ranks % n == 0; }));
}

void resolve_expert_dispatch(Draft& draft) {
  Scenario& s = draft.scenario;
  const char* pointer = "/strategy/expert_dispatch";
  if (!draft.sound({pointer}) || !s.framework) return;
  const auto offered = [](const FrameworkProfile& f, std::string_view name) {
    return std::find(f.expert_dispatches.begin(), f.expert_dispatches.end(), name) != f.expert_dispatches.end();
  };
  const std::vector<std::string>& own = s.framework->expert_dispatches;
  const ExpertDispatch standard = parse_enum<ExpertDispatch>(own.front()).value();  // check_framework
  s.expert_dispatch = draft.spec().strategy.expert_dispatch.value_or(standard);
  const std::string_view name = name_of(s.expert_dispatch);
  if (!offered(*s.framework, name))
    return draft.fault(pointer, fmt::format("found {}, but {} offers {}", name, s.framework->id, listed(own)),
                       offered_by([&](const FrameworkProfile& f) { return offered(f, name); }));
  const TransformerShape* shape = draft.transformer();
  const bool routed = shape != nullptr && shape->experts > 0;
  if (draft.spec().strategy.expert_dispatch == ExpertDispatch::deepep && s.model && !routed)
    return draft.fault(pointer, fmt::format("found {}, but {} has no experts", name, s.model->id),
                       "leave expert_dispatch out");
  if (s.node == nullptr || (s.node->has_accelerators() && s.accelerator == nullptr)) return;
  if (!dispatch_runs_on(s.expert_dispatch, s.accelerator))
    return draft.fault(
        pointer,
        fmt::format("found {}, which runs on NVIDIA's accelerators from Ampere on (node \"{}\")", name, s.node->id),
        "all_to_all");
  if (!draft.degrees_known || !routed || s.degrees.ep == 1) return;
  const int ranks = s.degrees.ep * s.degrees.etp;
  const auto takes = [&](long n) { return dispatch_takes(s.expert_dispatch, static_cast<int>(n), *s.node); };
  if (!takes(ranks))
    draft.fault(pointer, fmt::format("found {}, which has no settings for groups of {} ranks", name, ranks),
                fmt::format("all_to_all, or {}", nearest_valid(ranks, 2L * ranks, takes)));
}

void check_recompute(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  if (!draft.sound({"/strategy/recompute", "/strategy/recompute_modules"})) return;
  const bool by_module = strategy.recompute == Recompute::modules;
  const auto& modules = strategy.recompute_modules;
  if (by_module && modules.empty())
    draft.fault("/strategy/recompute_modules", "missing: recompute \"modules\" needs them named",
                expected_one_of(names_of<RecomputeModule>()));
  if (!by_module && !modules.empty())
    draft.fault("/strategy/recompute_modules",
                fmt::format("is for recompute \"modules\", found recompute \"{}\"", name_of(strategy.recompute)),
                "recompute \"modules\", or leave recompute_modules out");
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string pointer = fmt::format("/strategy/recompute_modules/{}", i);
    if (std::find(modules.begin(), modules.begin() + static_cast<long>(i), modules[i]) !=
        modules.begin() + static_cast<long>(i))
      draft.fault(pointer, fmt::format("{} is named twice", name_of(modules[i])), "keep one of them");
    const TransformerShape* shape = draft.transformer();
    if (modules[i] == RecomputeModule::moe && shape != nullptr && shape->experts == 0)
      draft.fault(pointer, fmt::format("{} has no experts", draft.scenario.model->id), "did you mean \"mlp\"?");
  }
  const Scenario& s = draft.scenario;
  if (s.model && !s.model->is_transformer() && strategy.recompute != Recompute::none)
    draft.fault("/strategy/recompute",
                fmt::format("found {}, but {} is {} without blocks to recompute", name_of(strategy.recompute),
                            s.model->id, kind_in_words(*s.model)),
                "recompute \"none\"");
}

namespace {

/// States on drives: what ZeRO-Infinity asks for, and what their time follows from.
void check_offload_to_drives(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  const char* pointer = "/strategy/offload_optimizer_device";
  if (strategy.offload_optimizer_device != OffloadDevice::nvme || !draft.sound({pointer})) return;
  const Scenario& s = draft.scenario;
  if (!strategy.offload_optimizer)
    return draft.fault(pointer, "found nvme, but offload_optimizer is false",
                       "offload_optimizer true, or leave it out");
  if (s.sharding != Sharding::zero3 && draft.sound({"/strategy/sharding"}))
    return draft.fault(pointer, fmt::format("found nvme, which needs sharding zero-3, found {}", name_of(s.sharding)),
                       "host, or framework deepspeed with sharding zero-3");
  if (s.node != nullptr && (!local_read_rate(s) || !local_write_rate(s)))
    draft.fault(pointer, fmt::format("found nvme, but the catalogue has no rates of {}'s drives", s.node->id),
                "host, or a node whose local_storage states read_GBps and write_GBps");
}

}  // namespace

void check_offload(Draft& draft) {
  check_offload_to_drives(draft);
  const Scenario& s = draft.scenario;
  const char* activations = "/strategy/offload_activations";
  if (s.model && !s.model->is_transformer() && draft.spec().strategy.offload_activations && draft.sound({activations}))
    draft.fault(activations,
                fmt::format("found true, but {} is {} without blocks whose inputs could be kept elsewhere", s.model->id,
                            kind_in_words(*s.model)),
                "leave offload_activations out");
  if (s.node == nullptr || s.accelerator != nullptr) return;
  const StrategySpec& strategy = draft.spec().strategy;
  for (const auto& [key, asked] : {std::pair{"offload_optimizer", strategy.offload_optimizer},
                                   std::pair{"offload_activations", strategy.offload_activations}})
    if (asked)
      draft.fault(fmt::format("/strategy/{}", key), fmt::format("{} trains in host memory already", s.node->id),
                  "a node with accelerators, or leave it out");
}

}  // namespace stepcast
