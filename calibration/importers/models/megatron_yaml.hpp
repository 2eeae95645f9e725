#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// Whether a text is the nested YAML of NeMo (`trainer:`, `model:`), of Megatron-Bridge (`model:`, `train:`, `ddp:`, …)
/// or of Megatron-LM's --yaml-cfg (`language_model:`, `model_parallel:`). Lists of options, `--name: value`, are not.
bool is_megatron_yaml(std::string_view text);

/// Whether an option that `arguments_of_yaml` gives changes neither time nor memory, unless somebody asks for it.
bool is_harmless_megatron_yaml_option(std::string_view option);

/// Its keys as Megatron-LM's arguments, one a line. Sections that change neither time nor memory are passed over; keys
/// without a counterpart become options of their own name, so that they are listed. References (`${model.seq_length}`)
/// are followed; those that cannot be are noted. `call`: what its variables are, `NAME=VALUE …`, for `${NAME}`.
std::string arguments_of_yaml(std::string_view text, std::string_view call, std::vector<std::string>& notes,
                              Diagnostics& diagnostics);

}  // namespace stepcast
