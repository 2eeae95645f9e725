#include "hardware-catalog/part_table.hpp"
#include "hardware-catalog/parts.hpp"

namespace stepcast {

using namespace part_rules;

namespace {

Rules share_above_zero() {
  Rules rules = share();
  rules.above_min = true;
  return rules;
}
/// Winograd's F(4×4, 3×3) does 2.25 to 4 times the direct multiplications' work (Lavin and Gray 2016).
Rules winograd_share() {
  Rules rules = between(0, 4);
  rules.above_min = true;
  return rules;
}

}  // namespace

const FieldTable<ComputeProfile>& ComputeProfile::fields() {
  using P = ComputeProfile;
  static const FieldTable<P> table =
      PartTable<P>("compute profile", "How well the kernels of a family of accelerators use the hardware")
          .field("id", &P::id, "Name of the file", required())
          .field("gemm_sustained_share", &P::gemm_sustained_share,
                 "Share of the dense peak that matrix products sustain in long compute-bound phases, by precision",
                 required_share())
          .field("gemm_k_overhead", &P::gemm_k_overhead, "k0: extra columns of k that a tile's start-up costs",
                 required_at_least(0))
          .field("gemm_tail_share", &P::gemm_tail_share, "c: share of one wave of 128×128 tiles lost at the tail",
                 share())
          .field("kernel_floor_us", &P::kernel_floor, "Shortest kernel", required_positive())
          .field("memory_share", &P::memory_share, "Share of the memory bandwidth that streaming kernels reach",
                 required_share())
          .field("attention_forward_share", &P::attention_forward_share,
                 "Share of the dense peak of fused attention at long sequences, causal FLOPs halved, by generation of "
                 "kernels (flash-1, flash-triton, flash-2, native)",
                 required_share())
          .field("attention_backward_ratio", &P::attention_backward_ratio, "Backward rate over forward rate",
                 required_positive())
          .field("attention_half_sequence", &P::attention_half_sequence, "Sequence length at half of that rate",
                 required_at_least(0))
          .field("attention_head64_factor", &P::attention_head64_factor, "Rate at head size 64 over that at 128",
                 positive())
          .field("unfused_attention_gemm_share", &P::unfused_attention_gemm_share,
                 "Rate of products in unfused attention over that of plain ones", required_share())
          .field("convolution_share", &P::convolution_share,
                 "Share of the dense peak of convolutions in the main training format", required_share())
          .field("convolution_share_fp32", &P::convolution_share_fp32,
                 "Share of the fp32 peak of convolutions in fp32, a ResNet's mix of 1×1 and 3×3", share())
          .field("convolution_pointwise_share", &P::convolution_pointwise_share,
                 "Share of the dense peak of 1×1 convolutions, by precision; without one: convolution_share",
                 share_above_zero())
          .field("convolution_3x3_share", &P::convolution_3x3_share,
                 "Share of the dense peak of 3×3 convolutions with stride 1, by precision, counted as direct ones: "
                 "Winograd's may exceed 1",
                 winograd_share())
          .field("convolution_window_share", &P::convolution_window_share,
                 "Share of the dense peak of convolutions with other windows, strides or dimensions, by precision",
                 winograd_share())
          .field("convolution_grouped_share", &P::convolution_grouped_share,
                 "Share of the dense peak of grouped convolutions with 8 channels a group, by precision",
                 share_above_zero())
          .field("convolution_depthwise_share", &P::convolution_depthwise_share,
                 "Share of the fp32 peak of depthwise convolutions; 0: as grouped ones", share())
          .field("convolution_depthwise_share_fp32", &P::convolution_depthwise_share_fp32,
                 "Share of the fp32 peak of depthwise convolutions in fp32 and tf32; 0: convolution_depthwise_share",
                 share())
          .field("convolution_full_width", &P::convolution_full_width,
                 "Channels of a convolution's result below which matrix units wait for its operands, their rate in "
                 "proportion; 0: not known, none",
                 at_least(0))
          .field("host_link_share", &P::host_link_share, "Share of the host link's raw rate that pinned copies reach",
                 required_share())
          .field("any_row_length", &P::any_row_length,
                 "Products of rows of any length run alike, as compilers pad them; else kernels load 16 bytes at once, "
                 "and rows of other lengths are slow")
          .field("trains_in_int8", &P::trains_in_int8, "Products of training run in int8, too, where it has a peak")
          .field("figures", &P::figures, "Further figures, by name with unit")
          .fields_of(&P::provenance);
  return table;
}

}  // namespace stepcast
