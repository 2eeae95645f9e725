#include "models/scenario/default_scenario.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/memory/peak.hpp"
#include "models/parallelism/job.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/scenario/default_candidates.hpp"
#include "models/scenario/described_model.hpp"
#include "models/scenario/variants.hpp"
#include "models/updates/closed_step.hpp"

namespace stepcast {

namespace {

/// Of a device's memory, to stay free: measured peaks lie up to 10 % above the model's (docs/models/memory.md, "How
/// near it is": torchtitan's Llama 3 8B eager 9 %, compiled Llama 3.2 1B 10 %).
constexpr double kHeadroom = 0.10;
/// Strategies whose speeds differ by less are as fast, for all that the closed form can say (closed_form_deviation).
constexpr double kAsFast = 0.05;

/// The scenario that lacks a strategy with this one; its batch is chosen only where it has none.
Json document_of(const DefaultQuestion& q, const DefaultCandidate& candidate) {
  Json out = q.rest;
  if (!q.states_batch()) out["workload"]["global_batch"] = standard_batch(q, candidate);
  out["strategy"] = strategy_of(q, candidate);
  return out;
}

/// What the closed form says of a legal candidate.
struct Trial {
  DefaultCandidate candidate;
  Bytes need, capacity;  ///< of the fullest device
  bool fits = false;
  long batch = 1;
  double speed = 0;  ///< samples a second, of what fits
  [[nodiscard]] bool leaves_room() const { return fits && need <= capacity * (1 - kHeadroom); }
};

/// Tries candidates in closed form. Those of one framework share all but strategy and batch.
class Trials {
 public:
  Trials(const DefaultQuestion& q, const std::string& file, const Catalog& catalog)
      : q_(q), file_(file), catalog_(catalog) {}

  /// None where the candidate is not legal.
  std::optional<Trial> of(const DefaultCandidate& candidate) {
    Family& family = family_of(candidate);
    if (!family.scenarios) return std::nullopt;
    StrategySpec strategy;
    Diagnostics faults(file_);
    StrategySpec::fields().read(strategy, strategy_of(q_, candidate), "/strategy", faults);
    const long batch = q_.states_batch() ? family.batch : standard_batch(q_, candidate);
    const Scenario* scenario = family.scenarios->with(strategy, batch);
    if (scenario == nullptr) return std::nullopt;
    const Job& job = family.lowering.lower(*scenario);
    const MemoryPeak memory = peak_memory(job);
    Trial out{candidate, memory.need, memory.capacity, memory.fits, batch};
    if (out.fits) out.speed = static_cast<double>(batch) / closed_step(job).step_time.value();
    return out;
  }

 private:
  struct Family {
    std::unique_ptr<ScenarioVariants> scenarios;  ///< null: the framework does not run there
    Lowering lowering;
    long batch = 0;  ///< that is stated
  };

  Family& family_of(const DefaultCandidate& candidate) {
    const auto [entry, fresh] = families_.try_emplace(candidate.framework);
    if (!fresh) return *entry->second;
    entry->second = std::make_unique<Family>();
    Family& out = *entry->second;
    try {
      Diagnostics faults(file_);
      auto spec = read_document<ScenarioSpec>(document_of(q_, candidate), faults);
      faults.throw_if_faulty();
      // Who is slow or another kind of node is so whatever the strategy; whether it fits them all is asked of the
      // chosen one.
      spec.cluster.conditions.clear();
      spec.cluster.other_nodes.clear();
      out.batch = spec.workload.global_batch;
      out.scenarios = std::make_unique<ScenarioVariants>(std::move(spec), file_, catalog_);
    } catch (const InputError&) {
      out.scenarios.reset();
    }
    return out;
  }

