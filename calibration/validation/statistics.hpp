#pragma once

#include <optional>
#include <vector>

namespace stepcast {

/// |predicted / measured − 1|.
double absolute_error(double predicted, double measured);

/// Arithmetic mean; null of nothing.
std::optional<double> mean(const std::vector<double>& values);
/// The value below which a share (0–1) of the values lies, between neighbours linearly (Hyndman & Fan 1996, type 7);
/// null of nothing.
std::optional<double> quantile(std::vector<double> values, double share);
/// Geometric mean of positive ratios; null of nothing.
std::optional<double> geometric_mean(const std::vector<double>& ratios);

/// Kendall's rank correlation τ-b (Kendall 1945): concordant less discordant pairs, ties taken out of the count.
/// Null where one side has no two different values.
std::optional<double> kendall_tau(const std::vector<double>& predicted, const std::vector<double>& measured);

}  // namespace stepcast
