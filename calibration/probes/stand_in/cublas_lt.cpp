// cuBLASLt in host memory, for tests: products are computed, once for each result, and take 5 µs and a known rate.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "calibration/probes/cuda/small_floats.hpp"
#include "calibration/probes/stand_in/clock.hpp"
#include "calibration/probes/stand_in/faults.hpp"

using namespace stepcast::stand_in;

namespace {

constexpr double kProductStart_us = 5;

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t stride;
};
struct Description {
  int compute;
  bool computed = false;  ///< a product that is timed is called hundreds of times on the same data
};

/// Multiplications and additions a µs: 10^6 are 1 TFLOP/s.
double rate_of(int type, int compute) {
  if (compute == 77) return 400e6;
  if (type == 0) return 50e6;
  if (type == 1) return 25e6;
  return type == 28 || type == 29 || type == 3 ? 1600e6 : 800e6;
}

float element(const void* data, int type, std::uint64_t at) {
  if (type == 0) return static_cast<const float*>(data)[at];
  if (type == 1) return static_cast<float>(static_cast<const double*>(data)[at]);
  if (type == 3) return static_cast<const signed char*>(data)[at];
  if (type == 29) {
    const unsigned bits = static_cast<const unsigned char*>(data)[at];
    if ((bits & 0x7fU) == 0) return 0;
    return std::bit_cast<float>((bits & 0x80U) << 24 | ((bits >> 2 & 0x1fU) + 112) << 23 | (bits & 0x3U) << 21);
  }
  if (type == 28) {
    const unsigned bits = static_cast<const unsigned char*>(data)[at];
    if ((bits & 0x7fU) == 0) return 0;
    return std::bit_cast<float>((bits & 0x80U) << 24 | ((bits >> 3 & 0xfU) + 120) << 23 | (bits & 0x7U) << 20);
  }
  const std::uint16_t bits = static_cast<const std::uint16_t*>(data)[at];
  return type == 2 ? stepcast::probes::from_float16(bits) : stepcast::probes::from_bfloat16(bits);
}

void store(void* data, int type, std::uint64_t at, float value) {
  if (type == 0)
    static_cast<float*>(data)[at] = value;
  else if (type == 1)
    static_cast<double*>(data)[at] = value;
  else if (type == 10)
    static_cast<std::int32_t*>(data)[at] = static_cast<std::int32_t>(value);
  else
    static_cast<std::uint16_t*>(data)[at] =
        type == 2 ? stepcast::probes::to_float16(value) : stepcast::probes::rounded_bfloat16(value);
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return 130100; }
int cublasLtCreate(void** handle) { return *handle = new int, 0; }
int cublasLtMatmulDescCreate(void** made, int compute, int) { return *made = new Description{compute}, 0; }
int cublasLtMatmulDescSetAttribute(void*, int, const void*, std::size_t) { return 0; }
int cublasLtMatmulDescDestroy(void* made) { return delete static_cast<Description*>(made), 0; }
int cublasLtMatrixLayoutCreate(void** made, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride) {
  return *made = new Layout{type, rows, columns, stride}, 0;
}
int cublasLtMatrixLayoutDestroy(void* made) { return delete static_cast<Layout*>(made), 0; }
int cublasLtMatmulPreferenceCreate(void** made) { return *made = new int, 0; }
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, std::size_t) { return 0; }
int cublasLtMatmulPreferenceDestroy(void* made) { return delete static_cast<int*>(made), 0; }
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void* layout_a, void*, void*, void*, void*, int, void*, int* found) {
  const bool lacks = setting("no_product_of", -1) == static_cast<const Layout*>(layout_a)->type;
  return *found = lacks ? 0 : 1, 0;
}
int cublasLtMatmul(void*, void* description, const void*, const void* a, const void* layout_a, const void* b,
                   const void* layout_b, const void*, const void*, const void*, void* d, const void* layout_d,
                   const void*, void*, std::size_t, void* stream) {
  const auto &la = *static_cast<const Layout*>(layout_a), &lb = *static_cast<const Layout*>(layout_b),
             &ld = *static_cast<const Layout*>(layout_d);
  const std::uint64_t m = ld.rows, n = ld.columns, k = la.rows;
  auto& described = *static_cast<Description*>(description);
  constexpr std::uint64_t kMostWork = 1 << 24;  // larger ones are timed alone; a processor would take minutes
  if (!described.computed && m * n * k <= kMostWork) {
    for (std::uint64_t column = 0; column < n; ++column)
      for (std::uint64_t row = 0; row < m; ++row) {
        float sum = 0;
        for (std::uint64_t at = 0; at < k; ++at)
          sum += element(a, la.type, row * k + at) * element(b, lb.type, column * k + at);
        store(d, ld.type, column * m + row, setting("wrong_product", 0) ? sum + 8 : sum);
      }
    described.computed = true;
  }
  advance(*static_cast<Stream*>(stream), kProductStart_us + 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                                                                static_cast<double>(k) /
                                                                rate_of(la.type, described.compute));
  return 0;
}
}
