#include "models/collectives/calibrated.hpp"
#include "models/scenario/draft.hpp"

namespace stepcast {

void resolve_communication(Draft& draft) {
  Scenario& s = draft.scenario;
  if (s.node == nullptr || (s.node->has_accelerators() && s.accelerator == nullptr)) return;
  try {
    s.link_profile = link_profile_of(*s.node, s.accelerator, draft.catalog);
    s.host_link_profile = host_link_profile_of(*s.node, s.accelerator, draft.catalog);
    s.network_profile = network_profile_of(*s.node, s.network, draft.catalog);
    s.library_profile = library_profile_of(s.accelerator, draft.catalog);
    const int nodes = draft.spec().cluster.nodes;
    for (std::string& remark : calibration_remarks(machine_of(s), nodes)) draft.assume(std::move(remark));
  } catch (const InputError& error) {
    draft.diagnostics.add(error.faults());
  }
}

}  // namespace stepcast
