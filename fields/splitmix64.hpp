#pragma once

#include <cstdint>

namespace stepcast {

/// What SplitMix64's state grows by: 2^64 over the golden ratio, made odd.
inline constexpr std::uint64_t kSplitMix64Step = 0x9e3779b97f4a7c15ULL;

/// SplitMix64's output for a state (Steele, Lea & Flood 2014): a hash of a number, the same on every machine, where the
/// standard library's distributions differ between implementations.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += kSplitMix64Step;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// The next number of the sequence that a state begins.
constexpr std::uint64_t next_splitmix64(std::uint64_t& state) {
  const std::uint64_t out = splitmix64(state);
  state += kSplitMix64Step;
  return out;
}

// The first number of seed 0, as Vigna's splitmix64.c prints it.
static_assert(splitmix64(0) == 0xe220a8397b1dcdafULL);

}  // namespace stepcast
