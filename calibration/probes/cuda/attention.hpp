#pragma once

#include <map>
#include <vector>

#include "calibration/probes/cuda/attention_graph.hpp"
#include "calibration/probes/cuda/driver.hpp"

namespace stepcast::probes {

/// The tensors of one attention on a device: inputs filled, results where a run leaves them.
class AttentionData {
 public:
  AttentionData(const CudaDevice& device, const AttentionShape& shape);
  [[nodiscard]] const AttentionShape& shape() const { return shape_; }
  [[nodiscard]] const DeviceBuffer& buffer(AttentionTensor which) const { return buffers_.at(which); }
  /// Bytes of everything that a forward and a backward run touch.
  [[nodiscard]] static std::size_t bytes_of(const AttentionShape& shape);

  /// Compares the results of some queries, and some gradients, with attention computed here; throws Fault (check
  /// failed) when one is off by more than rounding explains. Gradients are right only of a right result: forward first.
  void require_right_result() const;
  void require_right_gradients() const;

 private:
  struct Row;
  /// Probabilities of a query's keys, from its logarithm of the sum where one is given.
  [[nodiscard]] Row row_of(std::size_t batch, std::size_t head, std::size_t query) const;
  [[nodiscard]] std::vector<double> read(AttentionTensor which, std::size_t first, std::size_t count) const;
  void require_query_gradient(std::size_t batch, std::size_t head, std::size_t query) const;
  void require_key_gradients(std::size_t batch, std::size_t key_head, std::size_t key) const;

  AttentionShape shape_;
  std::size_t tokens_, size_, heads_, key_heads_;
  double scale_;
  std::map<AttentionTensor, DeviceBuffer> buffers_;
};

/// One pass over such data, by the kernel that cuDNN names first.
class Attention {
 public:
  /// Throws Fault (missing) where cuDNN has no kernel for it. `library` must be started on the device.
  Attention(const Cudnn& library, const CudaDevice& device, const AttentionData& data, bool backward);
  /// Enqueues a run; backward with setting to zero what is summed into.
  void run() const;

 private:
  const CudaDevice& device_;
  const AttentionData& data_;
  bool backward_;
  AttentionGraph graph_;
  float scale_, masked_, kept_{1};
  CudnnDescriptor plan_;
  std::vector<DeviceBuffer> workspace_;  ///< one, or none where the kernel needs none
  CudnnDescriptor pack_;
};

}  // namespace stepcast::probes
