// Attention's operation graphs before the real cuDNN, where it is installed: it is told of a device that is not here,
// takes the graphs, chooses kernels for them and compiles these. All that a GPU would add is loading and running them.
#include <cudnn_graph.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/cuda/attention_graph.hpp"
#include "calibration/probes/cuda/cudnn_numbers.hpp"

namespace stepcast::probes {
namespace {

// Our numbers against the header's: a wrong one would compile, and call the library with nonsense.
#define SAME(ours, theirs) static_assert(cudnn::ours == (theirs), #theirs)
SAME(kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
SAME(kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
SAME(kHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(kPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(kPointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
SAME(kGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
SAME(kProduct, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
SAME(kProductOperation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
SAME(kReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
SAME(kReductionOperation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
SAME(kReshapeOperation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
SAME(kHandleValue, CUDNN_TYPE_HANDLE);
SAME(kDataTypeValue, CUDNN_TYPE_DATA_TYPE);
SAME(kFlagValue, CUDNN_TYPE_BOOLEAN);
SAME(kIntegerValue, CUDNN_TYPE_INT64);
SAME(kPointerValue, CUDNN_TYPE_VOID_PTR);
SAME(kHeuristicModeValue, CUDNN_TYPE_HEUR_MODE);
SAME(kPointwiseModeValue, CUDNN_TYPE_POINTWISE_MODE);
SAME(kDescriptorValue, CUDNN_TYPE_BACKEND_DESCRIPTOR);
SAME(kReductionValue, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
SAME(kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
SAME(kPointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
SAME(kPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS);
SAME(kHeuristicModeOf, CUDNN_ATTR_ENGINEHEUR_MODE);
SAME(kHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
SAME(kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
SAME(kPlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(kPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(kPointwiseOf, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
SAME(kPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
SAME(kPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
SAME(kPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
SAME(kPointwiseT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
SAME(kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
SAME(kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
SAME(kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(kTensorType, CUDNN_ATTR_TENSOR_DATA_TYPE);
SAME(kTensorSizes, CUDNN_ATTR_TENSOR_DIMENSIONS);
SAME(kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
SAME(kTensorNumber, CUDNN_ATTR_TENSOR_UNIQUE_ID);
SAME(kTensorVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
SAME(kTensorByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
SAME(kPackNumbers, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
SAME(kProductPrecision, CUDNN_ATTR_MATMUL_COMP_TYPE);
SAME(kProductA, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
SAME(kProductB, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
SAME(kProductC, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
SAME(kProductOf, CUDNN_ATTR_OPERATION_MATMUL_DESC);
SAME(kReductionKind, CUDNN_ATTR_REDUCTION_OPERATOR);
SAME(kReductionPrecision, CUDNN_ATTR_REDUCTION_COMP_TYPE);
SAME(kReductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
SAME(kReductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
SAME(kReductionOf, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
SAME(kReshapeX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
SAME(kReshapeY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
SAME(kFloat32, CUDNN_DATA_FLOAT);
SAME(kFloat16, CUDNN_DATA_HALF);
SAME(kInt32, CUDNN_DATA_INT32);
SAME(kBfloat16, CUDNN_DATA_BFLOAT16);
SAME(kBoolean, CUDNN_DATA_BOOLEAN);
SAME(kAdd, CUDNN_POINTWISE_ADD);
SAME(kMultiply, CUDNN_POINTWISE_MUL);
SAME(kDivide, CUDNN_POINTWISE_DIV);
SAME(kSubtract, CUDNN_POINTWISE_SUB);
SAME(kExponential, CUDNN_POINTWISE_EXP);
SAME(kLogarithm, CUDNN_POINTWISE_LOG);
SAME(kIdentity, CUDNN_POINTWISE_IDENTITY);
SAME(kNotLess, CUDNN_POINTWISE_CMP_GE);
SAME(kIndex, CUDNN_POINTWISE_GEN_INDEX);
SAME(kSelect, CUDNN_POINTWISE_BINARY_SELECT);
SAME(kSum, CUDNN_REDUCE_TENSOR_ADD);
SAME(kLargest, CUDNN_REDUCE_TENSOR_MAX);
SAME(kModeA, CUDNN_HEUR_MODE_A);
SAME(kModeFallback, CUDNN_HEUR_MODE_FALLBACK);
static_assert(sizeof(cudnnDataType_t) == sizeof(int) && sizeof(cudnnStatus_t) == sizeof(int));

/// An accelerator as cuDNN describes one (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
struct Device {
  const char* name;
  int version, multiprocessors, shared_bytes;
};

void PrintTo(const Device& device, std::ostream* out) { *out << device.name; }

CudnnDescriptor described(const Cudnn& library, const Device& device) {
  std::string json = "{\"deviceName\": \"" + std::string(device.name) + "\"";
  const auto put = [&](const char* key, long long value) {
    json += ", \"" + std::string(key) + "\": " + std::to_string(value);
  };
  put("deviceVer", device.version);
  put("multiProcessorCount", device.multiprocessors);
  put("maxSharedMemoryPerBlockOptin", device.shared_bytes);
  put("maxSharedMemoryPerBlock", 49152);
  put("reservedSharedMemoryPerBlock", 1024);
  put("driverVer", 13000);
  put("totalGlobalMem", 80LL << 30);
  put("l2CacheSize", 50 << 20);
  put("smClockRateKHz", 1980000);
  put("memClockRateKHz", 2619000);
  for (const char* key : {"regsPerBlock", "maxRegistersPerSM"}) put(key, 65536);
  for (const char* key : {"cudaDeviceId", "isTccDriver", "pciDeviceId"}) put(key, 0);
  put("maxThreadsPerBlock", 1024);
  put("maxThreadsPerSM", 2048);
  put("maxCtasPerSM", 32);
  put("supportCoopLaunch", 1);
  put("warpSize", 32);
  json += R"(, "maxBlockSize": [1024, 1024, 64], "maxGridSize": [2147483647, 65535, 65535]})";
  CudnnDescriptor out(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  EXPECT_EQ(cudnnBackendSetAttribute(out.address(), CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                     static_cast<std::int64_t>(json.size()) + 1, json.c_str()),
            CUDNN_STATUS_SUCCESS);
  out.finish("describing a device");
  return out;
}

class RealCudnn : public testing::TestWithParam<Device> {
 protected:
  static void SetUpTestSuite() {
    // The toolkit's stand-in of a driver, under the driver's name: cuDNN builds nothing without one.
    static const void* driver = dlopen(STEPCAST_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(driver, nullptr) << dlerror();
  }
};

TEST_P(RealCudnn, TakesTheGraphsAndCompilesKernelsForThem) {
  const Cudnn library;
  if (cudnnGetVersion() < 90800) GTEST_SKIP() << "cuDNN " << library.version() << " must have the device itself";
  const CudnnDescriptor device = described(library, GetParam());
  for (const bool backward : {false, true})
    for (const AttentionShape& shape :
         {AttentionShape{2, 32, 8, 4096, 128, true, "bf16"}, AttentionShape{4, 16, 16, 2048, 64, false, "fp16"}}) {
      const AttentionGraph graph(library, shape, backward);
      CudnnDescriptor heuristic(library, cudnn::kHeuristic);
      heuristic.set_descriptors(cudnn::kHeuristicGraph, {&graph.graph()});
      heuristic.set_choice(cudnn::kHeuristicModeOf, cudnn::kHeuristicModeValue, cudnn::kModeA);
      heuristic.set_descriptors(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, {&device});
      heuristic.finish("choosing a kernel");
      std::vector<CudnnDescriptor> configurations;
      for (std::size_t i = heuristic.count(cudnn::kHeuristicResults); i > 0; --i)
        configurations.emplace_back(library, cudnn::kEngineConfig);
      ASSERT_GT(heuristic.fill(cudnn::kHeuristicResults, configurations), 0U) << "no kernel suits";
      CudnnDescriptor plan(library, cudnn::kPlan);
      plan.set_descriptors(cudnn::kPlanConfig, {&configurations.front()});
      plan.set_descriptors(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, {&device});
      try {
        plan.finish("building a kernel");
      } catch (const Fault& fault) {
        EXPECT_THAT(fault.what(), testing::HasSubstr("cuLibraryLoadData")) << "it should come as far as the driver";
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, RealCudnn,
                         testing::Values(Device{"A100", 800, 108, 166912}, Device{"H200", 900, 132, 232448},
                                         Device{"B200", 1000, 148, 232448}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace stepcast::probes
