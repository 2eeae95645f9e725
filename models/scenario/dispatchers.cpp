#include "models/scenario/dispatchers.hpp"

#include <algorithm>
#include <array>

namespace stepcast {

namespace {

/// DeepEP has settings for so many ranks and no others (deep_ep/buffer.py, get_dispatch_config asserts it).
constexpr std::array kDeepEpRanks{2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 144, 160};

}  // namespace

/// DeepEP and HybridEP run on NVIDIA's parts of compute capability 8.0 and later (Megatron-Bridge,
/// flex_dispatcher_backend.py), which are those with bf16 (CUDA C++ Programming Guide, table of data types).
bool dispatch_runs_on(ExpertDispatch dispatch, const Accelerator* accelerator) {
  if (dispatch == ExpertDispatch::all_to_all) return true;
  return accelerator != nullptr && accelerator->vendor == "NVIDIA" &&
         accelerator->peak(Precision::bf16) > FlopsPerSecond(0);
}

bool dispatch_takes(ExpertDispatch dispatch, int ranks, const Node& node) {
  if (dispatch == ExpertDispatch::all_to_all || by_hybridep(node)) return true;
  return std::find(kDeepEpRanks.begin(), kDeepEpRanks.end(), ranks) != kDeepEpRanks.end();
}

bool by_hybridep(const Node& node) { return node.interconnect.kind == NodeTopology::nvswitch_rack; }

}  // namespace stepcast
