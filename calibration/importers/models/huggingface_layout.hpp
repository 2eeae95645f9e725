#pragma once

#include <string>
#include <vector>

#include "calibration/importers/models/huggingface_types.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// A model's configuration with the usual keys (Llama's), whatever its type calls them and in which section they are,
/// beside what its class sets where the file is silent, of a `part` of another model all sizes.
struct UsualLayout {
  Json config;
  Json stated;  ///< what of it the file says, by its own names and by the usual ones
};

/// Sizes that the file leaves out are noted.
UsualLayout usual_layout(const Json& config, const HuggingFaceType& type, bool part, std::vector<std::string>& notes);

}  // namespace stepcast