  const DefaultQuestion& q_;
  const std::string& file_;
  const Catalog& catalog_;
  std::map<std::string, std::unique_ptr<Family>> families_;
};

std::shared_ptr<const Model> model_of(const Json& model, const Json& seq_len, Diagnostics& diagnostics) {
  if (model.is_string()) return find_model(model.get<std::string>(), "/workload/model", diagnostics);
  auto described = std::make_shared<Model>();
  Model::fields().read(*described, model, "/workload/model", diagnostics);
  const bool stated = seq_len.is_number_integer() && seq_len.get<int>() > 0;
  auto read = with_length(std::move(described), stated ? std::optional(seq_len.get<int>()) : std::nullopt);
  if (diagnostics.ok()) check_model(*read, "/workload/model", diagnostics);
  return read;
}

/// What a scenario says of model and servers; the rest of it is heeded by whoever resolves the candidates.
DefaultQuestion question_of(const Json& scenario, const std::string& file, const Catalog& catalog) {
  const auto at = [&](const char* pointer) {
    const Json::json_pointer place(pointer);
    return scenario.contains(place) ? scenario.at(place) : Json(nullptr);
  };
  const Json model = at("/workload/model"), node = at("/cluster/node"), nodes = at("/cluster/nodes"),
             seq_len = at("/workload/seq_len");
  Diagnostics diagnostics(file);
  if (!model.is_string() && !model.is_object()) diagnostics.error("/workload/model", "no model is chosen");
  if (!node.is_string()) diagnostics.error("/cluster/node", "no server is chosen");
  if (!nodes.is_null() && !nodes.is_number_integer()) diagnostics.error("/cluster/nodes", "expected a whole number");
  diagnostics.throw_if_faulty();
  DefaultQuestion q;
  q.nodes = nodes.is_null() ? 1 : nodes.get<int>();
  if (q.nodes < 1) diagnostics.error("/cluster/nodes", fmt::format("found {}, expected at least 1", q.nodes));
  q.node = catalog.find<Node>(node.get<std::string>(), "/cluster/node", diagnostics);
  if (q.node != nullptr && q.node->has_accelerators())
    q.accelerator = catalog.find<Accelerator>(q.node->accelerator, "/cluster/node", diagnostics);
  q.model = model_of(model, seq_len, diagnostics);
  diagnostics.throw_if_faulty();
  q.seq_len = seq_len.is_number_integer() && seq_len.get<int>() > 0 ? seq_len.get<int>() : q.model->default_seq_len;
  q.rest = scenario;
  q.rest.erase("strategy");
  return q;
}

double fastest_of(const std::vector<const Trial*>& among) {
  double out = 0;
  for (const Trial* trial : among) out = std::max(out, trial->speed);
  return out;
}

/// The fastest of those that spread the model as the plainest does of those that are as fast as the fastest; null:
/// there is none.
const Trial* plainest_fast(const std::vector<const Trial*>& among) {
  const double enough = (1 - kAsFast) * fastest_of(among);
  const Trial* out = nullptr;
  for (const Trial* trial : among) {
    if (out == nullptr ? trial->speed >= enough
                       : trial->candidate.spreads_as(out->candidate) && trial->speed > out->speed)
      out = trial;
  }
  return out;
}

/// Without those that take a larger batch than is near the rule's, where others do not; else those that take the least.
std::vector<const Trial*> near_batch(std::vector<const Trial*> among, std::optional<long> largest) {
  if (!largest || among.empty()) return among;
  const auto by_batch = [](const Trial* a, const Trial* b) { return a->batch < b->batch; };
  const long least = (*std::min_element(among.begin(), among.end(), by_batch))->batch;
  std::erase_if(among, [&](const Trial* trial) { return trial->batch > std::max(least, *largest); });
  return among;
}

class Chooser {
 public:
  Chooser(DefaultQuestion q, std::string file, const Catalog& catalog)
      : q_(std::move(q)), file_(std::move(file)), catalog_(catalog), trials_(q_, file_, catalog) {}

  ChosenStrategy choose() {
    for (const std::vector<DefaultCandidate>& group : default_candidates(q_)) {
      const std::size_t before = tried_.size();
      for (const DefaultCandidate& candidate : group) try_one(candidate);
      if (auto found = fast_with_room(before)) return *found;
    }
    return roomiest();
  }

 private:
  void try_one(const DefaultCandidate& candidate) {
    const std::optional<DefaultCandidate> stated = as_stated(q_, candidate);
    // Candidates that differ in what is stated are one.
    if (!stated || !known_.insert(strategy_of(q_, *stated).dump()).second) return;
    if (std::optional<Trial> trial = trials_.of(*stated)) tried_.push_back(std::move(*trial));
  }

