#pragma once

#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// Whether the arguments describe multi-latent attention: by its switch, or by the ranks of its latents, which is how
/// Pai-Megatron-Patch's programs are told; those have no switch, and a note says so.
bool has_latent_attention(MegatronArguments& in);

/// Reads it, and DeepSeek's sparse attention on it, into a model's shape. Names are those of Megatron-LM and of
/// MindSpeed-LLM, defaults those of MLATransformerConfig.
void read_latent_attention(MegatronArguments& in, Json& shape);

}  // namespace stepcast
