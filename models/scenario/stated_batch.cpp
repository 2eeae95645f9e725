#include "models/scenario/stated_batch.hpp"

#include <utility>

namespace stepcast {

void keep_stated_batch(Json& variant, const Json& baseline) {
  // What is malformed is told when the documents are read.
  const Json::json_pointer workload("/workload"), batch("/workload/global_batch");
  if (!variant.contains(workload) || !variant[workload].is_object() || !baseline.contains(batch)) return;
  Json own = baseline.at(batch);  // both may be the same document
  Json& stated = variant[workload];
  if (stated.contains("critical_batch") && !stated.contains("stated_at_batch"))
    stated["stated_at_batch"] = std::move(own);
}

}  // namespace stepcast
