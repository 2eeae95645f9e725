#pragma once

#include <set>
#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// A file by name, with its text.
struct NamedText {
  std::string name, text;
};

/// How to start a scenario's training: the framework's own settings, a script that starts it and a Slurm job; or, where
/// the framework starts its processes by programs of its own, a text that says so. What the user
/// wrote (names, descriptions) goes into none of them; ids of the catalogue are letters, digits, dots and dashes. What
/// the settings cannot say is a comment of the script.
std::vector<NamedText> launch_files(const Scenario& scenario);

/// Every name that launch_files gives to a file.
const std::vector<std::string>& launch_file_names();

/// Arguments of Megatron-LM's pretrain_gpt.py, of an encoder's pretrain_bert.py or of an encoder-decoder's
/// pretrain_t5.py, one a line. `stepcast import megatron` reads them as the same model and strategy.
std::vector<std::string> megatron_arguments(const Scenario& scenario);
/// Whether Megatron-FSDP cuts what the scenario's sharding cuts (zero-2, fsdp, hsdp).
bool by_megatron_fsdp(const Scenario& scenario);
/// What of the scenario Megatron-LM's arguments have no words for.
std::vector<std::string> beyond_megatron_arguments(const Scenario& scenario);
/// DeepSpeed's configuration.
Json deepspeed_config(const Scenario& scenario);
/// What of the strategy is the training script's, not DeepSpeed's.
std::vector<std::string> beyond_deepspeed_config(const Scenario& scenario);
/// What the strategy says beside these keys, those that every kind of settings here has words for, and what no settings
/// are made of (the framework, figures that were measured, defaults): no key is lost because nobody thought of it.
Json strategy_beside(const Scenario& scenario, const std::set<std::string>& told);
/// The same in words, for comments.
std::vector<std::string> words_beside(const Scenario& scenario, const std::set<std::string>& told);
/// Settings of PyTorch's DDP or FSDP for the training script to read.
Json torch_config(const Scenario& scenario);

}  // namespace stepcast
