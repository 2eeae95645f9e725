#pragma once

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// One way to spread the training over a family's devices.
struct Option {
  int tp = 1, cp = 1, ep = 1, pp = 1, vpp = 1;
  int etp = 1;  ///< tp, or 1: whole experts
  ExpertDispatch dispatch = ExpertDispatch::all_to_all;
  long micro_batch = 1;
  long batch = 1;  ///< samples of a step
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Recompute recompute = Recompute::none;
  Sharding sharding = Sharding::none;
  bool sequence_parallel = false;
  bool offload_optimizer = false;
  OffloadDevice offload_device = OffloadDevice::host;
};

/// Why an option is not an answer.
enum class Rejection {
  devices_do_not_divide,  ///< degrees against devices, nodes, heads, experts or layers
  batch_does_not_divide,
  no_experts,  ///< expert parallelism of a model that has none
  forbidden,   ///< by another rule of scenarios
  memory_under_1,
  memory_under_8,
  memory_under_64,
  memory_beyond,
  states_do_not_fit,
  price_unknown,
  over_budget_to_buy,
  over_budget,
  over_budget_of_run,
  past_deadline,
  low_goodput,
  over_power,
  over_rack,
  simulated_over_budget,  ///< the closed form had said that the limit is kept, or nearly
  simulated_over_budget_of_run,
  simulated_past_deadline,
  simulated_low_goodput,
  simulated_over_power,
  slower  ///< a lower bound on what matters is above what enough others reach
};
template <>
struct EnumNames<Rejection> {
  static constexpr std::array names{
      "a degree does not divide the devices, heads, experts or layers",
      "the batch does not divide into micro-batches and replicas",
      "expert parallelism, and the model has no experts",
      "the framework or its rules forbid it",
      "does not fit memory by up to 1 GiB",
      "does not fit memory by 1 to 8 GiB",
      "does not fit memory by 8 to 64 GiB",
      "does not fit memory by more than 64 GiB",
      "weights and optimizer states alone do not fit memory",
      "no price is known",
      "over the budget to buy",
      "over the budget a month",
      "over the budget of the run",
      "past the deadline",
      "less goodput than wanted",
      "over the power limit",
      "over the rack space",
      "over the budget a month when simulated",
      "over the budget of the run when simulated",
      "past the deadline when simulated",
      "less goodput than wanted when simulated",
      "over the power limit when simulated",
      "fits, but a lower bound shows that it cannot be among the best",
  };
};
inline constexpr std::size_t kRejections = EnumNames<Rejection>::names.size();

/// Why an option is not an answer, and how near it came to one.
struct Refusal {
  Refusal(Rejection why, std::optional<double> by = {}) : reason(why), figure(by) {}
  Rejection reason;
  /// Smaller is nearer: bytes beyond the memory; units, $, $/s, s or W that break the limit; less goodput, negated.
  std::optional<double> figure;
};

/// How many options met each fate.
struct Tally {
  long evaluated = 0;  ///< options decided one by one: feasible, or rejected for one reason
  long feasible = 0;
  std::array<long, kRejections> rejected{};
  std::array<std::optional<double>, kRejections> nearest{};  ///< the smallest figure of each refusal that has one

  void reject(const Refusal& refusal, long options = 1) {
    evaluated += options;
    const auto i = static_cast<std::size_t>(refusal.reason);
    rejected[i] += options;
    come_near(i, refusal.figure);
  }
  /// Options that rules and memory allow, whatever limits said of them.
  [[nodiscard]] long allowed() const {
    const std::size_t first = static_cast<std::size_t>(Rejection::states_do_not_fit) + 1;
    return feasible + std::accumulate(rejected.begin() + first, rejected.end(), 0L);
  }
  /// Options that rules allow, whether they fit or not.
  [[nodiscard]] long legal() const {
    return feasible +
           std::accumulate(rejected.begin() + static_cast<int>(Rejection::memory_under_1), rejected.end(), 0L);
  }
  /// One option: refused, or none of the limits is broken.
  void count(const std::optional<Refusal>& refusal) {
    if (refusal) return reject(*refusal);
    ++evaluated;
    ++feasible;
  }
  /// An option that was counted for one fate has another.
  void recount(const std::optional<Refusal>& was, const std::optional<Refusal>& is) {
    --evaluated;
    --(was ? rejected[static_cast<std::size_t>(was->reason)] : feasible);
    count(is);
  }
  void add(const Tally& other) {
    evaluated += other.evaluated;
    feasible += other.feasible;
    for (std::size_t i = 0; i < kRejections; ++i) {
      rejected[i] += other.rejected[i];
      come_near(i, other.nearest[i]);
    }
  }

 private:
  void come_near(std::size_t i, const std::optional<double>& figure) {
    if (figure && (!nearest[i] || *figure < *nearest[i])) nearest[i] = figure;
  }
};

}  // namespace stepcast
