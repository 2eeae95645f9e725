#include "calibration/validation/operators/attention_kernels.hpp"

#include <algorithm>
#include <array>

#include "calibration/validation/stated_words.hpp"

namespace stepcast {
namespace {

/// Dense FLOPs of fp16 of a multiprocessor in a cycle: 1,024 multiply-adds on A100, 2,048 on H100 (NVIDIA's
/// architecture papers of both), 4,096 on B200 (peak over multiprocessors and clock).
constexpr double kAmpere = 2048, kHopper = 4096, kBlackwell = 8192;

constexpr std::array kAttentionKernels{
    KnownAttentionKernel{"flash-1", AttentionKernel::flash_1, kAmpere},
    KnownAttentionKernel{"flash-2", AttentionKernel::flash_2, kAmpere},
    KnownAttentionKernel{"flash-3", AttentionKernel::native, kHopper, true},
    KnownAttentionKernel{"flash-4", AttentionKernel::native, kBlackwell, true},
    KnownAttentionKernel{"xformers", AttentionKernel::flash_1, kAmpere},
    KnownAttentionKernel{"flash-triton", AttentionKernel::flash_triton},
    KnownAttentionKernel{"cudnn", AttentionKernel::native, 0, true},
    KnownAttentionKernel{"transformer-engine", AttentionKernel::native, 0, true},
    KnownAttentionKernel{"trtllm-gen", AttentionKernel::native, 0, true},
    KnownAttentionKernel{"trtllm-fmha", AttentionKernel::native, 0, true},
    KnownAttentionKernel{"native", AttentionKernel::native},
};

// What stands between a name's parts and its capital letters do not count.
constexpr std::array kKernelSpellings{
    Spelling{"flash-1", "flash-1"},
    Spelling{"fa1", "flash-1"},
    Spelling{"flash-attn-1", "flash-1"},
    Spelling{"flashattention-1", "flash-1"},
    Spelling{"flash-2", "flash-2"},
    Spelling{"fa2", "flash-2"},
    Spelling{"flash-attn-2", "flash-2"},
    Spelling{"flashattention-2", "flash-2"},
    Spelling{"flash-3", "flash-3"},
    Spelling{"fa3", "flash-3"},
    Spelling{"flash-attn-3", "flash-3"},
    Spelling{"flashattention-3", "flash-3"},
    Spelling{"flash-4", "flash-4"},
    Spelling{"fa4", "flash-4"},
    Spelling{"flash-attn-4", "flash-4"},
    Spelling{"flashattention-4", "flash-4"},
    Spelling{"flash-triton", "flash-triton"},
    Spelling{"triton", "flash-triton"},
    Spelling{"triton-flash", "flash-triton"},
    Spelling{"xformers", "xformers"},
    Spelling{"memory-efficient", "xformers"},
    Spelling{"mem-efficient", "xformers"},
    Spelling{"cudnn", "cudnn"},
    Spelling{"transformer-engine", "transformer-engine"},
    Spelling{"te", "transformer-engine"},
    Spelling{"TE (cudnn or flash)", "transformer-engine"},
    Spelling{"trtllm-gen", "trtllm-gen"},
    Spelling{"trtllm-fmha", "trtllm-fmha"},
    Spelling{"native", "native"},
    Spelling{"composable-kernel", "native"},
    Spelling{"ck", "native"},
    Spelling{"aiter", "native"},
    Spelling{"unfused", "unfused"},
    Spelling{"eager", "unfused"},
    Spelling{"math", "unfused"},
    Spelling{"naive", "unfused"},
};

/// How names end that say how a kernel is called or what it promises.
constexpr std::array kEndings{Spelling{"-deterministic", "-deterministic"}, Spelling{"-det", "-deterministic"},
                              Spelling{"-paged", "-paged"}};

std::string_view without_ending(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

}  // namespace

const KnownAttentionKernel* known_attention_kernel(std::string_view name) {
  for (const Spelling& ending : kEndings) name = without_ending(name, ending.text);
  const auto* found = std::find_if(kAttentionKernels.begin(), kAttentionKernels.end(),
                                   [&](const KnownAttentionKernel& kernel) { return kernel.name == name; });
  return found == kAttentionKernels.end() ? nullptr : found;
}

std::optional<std::string> attention_kernel_of(std::string_view implementation) {
  if (const auto word = word_of(implementation, kKernelSpellings)) return std::string(*word);
  for (const Spelling& ending : kEndings) {
    const std::string_view plain = without_ending(implementation, ending.text);
    if (plain.size() == implementation.size()) continue;
    const auto word = word_of(plain, kKernelSpellings);
    if (word && *word != "unfused") return std::string(*word).append(ending.word);
  }
  return std::nullopt;
}

std::vector<std::string> attention_kernel_names() {
  std::vector<std::string> out{"unfused"};
  for (const KnownAttentionKernel& kernel : kAttentionKernels) out.emplace_back(kernel.name);
  out.emplace_back("triton");
  return out;
}

}  // namespace stepcast
