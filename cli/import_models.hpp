#pragma once

#include "cli/import_kinds.hpp"

namespace stepcast {

/// Imports of what is trained: configurations of other programs, and traces of them.
ImportAction prepare_huggingface(CLI::App& app);
ImportAction prepare_onnx(CLI::App& app);
ImportAction prepare_megatron(CLI::App& app);
ImportAction prepare_deepspeed(CLI::App& app);
ImportAction prepare_accelerate(CLI::App& app);
ImportAction prepare_torchtitan(CLI::App& app);
ImportAction prepare_kineto(CLI::App& app);

}  // namespace stepcast
