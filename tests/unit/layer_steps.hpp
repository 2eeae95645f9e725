#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/operators.hpp"

namespace stepcast::test {

/// The step of a name. Throws std::logic_error where there is none.
inline const LayerStep& named(const std::vector<LayerStep>& steps, std::string_view name) {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const LayerStep& s) { return s.op.name == name; });
  if (found == steps.end()) throw std::logic_error("no step " + std::string(name));
  return *found;
}

}  // namespace stepcast::test
