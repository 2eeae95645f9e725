#include "hardware-catalog/operator_profile.hpp"
#include "hardware-catalog/part_table.hpp"

namespace stepcast {

using namespace part_rules;

const FieldTable<ProductConstants>& ProductConstants::fields() {
  using P = ProductConstants;
  static const FieldTable<P> table =
      PartTable<P>("product constants", "Matrix products")
          .field("burst_share", &P::burst_share,
                 "Share of the dense peak that large tiles reach at the clocks of short benchmarks, by format",
                 required_share())
          .field("memory_share", &P::memory_share, "Share of the memory bandwidth that operands stream at",
                 required_share())
          .field("cache_speedup", &P::cache_speedup, "Rate of the last-level cache over that of the memory",
                 required_at_least(1))
          .field("launch_us", &P::launch, "Shortest product", required_positive())
          .field("eager_launch_us", &P::eager_launch, "The same called by a framework's host; 0: not known",
                 at_least(0))
          .field("start_up_k", &P::start_up_k, "Columns of k that a tile's start-up and write-back cost",
                 required_at_least(0))
          .field("whole_wave_share", &P::whole_wave_share,
                 "0: a last wave of tiles costs the share that it fills; 1: as much as a full one",
                 required_within(0, 1))
          .field("small_tile_exponent", &P::small_tile_exponent,
                 "A tile's rate is its area over 128 × 128 to this power, at most 1", required_at_least(0))
          .field("overlap_exponent", &P::overlap_exponent, "Of the p-norm of arithmetic and traffic",
                 required_at_least(1))
          .field("split_cost_us", &P::split_cost, "Adding up a product whose k was split", required_at_least(0))
          .field("accumulate_share", &P::accumulate_share,
                 "Rate of a product that accumulates into fp32, over one that writes its own format, by format",
                 part_rules::share());
  return table;
}

const FieldTable<BoardPowerConstants>& BoardPowerConstants::fields() {
  using P = BoardPowerConstants;
  static const FieldTable<P> table =
      PartTable<P>("board power constants", "What a product draws, of the board's power limit")
          .field(
              "sustained_share", &P::sustained_share,
              "Share of the dense peak that a product of random numbers reaches when power alone limits it, by format",
              required_positive())
          .field("static_share", &P::static_share, "Drawn between the kernels of a busy stream", required_share())
          .field("streaming_share", &P::streaming_share, "Added by memory traffic at the full bandwidth",
                 required_at_least(0))
          .field("limit_share", &P::limit_share, "The sensor's reading at the limit", required_share());
  return table;
}

const FieldTable<AttentionConstants>& AttentionConstants::fields() {
  using P = AttentionConstants;
  static const FieldTable<P> table =
      PartTable<P>("attention constants", "One generation of fused attention kernels in one format")
          .field("share", &P::share, "Share of the format's dense peak by long sequences at head size 128, forward",
                 required_share())
          .field("backward_share", &P::backward_share, "The same of the backward kernel; 0: not known",
                 part_rules::share())
          .field("start_up_keys", &P::start_up_keys, "Keys that starting a tile of queries costs", required_at_least(0))
          .field("backward_start_up_keys", &P::backward_start_up_keys, "The same of the backward kernel", at_least(0))
          .field("tile_queries", &P::tile_queries, "Queries of one tile", required_at_least(1))
          .field("whole_wave_share", &P::whole_wave_share, "As of products", required_within(0, 1))
          .field("head64_factor", &P::head64_factor, "Rate at head size 64 over that at 128", required_positive())
          .field("head256_factor", &P::head256_factor, "Rate at head size 256 over that at 128", required_positive())
          .field("memory_share", &P::memory_share,
                 "Share of the bandwidth at which queries, keys, values and results move, before and after",
                 required_positive())
          .field("launch_us", &P::launch, "Shortest call", required_positive());
  return table;
}

std::string attention_key(std::string_view kernel, std::string_view format) {
  std::string key(kernel);
  if (format != "bf16" && format != "fp16") key.append(".").append(format);
  return key;
}

const FieldTable<UnfusedAttentionConstants>& UnfusedAttentionConstants::fields() {
  using P = UnfusedAttentionConstants;
  static const FieldTable<P> table =
      PartTable<P>("unfused attention constants", "Attention with its scores in memory")
          .field("share", &P::share, "Share of the dense peak by its products, forward", required_share())
          .field("backward_share", &P::backward_share, "The same, backward", required_share())
          .field("score_accesses", &P::score_accesses, "Of every score, forward", required_at_least(0))
          .field("backward_score_accesses", &P::backward_score_accesses, "The same, backward", required_at_least(0))
          .field("launch_us", &P::launch, "Shortest call", required_positive());
  return table;
}

const FieldTable<StreamingConstants>& StreamingConstants::fields() {
  using P = StreamingConstants;
  static const FieldTable<P> table =
      PartTable<P>("streaming constants", "One memory-bound kernel")
          .field("share", &P::share, "Share of the memory bandwidth", required_positive())
          .field("cache_speedup", &P::cache_speedup, "Rate of what the last-level cache holds over that of the rest",
                 at_least(1))
          .field("launch_us", &P::launch, "Shortest call", required_at_least(0));
  return table;
}

const FieldTable<ConvolutionConstants>& ConvolutionConstants::fields() {
  using P = ConvolutionConstants;
  static const FieldTable<P> table =
      PartTable<P>("convolution constants", "Convolutions in one format")
          .field("direct_share", &P::direct_share, "Share of the peak of implicit products, forward", required_share())
          .field("input_gradient_share", &P::input_gradient_share,
                 "Share of the forward rate that gradients of the input reach", required_positive())
          .field("weight_gradient_share", &P::weight_gradient_share,
                 "Share of the forward rate that gradients of the weights reach", required_positive())
          .field(
              "narrow_share", &P::narrow_share,
              "Share of the peak of kernels without tiles, for channels or filters that are no multiple of 8; 0: none",
              part_rules::share())
          .field("pads_channels", &P::pads_channels,
                 "Channels and filters that are no multiple of 8 are padded by a kernel of its own")
          .field("multiplied_zeros", &P::multiplied_zeros,
                 "Share of a strided input gradient's zeros that its product multiplies", part_rules::share())
          .field("winograd_share", &P::winograd_share,
                 "Share of the peak of the products that Winograd's transform leaves; 0: the library has none",
                 part_rules::share())
          .field("small_tile_exponent", &P::small_tile_exponent,
                 "A smaller tile's rate is its share of 128 × 128 elements to this power", at_least(0))
          .field("memory_share", &P::memory_share, "Share of the bandwidth that tensors stream at", required_share())
          .field("launch_us", &P::launch, "Shortest call", required_positive());
  return table;
}

const FieldTable<FitRecord>& FitRecord::fields() {
  using P = FitRecord;
  static const FieldTable<P> table =
      PartTable<P>("fit record", "What the fit says about its figures")
          .field("date", &P::date, "Day of the data", required())
          .field("data_hash", &P::data_hash, "FNV-1a of the files that were read", required())
          .field("rows", &P::rows, "Measurements, by class of operators", at_least(0))
          .field("error_percent", &P::error_percent, "Mean error on rows left out, by class", at_least(0))
          .field("intervals", &P::intervals, "Of 80 %, by constant");
  return table;
}

const FieldTable<OperatorProfile>& OperatorProfile::fields() {
  using P = OperatorProfile;
  static const FieldTable<P> table =
      PartTable<P>("operator profile", "Costs of single operators on a family of accelerators, fitted to measured ones")
          .field("id", &P::id, "Name of the file: a family, as accelerators name it", required())
          .field("sibling", &P::sibling, "Family whose constants these are, where nothing of this one was measured")
          .field("product", &P::product, "Matrix products")
          .field("power", &P::power, "Board power")
          .field("attention", &P::attention, "Fused attention, by generation of kernels")
          .field("unfused_attention", &P::unfused_attention, "Attention with its scores in memory")
          .field("streaming", &P::streaming, "Memory-bound kernels, by operator.direction.implementation")
          .field("convolution", &P::convolution, "Convolutions, by format")
          .field("fit", &P::fit, "What the fit says about its figures")
          .fields_of(&P::provenance);
  return table;
}

}  // namespace stepcast
