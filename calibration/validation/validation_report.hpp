#pragma once

#include <string>
#include <vector>

#include "calibration/validation/score.hpp"

namespace stepcast {

/// One table over all sets, then what is not covered and the worst rows of each; at most 110 columns.
std::string validation_text(const std::vector<SetScore>& sets);

/// docs/guide/validate.md names every key. A figure that does not apply is null.
Json validation_json(const std::vector<SetScore>& sets);

}  // namespace stepcast
