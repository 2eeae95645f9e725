#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "models/workload/model.hpp"

namespace stepcast {

/// The name of a model in the spelling of the presets and of calibration/data/llm-models.csv: "Llama-3-8B",
/// "meta-llama/Meta-Llama-3-8B" and "llama3_8b" are "llama3-8b", and names of models of one shape are one name's
/// ("llama3.1-8b" too). What means none of these comes back in small letters.
std::string model_name_of(std::string_view text);

/// The preset of such a name; null where there is none, or it is no transformer.
std::shared_ptr<const Model> transformer_of(const std::string& name);

/// Why a row of a model is refused whose shape nobody states, with the nearest name.
std::string no_model(const std::string& name);

}  // namespace stepcast
