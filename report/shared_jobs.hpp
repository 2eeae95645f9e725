#pragma once

#include <string>

#include "fields/json_text.hpp"
#include "sim/shared_outcome.hpp"

namespace stepcast {

Json to_json(const SharedOutcome& outcome);
SharedOutcome shared_outcome_from_json(const Json& document);
std::string text_report(const SharedOutcome& outcome);

}  // namespace stepcast
