#include "planner/binding.hpp"

#include <algorithm>

#include "planner/limits.hpp"
#include "report/humane.hpp"
#include "report/run_outlook.hpp"
#include "units/calendar.hpp"

namespace stepcast {

namespace {

/// A limit that is used so far binds: a slightly larger option would not pass.
constexpr double kNearlyReached = 0.9;

std::vector<Binding> parts_of_step(const Prediction& p) {
  const auto part = [&](std::string what, Seconds time) {
    const double share = time / p.step_time;
    return Binding{what, share, fmt::format("{} {} of the step", what, percent(share))};
  };
  std::vector<Binding> out{part("compute", p.compute), part("pipeline bubble", p.bubble),
                           part("optimizer", p.optimizer), part("waiting for peers", p.synchronization_wait),
                           part("overhead", p.overhead)};
  for (const auto& [dimension, share] : p.communication.by_dimension)
    out.push_back(part(dimension + " communication", share.exposed));
  std::stable_sort(out.begin(), out.end(), [](const Binding& a, const Binding& b) { return a.share > b.share; });
  return out;
}

/// What one place behind the point would round to nothing has three digits.
std::string small_percent(double share) {
  return share > 0 && share < 0.001 ? significant(100 * share) + " %" : percent(share);
}

class Limits {
 public:
  /// Notes a limit of which `share` is used, if that is nearly all of it.
  void add(const char* what, double share, const std::string& used, const std::string& limit) {
    if (share >= kNearlyReached) out_.push_back({what, share, fmt::format("{} {} of {}", what, used, limit)});
  }
  std::vector<Binding> take() {
    std::stable_sort(out_.begin(), out_.end(), [](const Binding& a, const Binding& b) { return a.share > b.share; });
    return std::move(out_);
  }

 private:
  std::vector<Binding> out_;
};

}  // namespace

std::vector<Binding> bindings_of(const Prediction& p, const PlanConstraints& limits, const FamilyFacts& facts,
                                 std::optional<double> goodput) {
  std::vector<Binding> parts = parts_of_step(p);
  std::vector<Binding> out{parts[0]};
  // What could be gained: the largest part beside computing.
  if (parts[1].share > 0.02) out.push_back(parts[1]);
  Limits reached;
  const Bytes need = p.memory.stages.at(static_cast<std::size_t>(p.memory.worst_stage)).total();
  const Bytes room = p.memory.capacity * (1 - limits.memory_headroom_percent / 100);
  reached.add("memory", need / room, humane(need), humane(room));
  if (limits.power) reached.add("power", peak_power(p) / *limits.power, humane(peak_power(p)), humane(*limits.power));
  if (limits.rack_units)
    reached.add("rack space", double(facts.rack_units) / *limits.rack_units, fmt::format("{} U", facts.rack_units),
                fmt::format("{} U", *limits.rack_units));
  if (limits.budget_to_buy && facts.price)
    reached.add("budget to buy", *facts.price / *limits.budget_to_buy, humane(*facts.price),
                humane(*limits.budget_to_buy));
  if (limits.budget && p.cost_rate)
    reached.add("budget a month", *p.cost_rate / *limits.budget, humane(*p.cost_rate * kMonth),
                humane(*limits.budget * kMonth));
  if (limits.budget_of_run && p.run_cost)
    reached.add("budget of the run", *p.run_cost / *limits.budget_of_run, humane(*p.run_cost),
                humane(*limits.budget_of_run));
  // The limit is on what may be lost.
  if (limits.minimum_goodput_percent && *limits.minimum_goodput_percent < 100 && goodput) {
    const double lost = 1 - *goodput, allowed = 1 - *limits.minimum_goodput_percent / 100;
    reached.add("lost time", lost / allowed, small_percent(lost), small_percent(allowed));
  }
  if (limits.deadline && p.time_to_train)
    reached.add("deadline", *p.time_to_train / *limits.deadline, humane(*p.time_to_train), humane(*limits.deadline));
  for (Binding& limit : reached.take()) out.push_back(std::move(limit));
  return out;
}

}  // namespace stepcast
