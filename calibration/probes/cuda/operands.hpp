#pragma once

#include <cstddef>
#include <cstdint>

#include "calibration/probes/cuda/driver.hpp"

namespace stepcast::probes {

// Numbers of library_types.h (cudaDataType).
inline constexpr int kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kInt8 = 3, kInt32 = 10, kBfloat16 = 14, kFp8E4m3 = 28,
                     kFp8E5m2 = 29;

/// Element i of an operand: −2 … 2, scattered, since equal or zero data draws less power and lets clocks rise. Operands
/// differ by `salt`.
float datum(std::size_t i, std::uint64_t salt);

/// Fills a buffer with `count` such elements of a type.
void fill_operand(const DeviceBuffer& buffer, std::size_t count, int type, std::size_t bytes, std::uint64_t salt);

/// The number that an element of a result is: fp64, fp32, int32, fp16 or bf16.
double number_of(const unsigned char* at, int type);

}  // namespace stepcast::probes
