#pragma once

#include <array>

#include "fields/field_table.hpp"

namespace stepcast {

/// How a diffusion transformer's tokens see the text: each block by cross attention (PixArt-α, Wan), or text and latent
/// in one sequence (Stable Diffusion 3, FLUX).
enum class ContextKind { cross_attention, joint_attention };
template <>
struct EnumNames<ContextKind> {
  static constexpr std::array names{"cross_attention", "joint_attention"};
};

/// What a diffusion transformer has in place of a vocabulary and a causal mask (Peebles & Xie 2022, arXiv 2212.09748):
/// its tokens are patches of a latent, `seq_len` of them a sample, all of which see one another, and the time of the
/// noise, with what the sample shows, scales and shifts what its blocks read and give. The autoencoder and the text
/// encoder are frozen; what they give is stored.
struct DiffusionShape {
  int patch_elements = 0;  ///< values of the latent in a token, which goes in and comes out
  int context_tokens = 0;  ///< of a sample's text; 0: none, what it shows is a class
  int context_width = 0;   ///< of what the text encoder gives
  ContextKind context = ContextKind::cross_attention;
  /// The first so many layers have weights for the text's tokens and others for the latent's (Esser et al. 2024, arXiv
  /// 2403.03206, section 4: MM-DiT).
  int two_stream_layers = 0;
  /// Vectors of width hidden by which the time changes a block, of each stream: three (shift, scale and gate) for each
  /// norm.
  int modulation_vectors = 6;
  int single_stream_vectors = 0;   ///< of blocks behind the two-stream ones; 0: as modulation_vectors
  bool shared_modulation = false;  ///< one projection gives them for all blocks, which add a table of their own
  static const FieldTable<DiffusionShape>& fields();
};

}  // namespace stepcast
