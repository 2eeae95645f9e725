#pragma once

#include <string>
#include <vector>

#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/huggingface_types.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// Puts a letter a layer (hybrid_override_pattern, and as many num_hidden_layers) in place of how a type says it. What
/// does not say it for every layer stays as it is.
void write_halves(Json& config, const HuggingFaceType& type);

/// The parts of an import that reads layers of one half.
struct ReadHalves {
  const Json& config;  ///< as write_halves left it
  ConfigReader& reader;
  Json& shape;
  std::vector<std::string>& notes;
  Diagnostics& diagnostics;
  std::string pointer;  ///< of the model within its file
};

/// Reads the letters that write_halves wrote, and the sizes of mixers and of linear attention.
void read_halves(const ReadHalves& into, const HuggingFaceType& type);

}  // namespace stepcast
