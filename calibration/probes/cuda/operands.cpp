#include "calibration/probes/cuda/operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "calibration/probes/cuda/small_floats.hpp"

namespace stepcast::probes {
namespace {

void put(unsigned char* at, int type, float value) {
  const double wide = value;
  if (type == kFloat32) std::memcpy(at, &value, sizeof value);
  if (type == kFloat64) std::memcpy(at, &wide, sizeof wide);
  if (type == kInt8) *at = static_cast<unsigned char>(static_cast<signed char>(value));
  const std::uint16_t half = type == kFloat16 ? to_float16(value) : to_bfloat16(value);
  if (type == kFloat16 || type == kBfloat16) std::memcpy(at, &half, sizeof half);
  if (type == kFp8E4m3) *at = to_fp8_e4m3(value);
  if (type == kFp8E5m2) *at = to_fp8_e5m2(value);
}

constexpr std::size_t kPeriod = 1'048'573;  // a prime

std::uint64_t scattered(std::size_t i, std::uint64_t salt) {
  const std::uint64_t hash = (i + salt) * 0x9e3779b97f4a7c15ULL;
  return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ULL;
}

/// The sum of four equally likely numbers, scaled to variance one; kept away from zero by the least normal number of
/// the narrowest format, 2⁻⁶ in E4M3.
float noise(std::size_t i, int type, std::uint64_t salt) {
  constexpr float kStep = 1.0F / 65536, kScale = 1.7320508F, kLeast = 1.0F / 64, kInt8Deviation = 32;
  const std::uint64_t hash = scattered(i, salt), bits = hash ^ hash >> 31;
  float sum = -2;
  for (int part = 0; part < 4; ++part) sum += static_cast<float>(bits >> (16 * part) & 0xffffU) * kStep;
  const float value = std::copysign(std::max(std::abs(sum * kScale), kLeast), sum);
  return type == kInt8 ? value * kInt8Deviation : value;
}

template <typename Element>
void fill_repeatedly(const DeviceBuffer& buffer, std::size_t count, int type, std::size_t bytes, Element element) {
  const std::size_t period = std::min(kPeriod, count);
  std::vector<unsigned char> piece(period * bytes);
  for (std::size_t i = 0; i < period; ++i) put(&piece[i * bytes], type, element(i));
  for (std::size_t done = 0; done < count; done += period)
    buffer.fill(piece.data(), std::min(period, count - done) * bytes, done * bytes);
}

template <typename Number>
Number loaded(const unsigned char* at) {
  Number value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

float datum(std::size_t i, std::uint64_t salt) {
  return static_cast<float>(static_cast<int>((scattered(i % kPeriod, salt) >> 33) % 5) - 2);
}

void fill_operand(const DeviceBuffer& buffer, std::size_t count, int type, std::size_t bytes, std::uint64_t salt) {
  fill_repeatedly(buffer, count, type, bytes, [&](std::size_t i) { return datum(i, salt); });
}

void fill_with_noise(const DeviceBuffer& buffer, std::size_t count, int type, std::size_t bytes, std::uint64_t salt) {
  fill_repeatedly(buffer, count, type, bytes, [&](std::size_t i) { return noise(i, type, salt); });
}

double number_of(const unsigned char* at, int type) {
  if (type == kFloat32) return loaded<float>(at);
  if (type == kFloat64) return loaded<double>(at);
  if (type == kInt32) return loaded<std::int32_t>(at);
  const auto half = loaded<std::uint16_t>(at);
  return type == kFloat16 ? from_float16(half) : from_bfloat16(half);
}

}  // namespace stepcast::probes
