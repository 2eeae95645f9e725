#pragma once

#include <array>
#include <optional>

#include "fields/field_table.hpp"

namespace stepcast {

/// How a layer of linear attention changes the matrix that each of its heads keeps of the past: the delta rule with one
/// decay a head (Gated DeltaNet, Yang et al. 2024, arXiv 2412.06464: Qwen3-Next, Qwen3.5), or one a channel of the keys
/// (Kimi Delta Attention, arXiv 2510.26692); or sums with a decay that is no function of the token (Lightning
/// Attention, Qin et al. 2024, arXiv 2405.17381: MiniMax-01, Ring-linear).
enum class LinearAttentionKind { gated_delta, kimi_delta, lightning };
template <>
struct EnumNames<LinearAttentionKind> {
  static constexpr std::array names{"gated_delta", "kimi_delta", "lightning"};
};

/// Sizes of the linear attention that layers of letter G have (TransformerShape::layer_pattern).
struct LinearAttentionShape {
  LinearAttentionKind kind = LinearAttentionKind::gated_delta;
  int key_heads = 0;    ///< of queries, and of keys; each serves as many heads of values as there are more of those
  int value_heads = 0;  ///< each with a matrix of key_head_dim × value_head_dim
  int key_head_dim = 0, value_head_dim = 0;
  std::optional<int> convolution;  ///< tokens that the one over queries, keys and values sees; 0: none; default: below
  int gate_rank = 0;  ///< kimi_delta: width by way of which decays and the output's gate come; 0: as key_head_dim
  [[nodiscard]] int latent() const { return gate_rank > 0 ? gate_rank : key_head_dim; }
  /// Four under the delta rules (fla's conv_size); Lightning Attention has none.
  [[nodiscard]] int convolved_tokens() const {
    return convolution.value_or(kind == LinearAttentionKind::lightning ? 0 : 4);
  }
  static const FieldTable<LinearAttentionShape>& fields();
};

}  // namespace stepcast
