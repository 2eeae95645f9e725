#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// How matrix products run on a family of accelerators (docs/models/operators.md has the formula and what each constant
/// stands for).
struct ProductConstants {
  std::map<std::string, double>
      burst_share;                 ///< of the dense peak by large tiles at short benchmarks' clocks, by format
  double memory_share = 0;         ///< of the memory bandwidth that operands stream at
  double cache_speedup = 1;        ///< rate of the last-level cache over that of the memory
  Seconds launch;                  ///< launch_us: shortest product
  Seconds eager_launch;            ///< eager_launch_us: the same called by a framework's host; 0: not known
  double start_up_k = 0;           ///< columns of k that filling a tile's pipeline and writing its result cost
  double whole_wave_share = 0;     ///< 0: a last wave costs the share that it fills; 1: as much as a full one
  double small_tile_exponent = 0;  ///< rate of a tile: its area over 128 × 128, to this power, at most 1
  double overlap_exponent = 2;     ///< of the p-norm of arithmetic and traffic; 1: one after the other, ∞: the longer
  Seconds split_cost;              ///< split_cost_us: of adding up a product whose k was split
  std::map<std::string, double> accumulate_share;  ///< rate with fp32 accumulation into memory, by format; 1 if absent
  static const FieldTable<ProductConstants>& fields();
};

/// What a product draws, of the board's power limit.
struct BoardPowerConstants {
  std::map<std::string, double> sustained_share;  ///< of the dense peak when power is all that limits, by format
  double static_share = 0;                        ///< drawn between kernels of a busy stream
  double streaming_share = 0;                     ///< added by memory traffic at the full bandwidth
  double limit_share = 1;                         ///< the sensor's reading at the limit
  static const FieldTable<BoardPowerConstants>& fields();
};

/// One generation of attention kernels in one format.
struct AttentionConstants {
  double share = 0;                   ///< of the format's dense peak by long sequences, head size 128, forward
  double backward_share = 0;          ///< the same of the backward kernel; 0: not known
  double start_up_keys = 0;           ///< keys that starting a tile of queries costs
  double backward_start_up_keys = 0;  ///< the same of the backward kernel
  int tile_queries = 128;             ///< queries that one tile holds
  double whole_wave_share = 0;        ///< as ProductConstants'
  double head64_factor = 1, head256_factor = 1;  ///< rates at these head sizes over that at 128
  double memory_share = 1;  ///< of the memory bandwidth that queries, keys, values and results move at, beside nothing
  Seconds launch;           ///< launch_us: shortest kernel
  static const FieldTable<AttentionConstants>& fields();
};

/// Name of a kernel's constants in a profile: the kernel's, in formats below 16 bit with the format behind a dot
/// ("cudnn", "cudnn.fp8").
std::string attention_key(std::string_view kernel, std::string_view format);

/// Attention as products, mask, softmax and products, with the scores in memory between them.
struct UnfusedAttentionConstants {
  double share = 0;                    ///< of the dense peak by its products
  double backward_share = 0;           ///< the same of the backward products
  double score_accesses = 0;           ///< of every score, forward, at the memory's bandwidth
  double backward_score_accesses = 0;  ///< the same of the backward pass
  Seconds launch;                      ///< launch_us: of each kernel
  static const FieldTable<UnfusedAttentionConstants>& fields();
};

/// One memory-bound kernel: time = launch + bytes / (share × bandwidth), the cached part faster.
struct StreamingConstants {
  double share = 0;          ///< of the memory bandwidth
  double cache_speedup = 1;  ///< rate of what the last-level cache holds over that of the rest
  Seconds launch;            ///< launch_us: shortest kernel
  static const FieldTable<StreamingConstants>& fields();
};

/// Convolutions by the algorithms that a library chooses from.
struct ConvolutionConstants {
  double direct_share = 0;           ///< of the peak: implicit product, forward
  double input_gradient_share = 1;   ///< of that rate, gradients of the input by implicit product
  double weight_gradient_share = 1;  ///< of that rate, gradients of the weights
  double narrow_share = 0;           ///< of the peak, kernels without tiles, for channels no multiple of 8; 0: none
  bool pads_channels = false;        ///< channels and filters are padded to a multiple of 8 by a kernel of its own
  double multiplied_zeros = 0;       ///< share of a strided input gradient's zeros that its product multiplies
  double winograd_share = 0;         ///< of the peak, products of Winograd's transform; 0: the library has none
  double small_tile_exponent = 0;    ///< as ProductConstants'
  double memory_share = 0;           ///< of the memory bandwidth that images and weights move at
  Seconds launch;                    ///< launch_us: shortest kernel
  static const FieldTable<ConvolutionConstants>& fields();
};

/// What the fit says about its own figures.
struct FitRecord {
  std::string date;
  std::string data_hash;                                 ///< FNV-1a of the files that it read
  std::map<std::string, double> rows;                    ///< by class of operators
  std::map<std::string, double> error_percent;           ///< mean, cross-validated, by class
  std::map<std::string, std::vector<double>> intervals;  ///< of 80 %, by constant
  static const FieldTable<FitRecord>& fields();
};

/// Costs of single operators on a family of accelerators, fitted to measured operators by `calibration/fit/operators`.
/// The id is the family's (Accelerator::family).
struct OperatorProfile {
  std::string id;
  std::string sibling;  ///< whose constants these are, for a family without measurements of its own; empty: its own
  std::optional<ProductConstants> product;
  std::optional<BoardPowerConstants> power;
  std::map<std::string, AttentionConstants> attention;  ///< by attention_key: flash-2, cudnn, cudnn.fp8 …
  std::optional<UnfusedAttentionConstants> unfused_attention;
  std::map<std::string, StreamingConstants> streaming;      ///< by operator.direction.implementation
  std::map<std::string, ConvolutionConstants> convolution;  ///< by format
  std::optional<FitRecord> fit;
  Provenance provenance;
  static const FieldTable<OperatorProfile>& fields();
};

}  // namespace stepcast
