#pragma once

#include <vector>

namespace stepcast {

/// Measured samples of one row: rates, times or powers, in one unit.
using RowSamples = std::vector<double>;

/// The quantile that stands for the best of rows, so that one lucky row does not decide.
inline constexpr double kBestRows = 0.9;

/// Bytes from which rows of memory tell its own rate and no cache's: more than the largest of an accelerator holds
/// (256 MB, MI300X; CDNA 3 white paper).
inline constexpr double kPastCaches = 256 << 20;

/// A figure that rows tell, with its 68 % interval, which holds it.
struct FittedRate {
  double value = 0, low = 0, high = 0;
};

/// Quantile (0 to 1) over the rows of their medians: 1 for the best row, 0.5 for the usual one. The interval comes from
/// refits to rows drawn with replacement, their samples drawn too (as of collectives, fit_collectives.hpp); the random
/// numbers are fixed. Rows without samples do not count; 0 where there is none. A single sample has no spread.
FittedRate fit_rate(const std::vector<RowSamples>& rows, double quantile);

}  // namespace stepcast
