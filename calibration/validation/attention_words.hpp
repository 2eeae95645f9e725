#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// What a column `attention` of a table of training runs says.
struct StatedAttention {
  std::string_view kernel;  ///< as `strategy.attention_kernel` has it; empty: the framework's own
  std::string refusal;      ///< why the text names no kernel; else empty
};

/// The kernel that a text names. Attention of decoders is causal, whether it says so or not; "flash" without a
/// generation is the framework's own kernel, as is a blank (llm-foundry: attn_impl "torch", "triton", "flash").
StatedAttention stated_attention(std::string_view text);

}  // namespace stepcast
