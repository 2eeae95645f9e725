#pragma once

#include <cstddef>
#include <cstdint>

#include "calibration/probes/cuda/driver.hpp"

namespace stepcast::probes {

// Numbers of library_types.h (cudaDataType).
inline constexpr int kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kInt8 = 3, kInt32 = 10, kBfloat16 = 14, kFp8E4m3 = 28,
                     kFp8E5m2 = 29;

/// Element i of an operand whose products are checked: a whole number from −2 to 2, scattered, so that sums are exact.
/// Operands differ by `salt`. Elements repeat after a prime number of them, so that no two rows are alike.
float datum(std::size_t i, std::uint64_t salt);

/// Fills a buffer with `count` such elements of a type.
void fill_operand(const DeviceBuffer& buffer, std::size_t count, int type, std::size_t bytes, std::uint64_t salt);

/// Fills it with what a training step multiplies, bell-shaped around zero with a standard deviation of one (int8: 32).
/// Few or whole numbers draw less power, and clocks then stay higher than they do in training.
void fill_with_noise(const DeviceBuffer& buffer, std::size_t count, int type, std::size_t bytes, std::uint64_t salt);

/// The number that an element of a result is: fp64, fp32, int32, fp16 or bf16.
double number_of(const unsigned char* at, int type);

}  // namespace stepcast::probes
