#pragma once

#include "models/parallelism/job.hpp"
#include "models/scenario/update_spec.hpp"

namespace stepcast {

/// What a compression method sends of a model's gradients, and what it costs to make and to undo.
struct Compression {
  CompressionMethod method = CompressionMethod::none;
  double bytes_per_element = 4;    ///< sent by a worker, mean over the model
  bool gathered = false;           ///< what ranks send cannot be summed on its way: everybody receives everybody's
  bool pull_compressed = true;     ///< what servers send back is as small
  double traffic_per_element = 0;  ///< bytes of device memory that encoding and decoding read and write
  double flops_per_element = 0;    ///< of matrix products (powersgd)
  double sums_in_sequence = 1;     ///< all-reduces one after another
  [[nodiscard]] bool none() const { return method == CompressionMethod::none; }
};

/// The compression of a scenario. `weights` are the trained matrices; `parameters` counts everything that is trained.
Compression compression_of(const CompressionSpec& spec, double plain_bytes, const std::vector<WeightMatrix>& weights,
                           double parameters);

/// The same for a lowered job, on gradients of so many bytes an element.
Compression compression_of(const Job& job, double plain_bytes);

/// Time of encoding and decoding the gradients of so many parameters on a device.
Seconds compression_time(const Compression& compression, double parameters, const Device& device);

/// Whether what ranks send cannot be summed on its way.
bool gathers_gradients(const CompressionSpec& spec);

/// Adds to the backward pass of every layer what encoding and decoding its gradients takes, once a step. The kernels
/// run between those of the backward pass, on the same device.
void add_compression(Job& job);

/// Weight matrices of a job's layers, per device; those of experts are taken to compress as the others do.
std::vector<WeightMatrix> weights_of(const Job& job);

}  // namespace stepcast
