#include "calibration/probes/nccl/nccl_library.hpp"

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {
namespace {

constexpr int kOldest = 2700;  // 2.7.0, before the numbers changed their form with 2.9

}  // namespace

NcclLibrary::NcclLibrary() : library_("NCCL", {"libnccl.so.2", "librccl.so.1", "libnccl.so"}) {
  library_.find(get_version_, "ncclGetVersion");
  get_version_(&version_);
  if (version_ < kOldest)
    throw missing("NCCL is too old: " + library_.file() + " is " + version() +
                  "; 2.7 or newer is needed for send and receive");
  library_.find(error_, "ncclGetErrorString");
  library_.find_optional(last_error_, "ncclGetLastError");  // since 2.13
  library_.find(unique_id, "ncclGetUniqueId");
  library_.find(join, "ncclCommInitRank");
  library_.find(leave, "ncclCommDestroy");
  library_.find(all_reduce, "ncclAllReduce");
  library_.find(all_gather, "ncclAllGather");
  library_.find(reduce_scatter, "ncclReduceScatter");
  library_.find(broadcast, "ncclBroadcast");
  library_.find(reduce, "ncclReduce");
  library_.find(send, "ncclSend");
  library_.find(receive, "ncclRecv");
  library_.find(group_begin, "ncclGroupStart");
  library_.find(group_end, "ncclGroupEnd");
}

std::string NcclLibrary::words(int code) const {
  std::string out = error_(code);
  if (last_error_)
    if (const char* more = last_error_(nullptr); more && *more) out += std::string("; ") + more;
  return out;
}

void NcclLibrary::require(int code, const std::string& what) const {
  if (code != 0) throw check_failed(what + ": NCCL error " + std::to_string(code) + ", " + words(code));
}

std::string NcclLibrary::version() const {
  // X·1000 + Y·100 + Z up to 2.8, X·10000 + Y·100 + Z from 2.9 on (nccl.h, NCCL_VERSION).
  const int scale = version_ >= 10000 ? 10000 : 1000;
  return std::to_string(version_ / scale) + "." + std::to_string(version_ % scale / 100) + "." +
         std::to_string(version_ % 100);
}

}  // namespace stepcast::probes
