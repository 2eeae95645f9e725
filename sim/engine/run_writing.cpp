#include "sim/engine/run_writing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/reliability/checkpoint.hpp"
#include "models/scenario/node_kinds.hpp"
#include "models/storage/storage.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"

namespace stepcast {

namespace {

bool writes_over_training_nics(const Scenario& scenario) {
  const std::vector<NodeKind> kinds = node_kinds(scenario);
  return std::any_of(kinds.begin(), kinds.end(),
                     [](const NodeKind& kind) { return stores_over_training_nics(*kind.scenario); });
}

}  // namespace

WritingRun::WritingRun(const Job& job) {
  const Scenario& scenario = *job.scenario;
  if (scenario.spec.run.checkpoint.kind != CheckpointKind::asynchronous || !writes_over_training_nics(scenario)) return;
  const CheckpointCost written = checkpoint_cost(job);
  if (written.local || scenario.spec.cluster.nodes < 2) return;
  child_.emplace([&job, written, &scenario] {
    const WritingStep step = build_writing_step(job, written, build_options(scenario));
    const Timeline timeline = simulate(step.graph);
    Seconds end;
    for (const int operation : step.ends) end = std::max(end, timeline.spans[static_cast<std::size_t>(operation)].end);
    return fmt::format("{:.17g}", end.value());
  });
}

std::optional<Seconds> WritingRun::step() {
  if (!child_) return std::nullopt;
  return Seconds(std::stod(child_->result()));
}

}  // namespace stepcast
