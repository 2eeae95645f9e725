#include "calibration/probes/cuda/operands.hpp"

#include <algorithm>
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

template <typename Number>
Number loaded(const unsigned char* at) {
  Number value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

float datum(std::size_t i, std::uint64_t salt) {
  std::uint64_t hash = (i + salt) * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<float>(static_cast<int>((hash >> 33) % 5) - 2);
}

void fill_operand(const DeviceBuffer& buffer, std::size_t count, int type, std::size_t bytes, std::uint64_t salt) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<unsigned char> piece;
  for (std::size_t done = 0; done < count; done += kPiece) {
    const std::size_t part = std::min(kPiece, count - done);
    piece.resize(part * bytes);
    for (std::size_t i = 0; i < part; ++i) put(&piece[i * bytes], type, datum(done + i, salt));
    buffer.fill(piece.data(), piece.size(), done * bytes);
  }
}

double number_of(const unsigned char* at, int type) {
  if (type == kFloat32) return loaded<float>(at);
  if (type == kFloat64) return loaded<double>(at);
  if (type == kInt32) return loaded<std::int32_t>(at);
  const auto half = loaded<std::uint16_t>(at);
  return type == kFloat16 ? from_float16(half) : from_bfloat16(half);
}

}  // namespace stepcast::probes
