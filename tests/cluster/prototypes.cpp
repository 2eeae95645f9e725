// The prototypes and numbers that the probes have of their own against the headers of a toolkit, where one is
// installed: a wrong one would compile, and call the driver with nonsense.
#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>

#include <type_traits>

#include "calibration/probes/cuda/driver.hpp"
#include "calibration/probes/nccl/nccl_library.hpp"

namespace stepcast::probes {
namespace {

/// Whether two arguments are passed alike: pointers and handles by address, numbers by size, structures by size.
template <typename Ours, typename Theirs>
constexpr bool alike() {
  constexpr bool numbers =
      (std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
  constexpr bool pointers = std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  constexpr bool structures = std::is_class_v<Ours> && std::is_class_v<Theirs>;
  return (numbers || pointers || structures) && sizeof(Ours) == sizeof(Theirs);
}

template <typename Ours, typename Theirs>
struct SameCall;
template <typename R, typename... A, typename S, typename... B>
struct SameCall<R (*)(A...), S (*)(B...)> {
  static constexpr bool value() {
    if constexpr (sizeof...(A) == sizeof...(B))
      return (alike<A, B>() && ...) && alike<R, S>();
    else
      return false;
  }
};

#define SAME_CUDA(ours, theirs) \
  static_assert(SameCall<decltype(CudaFunctions::ours), decltype(&theirs)>::value(), #theirs)
SAME_CUDA(init, cuInit);
SAME_CUDA(driver_version, cuDriverGetVersion);
SAME_CUDA(error_string, cuGetErrorString);
SAME_CUDA(device_count, cuDeviceGetCount);
SAME_CUDA(device_get, cuDeviceGet);
SAME_CUDA(device_name, cuDeviceGetName);
SAME_CUDA(device_memory, cuDeviceTotalMem_v2);
SAME_CUDA(device_attribute, cuDeviceGetAttribute);
SAME_CUDA(device_pci, cuDeviceGetPCIBusId);
SAME_CUDA(retain_context, cuDevicePrimaryCtxRetain);
SAME_CUDA(set_context, cuCtxSetCurrent);
SAME_CUDA(memory_info, cuMemGetInfo_v2);
SAME_CUDA(allocate, cuMemAlloc_v2);
SAME_CUDA(release, cuMemFree_v2);
SAME_CUDA(allocate_host, cuMemHostAlloc);
SAME_CUDA(release_host, cuMemFreeHost);
SAME_CUDA(to_device, cuMemcpyHtoD_v2);
SAME_CUDA(to_host, cuMemcpyDtoH_v2);
SAME_CUDA(to_device_async, cuMemcpyHtoDAsync_v2);
SAME_CUDA(to_host_async, cuMemcpyDtoHAsync_v2);
SAME_CUDA(copy_async, cuMemcpyDtoDAsync_v2);
SAME_CUDA(set_async, cuMemsetD8Async);
SAME_CUDA(peer_possible, cuDeviceCanAccessPeer);
SAME_CUDA(peer_enable, cuCtxEnablePeerAccess);
SAME_CUDA(peer_copy, cuMemcpyPeerAsync);
SAME_CUDA(stream_create, cuStreamCreate);
SAME_CUDA(stream_wait, cuStreamSynchronize);
SAME_CUDA(event_create, cuEventCreate);
SAME_CUDA(event_record, cuEventRecord);
SAME_CUDA(event_wait, cuEventSynchronize);
SAME_CUDA(event_elapsed, cuEventElapsedTime);
SAME_CUDA(module_load, cuModuleLoadData);
SAME_CUDA(module_function, cuModuleGetFunction);
SAME_CUDA(launch, cuLaunchKernel);
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75 && CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
static_assert(CU_STREAM_NON_BLOCKING == 1 && CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED == 704);

#define SAME_NCCL(ours, theirs) \
  static_assert(SameCall<decltype(NcclLibrary::ours), decltype(&theirs)>::value(), #theirs)
SAME_NCCL(all_reduce, ncclAllReduce);
SAME_NCCL(all_gather, ncclAllGather);
SAME_NCCL(reduce_scatter, ncclReduceScatter);
SAME_NCCL(broadcast, ncclBroadcast);
SAME_NCCL(reduce, ncclReduce);
SAME_NCCL(send, ncclSend);
SAME_NCCL(receive, ncclRecv);
SAME_NCCL(group_begin, ncclGroupStart);
SAME_NCCL(group_end, ncclGroupEnd);
SAME_NCCL(unique_id, ncclGetUniqueId);
SAME_NCCL(join, ncclCommInitRank);
SAME_NCCL(leave, ncclCommDestroy);
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(static_cast<int>(NcclType::int8) == ncclInt8 && static_cast<int>(NcclType::int32) == ncclInt32);
static_assert(static_cast<int>(NcclType::float16) == ncclFloat16 && static_cast<int>(NcclType::float32) == ncclFloat32);
static_assert(static_cast<int>(NcclType::float64) == ncclFloat64 &&
              static_cast<int>(NcclType::bfloat16) == ncclBfloat16);
static_assert(kNcclSum == ncclSum && kNcclMax == ncclMax);

// cuda/cublas_lt.cpp has these numbers, and the layout of a heuristic's result.
static_assert(CUDA_R_32F == 0 && CUDA_R_16F == 2 && CUDA_R_16BF == 14 && CUDA_R_8F_E4M3 == 28);
static_assert(CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_32F_FAST_TF32 == 77 && CUBLAS_OP_T == 1);
static_assert(CUBLASLT_MATMUL_DESC_TRANSA == 3 && CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == 1);
static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 && sizeof(cublasLtMatmulHeuristicResult_t) == 96);

}  // namespace
}  // namespace stepcast::probes
