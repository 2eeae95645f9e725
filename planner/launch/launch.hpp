#pragma once

#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// A file by name, with its text.
struct NamedText {
  std::string name, text;
};

/// How to start a scenario's training: the framework's own settings, a torchrun script and a Slurm job. What the user
/// wrote (names, descriptions) goes into none of them; ids of the catalogue are letters, digits, dots and dashes.
std::vector<NamedText> launch_files(const Scenario& scenario);

/// Arguments of Megatron-LM's pretrain_gpt.py, or of an encoder-decoder's pretrain_t5.py, one a line.
std::vector<std::string> megatron_arguments(const Scenario& scenario);
/// DeepSpeed's configuration.
Json deepspeed_config(const Scenario& scenario);
/// Settings of PyTorch's DDP or FSDP for the training script to read.
Json torch_config(const Scenario& scenario);

}  // namespace stepcast
