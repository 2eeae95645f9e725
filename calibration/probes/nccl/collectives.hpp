#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/probes/common/result_file.hpp"
#include "calibration/probes/cuda/power_sampler.hpp"
#include "calibration/probes/nccl/ranks.hpp"

namespace stepcast::probes {

struct NcclRequest {
  std::vector<std::string> ops;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> algorithms{"auto"}, protocols{"auto"};
  bool in_place = true, out_of_place = true;
  int samples = 10;
};

std::vector<std::string> nccl_collectives();

/// Buffers of one collective on the ranks of this process, filled with a known pattern; and its calls.
class NcclCall {
 public:
  /// `size_bytes` is of the larger buffer, made whole for shares. Buffers of other ranks of this process lie here too.
  NcclCall(const Ranks& ranks, const std::string& op, std::int64_t size_bytes, bool in_place);
  /// Enqueues the collective on every rank of this process.
  void run(const std::vector<LocalRank>& ranks) const;
  void fill() const;
  /// Compares what came out; throws Fault (check failed) with rank, element, found and expected.
  void require_right() const;
  [[nodiscard]] std::int64_t size_bytes() const;
  static bool has_place(const std::string& op, bool in_place);

 private:
  [[nodiscard]] int run_one(const LocalRank& rank, std::size_t index) const;
  const Ranks& ranks_;
  std::string op_;
  std::size_t count_, share_;
  bool in_place_;
  std::vector<DeviceBuffer> input_, output_;
};

/// Samples of work on streams: all ranks begin together, a sample is the mean of `calls` calls on the slowest rank.
struct NcclMeasured {
  std::vector<double> samples_us;
  int calls = 1;
};
NcclMeasured measure_on(Ranks& ranks, const std::vector<LocalRank>& on, int samples,
                        const std::function<void()>& enqueue);

/// Every op, size, place, algorithm and protocol; a combination that NCCL does not have is left out, with a warning.
void probe_nccl_collectives(Ranks& ranks, const NcclRequest& request, const PowerSampler& power, ResultFile& file);

/// Messages one way between every pair of at most 16 ranks, and what is slow among them.
void probe_nccl_pairs(Ranks& ranks, std::int64_t size_bytes, int samples, ResultFile& file);

/// Two all_reduces at once, and one beside a matrix product where cuBLASLt is here: each alone, then both.
void probe_nccl_overlap(Ranks& ranks, std::int64_t size_bytes, int samples, ResultFile& file);

}  // namespace stepcast::probes
