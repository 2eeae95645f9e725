#include "calibration/probes/cuda/cublas_lt.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/cuda/operands.hpp"

namespace stepcast::probes {
namespace {

// Numbers of cublas_api.h (cublasComputeType_t) and cublasLt.h.
constexpr int kCompute32 = 68, kCompute64 = 70, kComputeInt32 = 72, kComputeTf32 = 77;
constexpr int kTransposeA = 3, kTransposed = 1, kWorkspaceLimit = 1;

// The library multiplies E5M2, the format of gradients, with E4M3 alone, that of what they meet.
constexpr std::array kPrecisions{
    GemmPrecision{"fp32", kFloat32, kFloat32, kFloat32, kCompute32, kFloat32, 4, 4, 0},
    GemmPrecision{"tf32", kFloat32, kFloat32, kFloat32, kComputeTf32, kFloat32, 4, 4, 80},
    GemmPrecision{"fp16", kFloat16, kFloat16, kFloat16, kCompute32, kFloat32, 2, 2, 70},
    GemmPrecision{"bf16", kBfloat16, kBfloat16, kBfloat16, kCompute32, kFloat32, 2, 2, 80},
    GemmPrecision{"fp8_e4m3", kFp8E4m3, kFp8E4m3, kBfloat16, kCompute32, kFloat32, 1, 2, 89},
    GemmPrecision{"fp8_e5m2", kFp8E5m2, kFp8E4m3, kBfloat16, kCompute32, kFloat32, 1, 2, 89},
    GemmPrecision{"int8", kInt8, kInt8, kInt32, kComputeInt32, kInt32, 1, 4, 75},
    GemmPrecision{"fp64", kFloat64, kFloat64, kFloat64, kCompute64, kFloat64, 8, 8, 0}};

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what NVIDIA advises for Hopper

constexpr std::uint64_t kSaltA = 1, kSaltB = 0x5bd1e995;

}  // namespace

const GemmPrecision* gemm_precision(const std::string& name) {
  const auto found =
      std::find_if(kPrecisions.begin(), kPrecisions.end(), [&](const GemmPrecision& p) { return name == p.name; });
  return found == kPrecisions.end() ? nullptr : &*found;
}

struct CublasLt::Functions {
  std::size_t (*version)();
  int (*create)(void**);
  int (*describe)(void**, int, int);
  int (*describe_set)(void*, int, const void*, std::size_t);
  int (*describe_end)(void*);
  int (*layout)(void**, int, std::uint64_t, std::uint64_t, std::int64_t);
  int (*layout_end)(void*);
  int (*preference)(void**);
  int (*preference_set)(void*, int, const void*, std::size_t);
  int (*preference_end)(void*);
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*);
  int (*multiply)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                  void*, void*, const void*, void*, std::size_t, CudaHandle);
  void* handle = nullptr;  ///< made on the first device that is used
};

