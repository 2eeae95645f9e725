#pragma once

#include <cstddef>
#include <string>

#include "calibration/probes/common/library.hpp"
#include "calibration/probes/cuda/driver.hpp"

namespace stepcast::probes {

/// What joins the ranks of a communicator: NCCL's ncclUniqueId.
struct NcclId {
  char bytes[128];
};

using NcclCommunicator = void*;

/// Numbers of nccl.h.
enum class NcclType : int { int8 = 0, int32 = 2, float16 = 6, float32 = 7, float64 = 8, bfloat16 = 9 };
inline constexpr int kNcclSum = 0, kNcclMax = 2;

/// NCCL, or RCCL, whose functions have the same names, loaded at run time with own prototypes (nccl.h of NCCL 2.28).
class NcclLibrary {
 public:
  /// Throws Fault (missing) where it is absent, lacks a function, or is older than 2.7, the first with send and
  /// receive.
  NcclLibrary();

  int (*all_reduce)(const void*, void*, std::size_t, int, int, NcclCommunicator, CudaHandle);
  int (*all_gather)(const void*, void*, std::size_t, int, NcclCommunicator, CudaHandle);
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclCommunicator, CudaHandle);
  int (*broadcast)(const void*, void*, std::size_t, int, int, NcclCommunicator, CudaHandle);
  int (*reduce)(const void*, void*, std::size_t, int, int, int, NcclCommunicator, CudaHandle);
  int (*send)(const void*, std::size_t, int, int, NcclCommunicator, CudaHandle);
  int (*receive)(void*, std::size_t, int, int, NcclCommunicator, CudaHandle);
  int (*group_begin)();
  int (*group_end)();
  int (*unique_id)(NcclId*);
  int (*join)(NcclCommunicator*, int, NcclId, int);
  int (*leave)(NcclCommunicator);

  /// Throws Fault (check failed) with NCCL's own words when a call's code is not ncclSuccess.
  void require(int code, const std::string& what) const;
  /// NCCL's words for a code, with its last error where the version tells it.
  [[nodiscard]] std::string words(int code) const;
  /// As "2.28.3".
  [[nodiscard]] std::string version() const;

 private:
  Library library_;
  int (*get_version_)(int*);
  const char* (*error_)(int);
  const char* (*last_error_)(NcclCommunicator);
  int version_ = 0;
};

}  // namespace stepcast::probes