  /// The whole scenario's memory, phases, conditions and other kinds of nodes included; none where it is not legal.
  std::optional<MemoryReport> memory_of_whole(const DefaultCandidate& candidate) const {
    try {
      const Scenario scenario = resolve(document_of(q_, candidate), file_, {}, catalog_);
      return memory_of(lower(scenario));
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  std::optional<ChosenStrategy> fast_with_room(std::size_t first) const {
    std::vector<const Trial*> roomy;
    for (std::size_t i = first; i < tried_.size(); ++i)
      if (tried_[i].leaves_room()) roomy.push_back(&tried_[i]);
    const std::size_t count = roomy.size();
    roomy = near_batch(std::move(roomy), largest_batch(q_));
    while (const Trial* best = plainest_fast(roomy)) {
      if (const auto memory = memory_of_whole(best->candidate); memory && memory->fits) {
        const std::string why = why_fast(*best, fastest_of(roomy), count);
        return ChosenStrategy{document_of(q_, best->candidate), why, true, {}};
      }
      std::erase(roomy, best);
    }
    return std::nullopt;
  }

  std::string why_fast(const Trial& best, double fastest, std::size_t roomy) const {
    const std::string tried = fmt::format("chosen because {} of {} legal strategies leave {:.0f} % of the memory free",
                                          roomy, tried_.size(), 100 * kHeadroom);
    if (best.speed >= fastest) return fmt::format("{}, and this is the fastest of them", tried);
    return fmt::format("{}, and this is the plainest of the fast ones: the fastest takes {:.1f} % less time", tried,
                       100 * (1 - best.speed / fastest));
  }

  /// Of candidates none of which is legal, the one whose faults tell most: the plainest, or the plainest that is cut
  /// where the scenario states a part of the strategy.
  [[nodiscard]] DefaultCandidate telling() const {
    const std::vector<std::vector<DefaultCandidate>> groups = default_candidates(q_);
    if (!q_.stated.is_null())
      for (const std::vector<DefaultCandidate>& group : groups)
        for (const DefaultCandidate& candidate : group)
          if (candidate.tensor > 1 || candidate.pipeline > 1) return candidate;
    return groups.front().front();
  }

  /// None leaves room: what fits with most of it, else what lacks least.
  ChosenStrategy roomiest() const {
    const Trial* best = nullptr;
    for (const Trial& trial : tried_)
      if (best == nullptr || std::pair(!trial.fits, trial.need) < std::pair(!best->fits, best->need)) best = &trial;
    if (best == nullptr) {
      (void)resolve(document_of(q_, telling()), file_, {}, catalog_);
      throw std::logic_error("the plainest default strategy is legal and was not tried");
    }
    const std::optional<MemoryReport> memory = memory_of_whole(best->candidate);
    const bool fits = memory && memory->fits;
    const auto fitting = static_cast<std::size_t>(
        std::count_if(tried_.begin(), tried_.end(), [](const Trial& trial) { return trial.fits; }));
    const std::string none =
        fmt::format("none of {} legal strategies leaves {:.0f} % of the memory free", tried_.size(), 100 * kHeadroom);
    const std::string why =
        fits ? fmt::format("chosen because {}, and of the {} that fit this one leaves most", none, fitting)
             : fmt::format("shown because none of {} legal strategies fits memory, and this one lacks least",
                           tried_.size());
    ChosenStrategy out{document_of(q_, best->candidate), why, fits, {}};
    if (memory) out.over = std::max(memory->over_device(), memory->over_host());
    return out;
  }

  const DefaultQuestion q_;
  const std::string file_;
  const Catalog& catalog_;
  Trials trials_;
  std::set<std::string> known_;  ///< strategies that were tried
  std::vector<Trial> tried_;     ///< legal ones, in order
};

}  // namespace

Json scenario_without_strategy(const Json& model, const std::string& node, int nodes) {
  return {{"format_version", kScenarioFormatVersion},
          {"cluster", {{"node", node}, {"nodes", nodes}}},
          {"workload", {{"model", model}}}};
}

Json completed_scenario(const Json& scenario, const std::string& file, const Catalog& catalog) {
  DefaultQuestion q = question_of(scenario, file, catalog);
  if (scenario.contains("strategy")) q.stated = scenario.at("strategy");
  if (!q.stated.is_null() && !q.stated.is_object())
    throw InputError({{file, "/strategy", fmt::format("found {}", q.stated.dump()), "an object"}});
  const std::string name = fmt::format("{} on {} × {}", q.model->id, q.nodes, q.node->id);
  const ChosenStrategy chosen = Chooser(std::move(q), file, catalog).choose();
  Json out{{"format_version", kScenarioFormatVersion}, {"name", name}, {"description", chosen.why}};
  out.update(chosen.scenario);
  return out;
}

Json default_scenario(const std::string& model, const std::string& node, int nodes, const Catalog& catalog) {
  return completed_scenario(scenario_without_strategy(model, node, nodes), "default scenario", catalog);
}

ChosenStrategy with_default_strategy(const Json& scenario, const Catalog& catalog) {
  DefaultQuestion q = question_of(scenario, "scenario", catalog);
  if (const Json::json_pointer framework("/strategy/framework"); scenario.contains(framework))
    q.stated = {{"framework", scenario.at(framework)}};
  ChosenStrategy chosen = Chooser(std::move(q), "scenario", catalog).choose();
  if (chosen.fits) return chosen;
  throw InputError({{"scenario", "/strategy",
                     fmt::format("no strategy that the rules try fits memory: the nearest lacks {:.1f} GiB on a device",
                                 chosen.over.in(1_GiB)),
                     "more servers, shorter sequences, or a smaller model"}});
}

}  // namespace stepcast
