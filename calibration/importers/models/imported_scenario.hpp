#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// Where an imported training is to run, as far as its own file does not say.
struct ImportTarget {
  std::string node = "dgx-h100";
  std::optional<int> nodes;
  std::optional<int> seq_len;
  std::optional<int> vocab_size;  ///< where the file does not say
  std::string call;               ///< what a script is called with: `NAME=VALUE …`, then its arguments
  Json model;                     ///< preset id or description, where the file names none; null: not given
};

struct ImportedScenario {
  Json scenario;
  std::vector<std::string> notes;
};

/// Reads a list of Megatron-LM's arguments (or the shell script that passes them): model, strategy, batch, precision.
/// Throws InputError with every fault. Source of names and defaults: megatron/training/arguments.py of Megatron-LM
/// core 0.12.
ImportedScenario import_megatron(const std::filesystem::path& file, const ImportTarget& target, const Catalog& catalog);

/// Reads a DeepSpeed configuration: sharding, offload, batch, precision. The model is the target's. Throws InputError.
/// Source of keys: deepspeed.ai/docs/config-json.
ImportedScenario import_deepspeed(const std::filesystem::path& file, const ImportTarget& target,
                                  const Catalog& catalog);
/// The same of a configuration that stands in another file, `file` in faults.
ImportedScenario import_deepspeed(const Json& config, const std::filesystem::path& file, const ImportTarget& target,
                                  const Catalog& catalog);

/// Reads the configuration of Hugging Face accelerate (YAML, or JSON): kind of training, processes, precision, and the
/// sections for FSDP, DeepSpeed and Megatron-LM. The model is the target's. Throws InputError.
/// Source of keys: accelerate/commands/config/config_args.py, utils/dataclasses.py.
ImportedScenario import_accelerate(const std::filesystem::path& file, const ImportTarget& target,
                                   const Catalog& catalog);

/// Reads torchtitan's TOML: model by its flavour, degrees, batch, precision, checkpointing. Throws InputError.
/// Source of keys: torchtitan/config/job_config.py.
ImportedScenario import_torchtitan(const std::filesystem::path& file, const ImportTarget& target,
                                   const Catalog& catalog);

}  // namespace stepcast
