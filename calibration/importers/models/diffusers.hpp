#pragma once

#include <optional>
#include <string>

#include "calibration/importers/models/huggingface.hpp"

namespace stepcast {

/// Whether a config.json is of Hugging Face diffusers (or of Wan's own code, which writes alike), and not of
/// transformers.
bool is_diffusers(const Json& config);

/// Reads the transformer of a diffusion model, without its parameter counts. Faults (a class that is not known, missing
/// sizes) go to `diagnostics`. `seq_len`: tokens of a latent that a step trains on; else those of the class's usual
/// pictures or films, with a note.
ImportedModel import_diffusers(const Json& config, const std::string& id, std::optional<int> seq_len,
                               Diagnostics& diagnostics);

}  // namespace stepcast
