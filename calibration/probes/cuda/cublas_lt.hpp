#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "calibration/probes/common/library.hpp"
#include "calibration/probes/cuda/driver.hpp"

namespace stepcast::probes {

/// Sizes and precision of a matrix product D = A·B; A is m×k, B k×n.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::string precision;  ///< fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, fp64
};

/// How a precision is multiplied: numbers of CUDA's data types and cuBLAS's compute types. `scale`: type of the factors
/// of the product and of what is added to it.
struct GemmPrecision {
  const char* name;
  int input_a, input_b, output, compute, scale;
  std::size_t input_bytes, output_bytes;
  int least_capability;  ///< of devices that have it in hardware
};
/// The precision of this name, or null.
const GemmPrecision* gemm_precision(const std::string& name);

/// cuBLASLt, loaded at run time with own prototypes (cublasLt.h of CUDA 13.0).
class CublasLt {
 public:
  /// Throws Fault (missing) where it is absent or lacks a function.
  CublasLt();
  /// As "13.0.2".
  [[nodiscard]] std::string version() const;

 private:
  friend class Gemm;
  struct Functions;
  void require(int code, const char* what) const;
  Library library_;
  std::shared_ptr<Functions> functions_;
};

/// A product of one shape on one device with the algorithm that the library's heuristic names first. A is stored
/// transposed, the one form that fp8 has; B and D are not.
class Gemm {
 public:
  /// Fills A and B with data that can be checked. Throws Fault (missing) where the library has no algorithm for it.
  Gemm(const CublasLt& library, const CudaDevice& device, const GemmShape& shape);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  void run(CudaHandle stream) const;
  /// Compares some elements of D; throws Fault (check failed) when one is off by more than rounding explains.
  void require_right() const;
  /// Fills A and B with what a training step multiplies.
  void fill_with_noise() const;

 private:
  struct Parts;
  const CublasLt& library_;
  const CudaDevice& device_;
  GemmShape shape_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace stepcast::probes
