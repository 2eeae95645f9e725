#include "models/compute/product_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/compute/cached_traffic.hpp"

namespace stepcast {
namespace {

/// Area of the tile whose rate is the full one.
constexpr double kFullTile = 128.0 * 128.0;
/// Kernels that split k keep at least so many columns for each part (CUTLASS' split-k heuristics: k of a part no
/// shorter than a few steps of its main loop).
constexpr double kShortestSplit = 64;

/// Products over fp32 ones from which a unit of their own computes them: without one, 16 bit doubles them at most.
constexpr double kMatrixUnit = 2.5;

double value_or_throw(const std::map<std::string, double>& by_format, std::string_view format,
                      const std::string& profile) {
  if (const auto found = by_format.find(std::string(format)); found != by_format.end()) return found->second;
  throw std::logic_error(fmt::format("operator profile {}: no products in {}", profile, format));
}

/// Columns of k that a tile's start-up costs: it takes about the same time in every format, so fewer of the columns of
/// formats that the matrix unit computes more slowly than 16 bit, or not at all.
double start_up_of(const ProductConstants& product, const Accelerator& accelerator, FlopsPerSecond peak) {
  const FlopsPerSecond half = std::max(accelerator.peak(Precision::fp16), accelerator.peak(Precision::bf16));
  return product.start_up_k * (on_matrix_unit(accelerator, half) ? std::min(1.0, peak / half) : 1);
}

double traffic_seconds(const ProductShape& s, const ProductCall& call, const ProductDevice& device) {
  const double inputs = s.batch * (s.m * s.k + s.n * s.k) * s.input_bytes;
  // fp32 results that are added to are read as well as written.
  const double results = s.batch * s.m * s.n * (s.accumulates ? 8 : s.output_bytes);
  const CachedMemory memory{device.memory, device.cache, device.cache_speedup};
  return cached_time(Bytes(inputs), Bytes(inputs * call.operand_sets), memory).value() +
         cached_time(Bytes(results), Bytes(results), memory).value();
}

double flops(const ProductShape& s) { return 2 * s.batch * s.m * s.n * s.k; }

/// Energy that the shape's work draws above the static power.
Joules work_energy(const ProductShape& s, const ProductCall& call, const ProductDevice& device) {
  const double busy = device.limit.value() * (1 - device.static_share);
  const double per_flop = busy / device.sustained_rate.value();
  const double per_second_of_memory = device.limit.value() * device.streaming_share;
  const double traffic = traffic_seconds(s, call, device) * device.memory.value() / device.datasheet_memory.value();
  return Joules(flops(s) * per_flop + traffic * per_second_of_memory);
}

double in_norm(double a, double b, double exponent) {
  // The common exponent by a cheaper way.
  if (exponent == 2) return std::sqrt(a * a + b * b);
  const double longer = std::max(a, b), ratio = std::min(a, b) / longer;
  // longer · (1 + ratioᵖ)^(1/p); logarithms take half of the time of powers.
  return longer * std::exp(std::log1p(std::exp(exponent * std::log(ratio))) / exponent);
}

/// Seconds of the quickest tile and split of k at full rate; of the first that takes no longer than `enough`.
double quickest_tile(const ProductShape& s, const ProductDevice& device, double enough) {
  const double partial_sums = 4 * s.batch * s.m * s.n * 2 / (device.memory.value() * device.cache_speedup);
  const double per_flop = 1 / device.multiprocessor_rate.value();
  const double whole_tiles = s.batch * s.m * s.n * s.k / device.multiprocessors;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    const double work = 2 * device.tile_cost[i] * per_flop;
    // Were all its tiles full and all multiprocessors busy, a small tile would still be slower than that.
    if (whole_tiles * work >= best * kTiles[i].m * kTiles[i].n) continue;
    const double tiles = std::ceil(s.m / kTiles[i].m) * std::ceil(s.n / kTiles[i].n) * s.batch;
    for (int split = 1; split <= device.most_splits; split *= 2) {
      if (split > 1 && (s.k < kShortestSplit * split || tiles * split > 2 * device.multiprocessors)) break;
      const double filled = tiles * split / device.multiprocessors;
      const double waves =
          std::max(1.0, device.whole_wave_share * std::ceil(filled) + (1 - device.whole_wave_share) * filled);
      double seconds = waves * (s.k / split + device.start_up_k) * work;
      if (split > 1) seconds += device.split_cost.value() + split * partial_sums;
      best = std::min(best, seconds);
      if (best <= enough) return best;
    }
  }
  return best;
}

}  // namespace

