#include "models/scenario/variants.hpp"

#include "models/parallelism/synchronization.hpp"
#include "models/scenario/draft.hpp"

namespace stepcast {

ScenarioVariants::ScenarioVariants(ScenarioSpec shared, const std::string& file, const Catalog& catalog)
    : diagnostics_(file), draft_(std::make_unique<Draft>(std::move(shared), catalog, diagnostics_)) {
  resolve_surface(*draft_);
  check_surroundings(*draft_);
  check_phases(*draft_);
  diagnostics_.throw_if_faulty();
  framework_ = draft_->scenario.framework;
}

ScenarioVariants::~ScenarioVariants() = default;

const Scenario& ScenarioVariants::shared() const { return draft_->scenario; }

const Scenario* ScenarioVariants::with(const StrategySpec& strategy, long global_batch) {
  if (!diagnostics_.ok()) diagnostics_ = Diagnostics(diagnostics_.file());
  Scenario& s = draft_->scenario;
  s.spec.strategy = strategy;
  s.spec.workload.global_batch = global_batch;
  s.framework = framework_;
  s.degrees = {};
  s.stage_layers.clear();
  s.shard_size = 1;
  s.servers.reset();
  s.server_node = nullptr;
  s.assumptions.clear();
  draft_->degrees_known = false;
  draft_->batch_known = false;
  resolve_strategy(*draft_);
  check_algorithm_runs(*draft_);
  if (!diagnostics_.ok()) return nullptr;
  auto& settled = settled_[{s.degrees.dp * s.degrees.cp, gradient_bytes(s)}];
  if (!settled) {
    settle_bucket(s);
    settled = s.framework;
  }
  s.framework = settled;
  return &s;
}

}  // namespace stepcast
