#pragma once

#include <string>

#include "fields/json_text.hpp"

namespace stepcast {

/// What a table of models knows of one beyond the sizes that rows of runs repeat.
struct KnownShape {
  Json transformer;     ///< keys of TransformerShape; null when there is none
  std::string refusal;  ///< why a model of this name has no description
};

/// The shape of a model of calibration/data/llm-models.csv, with the sizes that the row of a run states taken first.
KnownShape known_shape(const std::string& model, const Json& stated_sizes);

}  // namespace stepcast
