#include <algorithm>
#include <array>

#include "calibration/importers/models/huggingface_types.hpp"

namespace stepcast {

namespace {

struct Refusal {
  std::string_view name, lacks;
};
// What their modelling code does and no shape here can say.
constexpr std::array kRefusals{
    Refusal{"nemotron-nas", "blocks of different widths (block_configs)"},
    Refusal{"deci", "blocks of different widths"},
    Refusal{"openelm", "blocks of different widths"},
    Refusal{"gemma3n_text", "four residual streams that predict one another (AltUp)"},
    Refusal{"minimax_m3_vl_text", "attention over blocks of tokens that an indexer picks"},
    Refusal{"ernie4_5_vl_moe_text", "experts of two widths, for text and for pictures"},
    Refusal{"longcat_flash", "blocks of two attentions and experts without computation"},
    Refusal{"arctic", "dense MLPs of another width beside attention and experts"},
    Refusal{"switch_transformers", "experts in an encoder-decoder"},
    Refusal{"nllb-moe", "experts in an encoder-decoder"},
    Refusal{"jamba", "state-space layers (Mamba) beside attention with experts in every second"},
    Refusal{"zamba2", "state-space layers with shared attention"},
    Refusal{"zamba", "state-space layers with shared attention"},
    Refusal{"plamo2", "state-space layers (Mamba 2) in whole blocks"},
    Refusal{"lfm2_moe", "short convolutions instead of attention"},
    Refusal{"lfm2", "short convolutions instead of attention"},
    Refusal{"mamba", "state-space layers (Mamba) without attention"},
    Refusal{"falcon_mamba", "state-space layers (Mamba) without attention"},
    Refusal{"rwkv", "recurrent layers without attention"},
    Refusal{"rwkv7", "recurrent layers without attention"},
    Refusal{"recurrent_gemma", "recurrent layers (RG-LRU)"},
    Refusal{"mllama", "layers of attention across to an image"},
    Refusal{"mllama_text_model", "layers of attention across to an image"},
    Refusal{"vit", "patches of images"},
    Refusal{"swin", "patches of images"},
    Refusal{"clip", "patches of images"},
    Refusal{"siglip", "patches of images"},
    Refusal{"dinov2", "patches of images"},
    Refusal{"whisper", "frames of sound and convolutions over them"},
    Refusal{"wav2vec2", "frames of sound and convolutions over them"}};

}  // namespace

std::string_view huggingface_refusal(std::string_view name) {
  const auto found =
      std::find_if(kRefusals.begin(), kRefusals.end(), [&](const Refusal& one) { return one.name == name; });
  return found == kRefusals.end() ? std::string_view{} : found->lacks;
}

}  // namespace stepcast
