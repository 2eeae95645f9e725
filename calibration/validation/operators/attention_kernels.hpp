#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/frameworks/framework.hpp"

namespace stepcast {

/// A program whose attention kernels are timed.
struct KnownAttentionKernel {
  std::string_view name;       ///< as profiles have it, without `-paged` and `-deterministic`
  AttentionKernel generation;  ///< what compute profiles call it
  /// FLOPs in 16 bit of a multiprocessor and cycle that its instructions reach: those of the generation that it was
  /// written for. A later one's multiprocessors do more, and it gains nothing of that (FlashAttention 1 and 2 from A100
  /// to H100: 0.53 and 0.60 of their share, where A100's FLOPs of a cycle are half of H100's). 0: its maker or compiler
  /// takes the instructions of each generation.
  double written_for = 0;
  bool nvidia_only = false;
};

/// Null when none has the name, which may end in `-paged` or `-deterministic`.
const KnownAttentionKernel* known_attention_kernel(std::string_view name);

/// The name that profiles have for what a table calls a kernel, "unfused" included: `flash1`, `FA2`, `triton`,
/// `TE (cudnn or flash)`, `cudnn-det`. Null for any other word.
std::optional<std::string> attention_kernel_of(std::string_view implementation);

/// Every name that is understood.
std::vector<std::string> attention_kernel_names();

}  // namespace stepcast
