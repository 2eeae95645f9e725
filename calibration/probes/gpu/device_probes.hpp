#pragma once

#include <string>
#include <vector>

#include "calibration/probes/common/result_file.hpp"
#include "calibration/probes/cuda/attention_graph.hpp"
#include "calibration/probes/cuda/cublas_lt.hpp"
#include "calibration/probes/cuda/driver.hpp"
#include "calibration/probes/cuda/power_sampler.hpp"

namespace stepcast::probes {

/// What the probes of a device share.
struct DeviceProbe {
  const CudaDevice& device;
  PowerSampler& power;
  ResultFile& file;
  int samples;
  double sample_ms;  ///< least length of a sample
};

/// Products of every shape and precision that the device has, their results checked; cuBLASLt's version goes into the
/// file. Throws Fault (missing) without cuBLASLt; a shape that it refuses or that does not fit is left out with a
/// warning.
void probe_gemms(const DeviceProbe& probe, const std::vector<GemmShape>& shapes,
                 const std::vector<std::string>& precisions);

/// Fused attention through cuDNN, forward and backward, causal and not, in those of fp16 and bf16 that are asked for,
/// its results checked; cuDNN's version goes into the file. Where cuDNN is absent, too old or lacks a function a
/// warning says so, or a Fault (missing) when it is `required`; a shape that it has no kernel for is left out with a
/// warning.
void probe_attention(const DeviceProbe& probe, const std::vector<AttentionShape>& shapes,
                     const std::vector<std::string>& precisions, bool required);

/// Device memory copied and set, up to a size.
void probe_memory(const DeviceProbe& probe, std::int64_t most_bytes);

/// Copies between the memory of each NUMA node of the host and the device, pinned and not, and to every other device.
void probe_copies(const DeviceProbe& probe, std::int64_t most_bytes);

/// An empty kernel: launched and waited for, and many in a row.
void probe_launch(const DeviceProbe& probe);

}  // namespace stepcast::probes
