#include "planner/stated_values.hpp"

#include <algorithm>
#include <map>

#include "planner/evaluator.hpp"

namespace stepcast {

namespace {

/// Every option has what is looked for: a few of a few families show it.
constexpr std::size_t kFamiliesLookedAt = 16, kOptionsLookedAt = 128;

/// Faults by what they are of, over all options that were looked at.
class Faults {
 public:
  void add(const std::vector<Fault>& faults) {
    ++options_;
    for (const Fault& fault : faults) {
      // One option may have several of one setting.
      Found& found = found_.try_emplace(fault.pointer, Found{fault}).first->second;
      if (found.latest != options_) ++found.options;
      found.latest = options_;
    }
  }
  [[nodiscard]] std::vector<Fault> of_most() const {
    std::size_t most = 0;
    for (const auto& [pointer, found] : found_) most = std::max(most, found.options);
    std::vector<Fault> out;
    for (const auto& [pointer, found] : found_)
      if (found.options == most && (most == options_ || out.empty())) out.push_back(found.fault);
    return out;
  }
  [[nodiscard]] bool none() const { return found_.empty(); }

 private:
  struct Found {
    Fault fault;
    std::size_t options = 0, latest = 0;
  };
  std::map<std::string, Found> found_;
  std::size_t options_ = 0;
};

void look_at_options(Evaluator& family, Faults& faults) {
  Tally uncounted;
  std::size_t looked_at = 0;
  for (const Block& block : family.space().blocks(0, uncounted))
    for (const Option& option : family.space().options(block, uncounted)) {
      if (looked_at++ == kOptionsLookedAt) return;
      faults.add(family.faults_of(family.space().strategy(option), option.batch));
    }
}

/// Of each setting that the question states the first value, and defaults beside them: what is left of a question
/// whose degrees do not even divide.
StrategySpec stated_values(const PlanQuestion& question, const StrategySpec& fixed, const Json& stated) {
  const Json standard = StrategySpec::fields().write({});
  Json document = StrategySpec::fields().write(fixed);
  for (const auto& [key, value] : stated.items()) {
    const bool is_list = standard.contains(key) && standard.at(key).is_array();
    document[key] = value.is_array() && !is_list ? value.front() : value;
  }
  document.erase("uneven_stages");
  StrategySpec out;
  Diagnostics ignored(question.file);
  StrategySpec::fields().read(out, document, "/strategy", ignored);
  out.framework = fixed.framework;
  return out;
}

std::vector<Fault> of_stated(const std::vector<Fault>& faults, const Json& stated) {
  std::vector<Fault> out;
  for (const Fault& fault : faults)
    for (const auto& [key, value] : stated.items())
      if (fault.pointer == "/strategy/" + key) out.push_back(fault);
  return out.empty() ? faults : out;
}

}  // namespace

std::vector<Fault> faults_of_stated_values(const PlanQuestion& question, const std::vector<FamilySpec>& families,
                                           const Catalog& catalog) {
  Faults of_options, of_values;
  const Json stated = PlanStrategy::fields().write(question.spec.strategy);
  for (std::size_t i = 0; i < std::min(families.size(), kFamiliesLookedAt); ++i) {
    Evaluator family(question, families[i], catalog);
    look_at_options(family, of_options);
    const StrategySpec values = stated_values(question, family.shared().spec.strategy, stated);
    of_values.add(of_stated(family.faults_of(values, question.spec.workload.training.global_batch), stated));
  }
  return of_options.none() ? of_values.of_most() : of_options.of_most();
}

}  // namespace stepcast
