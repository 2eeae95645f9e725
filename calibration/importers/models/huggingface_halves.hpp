#pragma once

#include "calibration/importers/models/huggingface_types.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// Puts a letter a layer (hybrid_override_pattern, and as many num_hidden_layers) in place of how a type says it. What
/// does not say it for every layer stays as it is.
void write_halves(Json& config, LayerHalves halves);

/// The key by which a file of a type says it.
std::string_view halves_key(LayerHalves halves);

}  // namespace stepcast
