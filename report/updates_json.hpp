#pragma once

#include "fields/json_text.hpp"
#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// `staleness` of a prediction.
Json staleness_json(const Staleness& staleness);
/// `updates` of a prediction.
Json updates_json(const UpdateOutcome& outcome);
/// Both again, from a prediction's document that has `updates`. Throws Json::exception.
UpdateOutcome updates_from(const Json& prediction);

}  // namespace stepcast