CublasLt::CublasLt()
    : library_("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}),
      functions_(std::make_shared<Functions>()) {
  Functions& f = *functions_;
  library_.find(f.version, "cublasLtGetVersion");
  library_.find(f.create, "cublasLtCreate");
  library_.find(f.describe, "cublasLtMatmulDescCreate");
  library_.find(f.describe_set, "cublasLtMatmulDescSetAttribute");
  library_.find(f.describe_end, "cublasLtMatmulDescDestroy");
  library_.find(f.layout, "cublasLtMatrixLayoutCreate");
  library_.find(f.layout_end, "cublasLtMatrixLayoutDestroy");
  library_.find(f.preference, "cublasLtMatmulPreferenceCreate");
  library_.find(f.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  library_.find(f.preference_end, "cublasLtMatmulPreferenceDestroy");
  library_.find(f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library_.find(f.multiply, "cublasLtMatmul");
}

void CublasLt::require(int code, const char* what) const {
  if (code != 0) throw check_failed(std::string(what) + ": cuBLASLt error " + std::to_string(code));
}

std::string CublasLt::version() const {
  const std::size_t number = functions_->version();
  // MAJOR·10000 + MINOR·100 + PATCH since 11.0, one digit more in front of MINOR from 12 on (cublas_api.h).
  return std::to_string(number / 10000) + "." + std::to_string(number % 10000 / 100) + "." +
         std::to_string(number % 100);
}

struct Gemm::Parts {
  /// cublasLtMatmulHeuristicResult_t: the algorithm is 64 opaque bytes.
  struct Heuristic {
    std::uint64_t algorithm[8];
    std::size_t workspace;
    int state;
    float waves;
    int reserved[4];
  };
  const GemmPrecision* precision;
  DeviceBuffer a, b, d, workspace;
  void *description = nullptr, *layout_a = nullptr, *layout_b = nullptr, *layout_d = nullptr;
  Heuristic heuristic{};
};

Gemm::Gemm(const CublasLt& library, const CudaDevice& device, const GemmShape& shape)
    : library_(library), device_(device), shape_(shape) {
  const GemmPrecision* precision = gemm_precision(shape.precision);
  const auto m = static_cast<std::size_t>(shape.m), n = static_cast<std::size_t>(shape.n),
             k = static_cast<std::size_t>(shape.k);
  parts_ = std::make_unique<Parts>(Parts{precision, DeviceBuffer(device, m * k * precision->input_bytes),
                                         DeviceBuffer(device, k * n * precision->input_bytes),
                                         DeviceBuffer(device, m * n * precision->output_bytes),
                                         DeviceBuffer(device, kWorkspace)});
  fill_operand(parts_->a, m * k, precision->input_a, precision->input_bytes, kSaltA);
  fill_operand(parts_->b, k * n, precision->input_b, precision->input_bytes, kSaltB);
  CublasLt::Functions& f = *library.functions_;
  if (!f.handle) library.require(f.create(&f.handle), "starting cuBLASLt");
  library.require(f.describe(&parts_->description, precision->compute, precision->scale), "describing a product");
  const int transposed = kTransposed;
  library.require(f.describe_set(parts_->description, kTransposeA, &transposed, sizeof transposed),
                  "describing a product");
  library.require(f.layout(&parts_->layout_a, precision->input_a, k, m, shape.k), "describing a matrix");
  library.require(f.layout(&parts_->layout_b, precision->input_b, k, n, shape.k), "describing a matrix");
  library.require(f.layout(&parts_->layout_d, precision->output, m, n, shape.m), "describing a matrix");
  void* preference = nullptr;
  library.require(f.preference(&preference), "describing a preference");
  library.require(f.preference_set(preference, kWorkspaceLimit, &kWorkspace, sizeof kWorkspace),
                  "describing a preference");
  int found = 0;
  const int code = f.heuristic(f.handle, parts_->description, parts_->layout_a, parts_->layout_b, parts_->layout_d,
                               parts_->layout_d, preference, 1, &parts_->heuristic, &found);
  f.preference_end(preference);
  if (code != 0 || found == 0)
    throw missing("cuBLASLt has no algorithm for " + std::to_string(shape.m) + "×" + std::to_string(shape.n) + "×" +
                  std::to_string(shape.k) + " in " + shape.precision);
}

Gemm::~Gemm() {
  if (!parts_) return;
  CublasLt::Functions& f = *library_.functions_;
  for (void* layout : {parts_->layout_a, parts_->layout_b, parts_->layout_d}) f.layout_end(layout);
  f.describe_end(parts_->description);
}

void Gemm::run(CudaHandle stream) const {
  // The factors have the product's own type.
  const std::array<float, 2> single{1, 0};
  const std::array<double, 2> twice{1, 0};
  const std::array<std::int32_t, 2> whole{1, 0};
  const int scale = parts_->precision->scale;
  const auto factor = [&](std::size_t i) -> const void* {
    if (scale == kFloat64) return &twice[i];
    if (scale == kInt32) return &whole[i];
    return &single[i];
  };
  const CublasLt::Functions& f = *library_.functions_;
  library_.require(
      f.multiply(f.handle, parts_->description, factor(0), parts_->a.pointer(), parts_->layout_a, parts_->b.pointer(),
                 parts_->layout_b, factor(1), parts_->d.pointer(), parts_->layout_d, parts_->d.pointer(),
                 parts_->layout_d, parts_->heuristic.algorithm, parts_->workspace.pointer(), kWorkspace, stream),
      "a matrix product");
}

void Gemm::require_right() const {
  const GemmPrecision& precision = *parts_->precision;
  const auto m = static_cast<std::size_t>(shape_.m), n = static_cast<std::size_t>(shape_.n),
             k = static_cast<std::size_t>(shape_.k);
  // Corners and some between: a wrong layout or a broken unit does not spare all of them.
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t row = i * 7919 % m, column = i == 15 ? n - 1 : i * 6007 % n;
    double expected = 0;
    for (std::size_t at = 0; at < k; ++at)
      expected += static_cast<double>(datum(row * k + at, kSaltA)) * datum(column * k + at, kSaltB);
    std::array<unsigned char, 8> bytes{};
    parts_->d.read(bytes.data(), precision.output_bytes, (column * m + row) * precision.output_bytes);
    const double found = number_of(bytes.data(), precision.output);
    const bool narrow = precision.output == kBfloat16 || precision.output == kFloat16;
    const double rounding = narrow ? 1.0 / 128 : 1e-5;  // bf16 keeps eight bits
    if (!(std::abs(found - expected) <= rounding * std::abs(expected) + 1e-3))
      throw check_failed("product " + std::to_string(m) + "×" + std::to_string(n) + "×" + std::to_string(k) + " in " +
                         shape_.precision + ": wrong data: element (" + std::to_string(row) + ", " +
                         std::to_string(column) + ") is " + std::to_string(found) + ", expected " +
                         std::to_string(expected));
  }
}

void Gemm::fill_with_noise() const {
  const GemmPrecision& precision = *parts_->precision;
  const auto elements = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
  probes::fill_with_noise(parts_->a, elements(shape_.m, shape_.k), precision.input_a, precision.input_bytes, kSaltA);
  probes::fill_with_noise(parts_->b, elements(shape_.k, shape_.n), precision.input_b, precision.input_bytes, kSaltB);
}

}  // namespace stepcast::probes
