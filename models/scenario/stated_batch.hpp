#pragma once

#include "fields/json_text.hpp"

namespace stepcast {

/// Work is stated once, in the scenario that others are made of: where one of them states a critical batch and not at
/// which batch its work reaches the target, that is the baseline's batch and not its own, which may be varied.
void keep_stated_batch(Json& variant, const Json& baseline);

}  // namespace stepcast
