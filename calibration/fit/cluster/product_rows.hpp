#pragma once

#include <string>
#include <vector>

#include "calibration/fit/cluster/rate_fit.hpp"
#include "calibration/results/probe_results.hpp"
#include "hardware-catalog/parts.hpp"
#include "models/compute/product_time.hpp"

namespace stepcast {

/// Clocks fall within some tens of milliseconds of a load that draws too much, and are settled well before this.
inline constexpr double kSettled_us = 100e3;

/// A measured matrix product.
struct ProductRow {
  Precision precision;  ///< fp8 stands for either of its formats
  ProductShape shape;
  RowSamples samples_us;
  double measured_us;  ///< their median
  /// Whether a sample lasted so long that the device had settled at its power limit: a tenth of a second.
  bool sustained;
  std::string place;  ///< place_of
};

/// The file of a row and, where it says so, its device, in words: "gemm.json, gpu3".
std::string place_of(const ProbeResults& file, const Json& row);

/// Rows of matrix products of result files, in their order.
std::vector<ProductRow> product_rows(const std::vector<ProbeResults>& files);

}  // namespace stepcast
