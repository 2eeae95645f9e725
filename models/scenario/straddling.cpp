#include <fmt/format.h>

#include "models/parallelism/groups.hpp"
#include "models/scenario/draft.hpp"

namespace stepcast {

void remark_straddling(Draft& draft) {
  const RankLayout layout = rank_layout(draft.scenario);
  if (!straddles_nodes(layout)) return;
  draft.assume(
      fmt::format("groups of ranks lie partly on one node of {} and partly on the next: all are priced as the "
                  "first lies, whatever crosses nodes in others",
                  layout.devices_per_node));
}

}  // namespace stepcast
