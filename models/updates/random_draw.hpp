#pragma once

#include <cstdint>

namespace stepcast {

/// Random numbers that depend on what they are for alone, so that the order in which they are drawn changes nothing.
class RandomDraw {
 public:
  explicit RandomDraw(std::uint64_t seed) : seed_(seed) {}
  /// Even between 0 and 1, both excluded.
  [[nodiscard]] double uniform(std::uint64_t subject, std::uint64_t occasion) const;
  /// Standard normal.
  [[nodiscard]] double normal(std::uint64_t subject, std::uint64_t occasion) const;
  /// Log-normal with mean 1 and this standard deviation of the logarithm; 1 for a spread of 0.
  [[nodiscard]] double factor(double spread, std::uint64_t subject, std::uint64_t occasion) const;

 private:
  std::uint64_t seed_;
};

}  // namespace stepcast