bool on_matrix_unit(const Accelerator& accelerator, FlopsPerSecond peak) {
  return peak.value() > kMatrixUnit * accelerator.peak(Precision::fp32).value();
}

ProductDevice product_device(const Accelerator& accelerator, const OperatorProfile& profile, std::string_view format,
                             FlopsPerSecond peak) {
  if (!profile.product) throw std::logic_error(fmt::format("operator profile {}: no products", profile.id));
  const ProductConstants& product = *profile.product;
  ProductDevice out;
  out.peak = peak;
  out.multiprocessors = std::max(accelerator.sm_count, 1);
  out.multiprocessor_rate = peak * value_or_throw(product.burst_share, format, profile.id) / out.multiprocessors;
  out.sustained_rate = peak;
  out.memory = accelerator.memory_bandwidth * product.memory_share;
  out.datasheet_memory = accelerator.memory_bandwidth;
  if (accelerator.l2_cache) out.cache = *accelerator.l2_cache;
  out.cache_speedup = product.cache_speedup;
  out.launch = product.launch;
  out.split_cost = product.split_cost;
  out.start_up_k = start_up_of(product, accelerator, peak);
  out.whole_wave_share = product.whole_wave_share;
  out.overlap_exponent = product.overlap_exponent;
  if (const auto found = product.accumulate_share.find(std::string(format)); found != product.accumulate_share.end())
    out.accumulate_share = found->second;
  out.tile_cost = tile_costs(product.small_tile_exponent);
  out.limit = accelerator.tdp;
  if (profile.power) {
    out.static_share = profile.power->static_share;
    out.streaming_share = profile.power->streaming_share;
    out.limit_share = profile.power->limit_share;
    if (const auto found = profile.power->sustained_share.find(std::string(format));
        found != profile.power->sustained_share.end())
      out.sustained_rate = peak * found->second;
  }
  return out;
}

Seconds arithmetic_time(const ProductShape& s, const ProductDevice& device) {
  return Seconds(quickest_tile(s, device, 0) / (s.accumulates ? device.accumulate_share : 1));
}

std::array<double, kTiles.size()> tile_costs(double exponent) {
  std::array<double, kTiles.size()> costs{};
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    const double area = kTiles[i].m * kTiles[i].n;
    costs[i] = area / std::min(1.0, std::pow(area / kFullTile, exponent));
  }
  return costs;
}

Seconds burst_time(const ProductShape& shape, const ProductCall& call, const ProductDevice& device) {
  return device.launch + Seconds(in_norm(arithmetic_time(shape, device).value(), traffic_seconds(shape, call, device),
                                         device.overlap_exponent));
}

Seconds product_time(const ProductShape& shape, const ProductCall& call, const ProductDevice& device) {
  const Seconds burst = burst_time(shape, call, device);
  if (!call.sustained || device.static_share <= 0) return burst;
  return std::max(burst, work_energy(shape, call, device) / (device.limit * (1 - device.static_share)));
}

Seconds sustained_time(const ProductShape& shape, const ProductDevice& device) {
  const double share = shape.accumulates ? device.accumulate_share : 1;
  const double sustained = flops(shape) / (share * device.sustained_rate.value());
  const double traffic = traffic_seconds(shape, {}, device), p = device.overlap_exponent;
  // ‖(a, b)‖ₚ ≤ a + b/p for a ≥ b: a tile for which that is within what is sustained spares the others, and the powers.
  const bool computes = traffic * (1 + 1 / p) <= sustained;
  const double arithmetic = quickest_tile(shape, device, computes ? share * (sustained - traffic / p) : 0) / share;
  if (computes && arithmetic + traffic / p <= sustained) return device.launch + Seconds(sustained);
  return device.launch + Seconds(std::max(sustained, in_norm(arithmetic, traffic, device.overlap_exponent)));
}

Watts product_power(const ProductShape& shape, const ProductCall& call, const ProductDevice& device) {
  const Watts drawn =
      device.limit * device.static_share + work_energy(shape, call, device) / product_time(shape, call, device);
  return std::min(drawn, device.limit * device.limit_share);
}

}  // namespace stepcast
