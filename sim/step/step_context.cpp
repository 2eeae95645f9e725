#include "models/parallelism/message.hpp"
#include "sim/step/column_builder.hpp"

namespace stepcast {

StepContext::StepContext(const Job& of, const BuildOptions& how, StepGraph& into)
    : job(of), options(how), plan(synchronization_plan(*of.scenario)), graph(into) {
  for (std::size_t state = 0; state < job.fold.states.size(); ++state) {
    programs_.push_back(std::make_shared<ProgramCache>(job.in_state(static_cast<int>(state)), options.granularity));
    graph.keep(programs_.back());
  }
}

const std::vector<SyncUnit>& StepContext::units(int state, int stage) {
  const auto [entry, fresh] = units_.try_emplace({state, stage});
  if (fresh) entry->second = sync_units(job.in_state(state), stage);
  return entry->second;
}

const CollectiveCost& StepContext::message(int state, int from, int to, Bytes bytes) {
  const auto [entry, fresh] = messages_.try_emplace({state, from, to, bytes.value()});
  if (fresh) entry->second = stage_message(job.in_state(state), from, to, bytes).cost;
  return entry->second;
}

int StepContext::segment_id(const Segment& segment) {
  const auto [entry, fresh] = segment_ids_.try_emplace(&segment, 0);
  if (fresh) entry->second = graph.add_segment(&segment);
  return entry->second;
}

}  // namespace stepcast
