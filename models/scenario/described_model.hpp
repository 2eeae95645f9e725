#pragma once

#include <memory>
#include <optional>

#include "models/workload/model.hpp"

namespace stepcast {

/// A model that a scenario describes and gives no usual length has the one that the workload states.
inline std::shared_ptr<const Model> with_length(std::shared_ptr<const Model> model, std::optional<int> seq_len) {
  if (!model->is_transformer() || model->default_seq_len > 0 || !seq_len) return model;
  auto out = std::make_shared<Model>(*model);
  out->default_seq_len = *seq_len;
  return out;
}

}  // namespace stepcast
