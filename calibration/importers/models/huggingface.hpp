#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// A model as another program's configuration describes it.
struct ImportedModel {
  Json model;  ///< as `workload.model` takes it
  double parameters = 0;
  double active_parameters = 0;    ///< that one token uses
  std::vector<std::string> notes;  ///< what was assumed, and which keys were not used
};

/// Longest sequence that a step is assumed to train on where the user does not say: models are trained on much shorter
/// ones than their positions allow.
inline constexpr int kAssumedSequence = 8192;

/// The text of a config.json. Python writes bare Infinity and NaN into such files, which are read as null.
Json parse_huggingface(const std::string& text, Diagnostics& diagnostics);
/// Whether a description of a model is a config.json of transformers, or a params.json, and not one in the presets'
/// keys.
bool is_huggingface(const Json& document);

/// What a config.json is called: `file` in faults, `id` where it does not name its model.
struct HuggingFaceName {
  std::string file, id;
};

/// Reads a Hugging Face config.json of a type that huggingface_types.hpp knows, or that has one in its text_config, or
/// the params.json of Meta's and Mistral's own checkpoints. Throws InputError with every fault. `seq_len`: tokens that
/// a step trains on.
ImportedModel import_huggingface(const Json& config, const HuggingFaceName& name, std::optional<int> seq_len);
/// The same of a file, whose name or folder is the model's where it does not say.
ImportedModel import_huggingface(const std::filesystem::path& file, std::optional<int> seq_len);

}  // namespace stepcast
