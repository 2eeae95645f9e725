#include "calibration/validation/attention_words.hpp"

#include <array>

#include "calibration/validation/stated_words.hpp"

namespace stepcast {

StatedAttention stated_attention(std::string_view text) {
  constexpr std::array kKernels{
      Spelling{"", ""},
      Spelling{"flash", ""},
      Spelling{"flash attention", ""},
      Spelling{"torch", "unfused"},
      Spelling{"eager", "unfused"},
      Spelling{"unfused", "unfused"},
      Spelling{"flash1", "flash-1"},
      Spelling{"flash attention 1", "flash-1"},
      Spelling{"triton", "flash-triton"},
      Spelling{"flash triton", "flash-triton"},
      Spelling{"flash2", "flash-2"},
      Spelling{"flash attention 2", "flash-2"},
      Spelling{"sdpa", "flash-2"},  // PyTorch's scaled_dot_product_attention calls FlashAttention-2
      Spelling{"flash3", "native"},
      Spelling{"flash attention 3", "native"},
      Spelling{"cuDNN", "native"},
      Spelling{"native", "native"}};
  constexpr std::string_view kCausal = "causal";
  std::string words = squashed(text);
  if (words.ends_with(kCausal)) words.resize(words.size() - kCausal.size());
  if (const auto kernel = word_of(words, kKernels)) return {*kernel, {}};
  return {{}, not_understood("attention", text, {"torch", "flash", "flash-2", "triton", "flash-3"})};
}

}  // namespace stepcast
