#pragma once

#include "fields/json_text.hpp"
#include "report/prediction.hpp"

namespace stepcast {

/// A prediction as one JSON object; docs/formats/prediction.md names every key with its unit. What is unknown is null
/// (tokens of an image model, cost without a price). Figures carry 12 significant digits, so that what is written, read
/// and written again is the same text. Throws std::logic_error when a figure is not finite or a time is negative: such
/// a prediction is a bug and reaches nobody.
Json to_json(const Prediction& prediction);

/// The prediction that to_json wrote. Throws std::runtime_error when the object is not such a prediction.
Prediction prediction_from_json(const Json& document);

/// Throws std::logic_error that names the first figure which is not finite, or is negative though it cannot be.
void check_figures(const Prediction& prediction);

}  // namespace stepcast
