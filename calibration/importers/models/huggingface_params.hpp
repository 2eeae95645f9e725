#pragma once

#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// Whether a file is the params.json that Meta and Mistral put beside their own checkpoints.
bool is_params(const Json& document);

/// The config.json of transformers that says the same. Keys that it does not translate stay as they are, so that they
/// are listed. Notes what the file does not say.
Json config_of_params(const Json& params, std::vector<std::string>& notes);

}  // namespace stepcast
