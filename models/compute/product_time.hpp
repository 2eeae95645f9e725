#pragma once

#include <array>
#include <string_view>

#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

/// C[m,n] = A[m,k]·B[k,n], `batch` times.
struct ProductShape {
  double m = 0, n = 0, k = 0;
  double batch = 1;                          ///< products of this shape in one call
  double input_bytes = 2, output_bytes = 2;  ///< of one element
  bool accumulates = false;                  ///< adds to an fp32 result in memory
};

/// How a product is called.
struct ProductCall {
  double operand_sets = 1;  ///< of operands that calls go round, so that the cache keeps them if it holds them all
  bool sustained = false;   ///< repeated until power limits the clocks; else a burst of milliseconds
};

/// Shape (m, n) of a tile that a library's kernel computes on one multiprocessor.
struct Tile {
  double m, n;
};
/// The tiles that products are cut into, from cuBLAS' usual to its smallest (CUTLASS 3, default tile shapes); a product
/// takes the one that is quickest for it.
inline constexpr std::array kTiles{Tile{256, 128}, Tile{128, 256}, Tile{128, 128}, Tile{128, 64}, Tile{64, 128},
                                   Tile{64, 64},   Tile{64, 32},   Tile{32, 64},   Tile{16, 64},  Tile{64, 16}};

/// What the cost of products needs of one accelerator in one format.
struct ProductDevice {
  FlopsPerSecond multiprocessor_rate;  ///< one's burst rate on large tiles
  FlopsPerSecond sustained_rate;       ///< the board's, when power alone limits it
  FlopsPerSecond peak;
  BytesPerSecond memory;       ///< × share
  Bytes cache;                 ///< 0: not known, keeps nothing
  double cache_speedup = 1;    ///< rate of the cache over the memory's
  double multiprocessors = 1;  ///< of the whole device
  Seconds launch, split_cost;  ///< of a kernel; of adding up a product whose k was split
  /// As in ProductConstants, by format where that is.
  double start_up_k = 0, whole_wave_share = 0, overlap_exponent = 2, accumulate_share = 1;
  std::array<double, kTiles.size()> tile_cost{};  ///< elements of a tile over its relative rate
  int most_splits = 16;                           ///< how often k is split at most
  // Power
  Watts limit;  ///< of the board
  /// Of the limit, as in BoardPowerConstants.
  double static_share = 0, streaming_share = 0, limit_share = 1;
  BytesPerSecond datasheet_memory;  ///< without `share`
};

/// Whether products at a peak run on matrix units: they are too fast for the arithmetic that fp32 has.
bool on_matrix_unit(const Accelerator& accelerator, FlopsPerSecond peak);

/// The device of an accelerator with its family's constants. `format` is a key of ProductConstants::burst_share; its
/// peak is `peak`. Throws std::logic_error when the profile has no constants of products in that format.
ProductDevice product_device(const Accelerator& accelerator, const OperatorProfile& profile, std::string_view format,
                             FlopsPerSecond peak);

/// Seconds of a product's arithmetic at the clocks of a burst, with the quickest of the tiles and k split as often as
/// multiprocessors would idle: no start of the kernel, no traffic.
Seconds arithmetic_time(const ProductShape& shape, const ProductDevice& device);

/// The elements of each of kTiles over the rate of one, as a share of a full tile's, that falls with `exponent`.
std::array<double, kTiles.size()> tile_costs(double exponent);

/// Time of a product at the clocks of a burst: launch + ‖(arithmetic, traffic)‖ₚ, the arithmetic that of the quickest
/// tile and split of k (docs/models/operators.md).
Seconds burst_time(const ProductShape& shape, const ProductCall& call, const ProductDevice& device);

/// The same as called: sustained products take at least their energy over the power that the board's limit leaves.
Seconds product_time(const ProductShape& shape, const ProductCall& call, const ProductDevice& device);

/// Time inside a long phase of training: a burst's, but never faster than the device sustains (device.sustained_rate).
Seconds sustained_time(const ProductShape& shape, const ProductDevice& device);

/// Mean board power of a product repeated back to back.
Watts product_power(const ProductShape& shape, const ProductCall& call, const ProductDevice& device);

}  // namespace stepcast
