#include "report/predict_updates.hpp"

#include "models/updates/lone_node.hpp"
#include "models/updates/update_step.hpp"

namespace stepcast {

Prediction predict_updates(const Scenario& scenario, const Catalog& catalog, Fidelity fidelity,
                           const StepOfJob& step_of_job, MemoryAdvice advice, Extent extent) {
  const Job job = lower(scenario);
  const Scenario lone_scenario = lone_node(scenario);
  const Job lone = lower(lone_scenario);
  const UpdateStep step = update_step(job, lone, step_of_job(lone));
  return predict(job, step.breakdown, fidelity, catalog, advice, extent, step.outcome);
}

}  // namespace stepcast
