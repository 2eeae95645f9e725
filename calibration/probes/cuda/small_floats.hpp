#pragma once

#include <bit>
#include <cstdint>

namespace stepcast::probes {

/// Bits of small whole numbers (−8 to 8) in formats of few bits, and values of results; all exact for such numbers.
inline std::uint16_t to_bfloat16(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}
/// The nearest bfloat16 of any finite number, ties to even.
inline std::uint16_t rounded_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}
inline float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// IEEE half of a number that it holds exactly and that is no subnormal.
inline std::uint16_t to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) == 0) return 0;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | ((bits >> 23 & 0xffU) - 112) << 10 |
                                    (bits >> 13 & 0x3ffU));
}
inline float from_float16(std::uint16_t bits) {
  const std::uint32_t exponent = bits >> 10 & 0x1fU, sign = (bits & 0x8000U) << 16;
  if (exponent == 0) return std::bit_cast<float>(sign);
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | (bits & 0x3ffU) << 13);
}

/// FP8 E4M3 (Micikevicius et al. 2022): bias 7, three bits of mantissa.
inline std::uint8_t to_fp8_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) == 0) return 0;
  return static_cast<std::uint8_t>((bits >> 24 & 0x80U) | ((bits >> 23 & 0xffU) - 120) << 3 | (bits >> 20 & 0x7U));
}

/// FP8 E5M2 (the same): bias 15, two bits of mantissa.
inline std::uint8_t to_fp8_e5m2(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) == 0) return 0;
  return static_cast<std::uint8_t>((bits >> 24 & 0x80U) | ((bits >> 23 & 0xffU) - 112) << 2 | (bits >> 21 & 0x3U));
}

}  // namespace stepcast::probes
