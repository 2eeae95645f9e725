#pragma once

#include "models/parallelism/job.hpp"
#include "models/scenario/update_spec.hpp"

namespace stepcast {

/// What a compression method sends of a model's gradients, and what it costs to make and to undo.
struct Compression {
  CompressionMethod method = CompressionMethod::none;
  double bytes_per_element = 4;    ///< sent by a worker, mean over the model
  bool gathered = false;           ///< what ranks send cannot be summed on its way: everybody receives everybody's
  double traffic_per_element = 0;  ///< bytes of device memory that encoding and decoding read and write
  double flops_per_element = 0;    ///< of matrix products (powersgd)
  double sums_in_sequence = 1;     ///< all-reduces one after another
  [[nodiscard]] bool none() const { return method == CompressionMethod::none; }
};

/// The compression of a scenario. `weights` are the trained matrices; `parameters` counts everything that is trained.
Compression compression_of(const CompressionSpec& spec, double plain_bytes, const std::vector<WeightMatrix>& weights,
                           double parameters);

/// What parameter servers send back in a step.
enum class PulledContent { parameters, summed_gradients };

/// Bytes of an element that a worker pulls from servers to which `workers` push at once.
///
/// Parameters can be narrowed but not thinned out, nor put into signs. Summed gradients can: a sum of top-k has the
/// elements that any worker chose, that of random-k with a common seed one worker's, signs are packed anew.
double pulled_bytes(const Compression& compression, double plain_bytes, PulledContent content, int workers);

/// The compression of a lowered job, on gradients of so many bytes an element.
Compression compression_of(const Job& job, double plain_bytes);

/// Time of encoding and decoding the gradients of so many parameters on a device.
Seconds compression_time(const Compression& compression, double parameters, const Device& device);

/// Whether what ranks send cannot be summed on its way.
bool gathers_gradients(const CompressionSpec& spec);

/// Whether signs are sent, which no ring can add up on their way.
bool sends_signs(const CompressionSpec& spec);

/// Adds to the backward pass of every layer what encoding and decoding its gradients takes, once a step. The kernels
/// run between those of the backward pass, on the same device.
void add_compression(Job& job);

/// Weight matrices of a job's layers, per device; those of experts are taken to compress as the others do.
std::vector<WeightMatrix> weights_of(const Job& job);

}  // namespace stepcast
