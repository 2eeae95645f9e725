#pragma once

#include <optional>
#include <vector>

#include "planner/family.hpp"
#include "planner/option.hpp"

namespace stepcast {

/// Options of a family whose layers cost the same: they differ in pipeline, sharding and batch only.
struct Block {
  std::size_t family = 0;
  int tp = 1, cp = 1, ep = 1;
  int etp = 1;  ///< tp, or 1: whole experts
  ExpertDispatch dispatch = ExpertDispatch::all_to_all;
  long micro_batch = 1;
  Recompute recompute = Recompute::none;
  bool sequence_parallel = false;
  bool offload_optimizer = false;
  OffloadDevice offload_device = OffloadDevice::host;
};

/// Whether the optimizer's states lie outside of the device, and where.
struct Offload {
  bool optimizer = false;
  OffloadDevice device = OffloadDevice::host;
};

/// The legal space of one family: which blocks it has, and which options a block has.
class Space {
 public:
  /// `shared`: the family's scenario, its strategy not yet chosen. Both must outlive this.
  Space(const PlanQuestionSpec& question, const Scenario& shared);

  /// All blocks in a fixed order; degrees that fit neither model nor machine are counted in `tally`.
  [[nodiscard]] std::vector<Block> blocks(std::size_t family, Tally& tally) const;
  /// All options of a block in a fixed order.
  [[nodiscard]] std::vector<Option> options(const Block& block, Tally& tally) const;
  /// The strategy of an option, with stage_layers where its pipeline is uneven.
  [[nodiscard]] StrategySpec strategy(const Option& option) const;

 private:
  [[nodiscard]] bool tensor_degree(int tp) const;
  [[nodiscard]] std::vector<int> tensor_degrees(Tally& tally) const;
  [[nodiscard]] std::vector<int> context_degrees(int tp) const;
  [[nodiscard]] std::vector<int> expert_degrees(int ranks, Tally& tally) const;
  [[nodiscard]] std::vector<int> expert_tensor_degrees(int tp, bool sequence, Tally& tally) const;
  [[nodiscard]] std::vector<ExpertDispatch> dispatches(int ep, int ranks) const;
  [[nodiscard]] std::vector<int> pipeline_degrees(int rest, Tally& tally) const;
  [[nodiscard]] std::vector<int> virtual_degrees(int pp) const;
  [[nodiscard]] std::vector<long> micro_batches(int tp, int cp) const;
  [[nodiscard]] std::vector<Sharding> shardings(int replicas, int pp) const;
  [[nodiscard]] std::vector<Offload> offloads() const;
  [[nodiscard]] long batch_for(long unit) const;
  [[nodiscard]] std::vector<PipelineSchedule> schedules() const;
  void add_schedules(std::vector<Option>& out, Option option, int dp, Tally& tally) const;

  const PlanQuestionSpec& question_;
  const Scenario& shared_;
  const TransformerShape* shape_;
  int devices_, per_node_, layers_;
  StrategySpec fixed_;
};

/// Divisors of a number, ascending.
std::vector<long> divisors(long number);

}  // namespace stepcast
