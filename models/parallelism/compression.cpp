#include "models/parallelism/compression.hpp"

#include <algorithm>
#include <cmath>

#include "models/parallelism/synchronization.hpp"

namespace stepcast {

namespace {

// Bytes of device memory for each fp32 element.
// Casting reads 4 and writes 2, and the same backwards.
constexpr double kCastTraffic = 12;
// An exact top-k of 25 M elements takes 5 to 50 ms on a GPU (reported for V100s of 900 GB/s): 5 ms are 180 bytes an
// element; adding the residual and scattering the chosen back are 20 more. The quick end: sampled thresholds are common
// (Lin et al. 2018).
constexpr double kSelectionTraffic = 200;
// Residual added and stored, chosen elements cleared: reads 8, writes 4.
constexpr double kResidualTraffic = 12;
// Signs: gradient and residual read, residual written, bits unpacked into the sum: 16.
constexpr double kSignTraffic = 16;
// PowerSGD reads the matrix for two products, writes it once when it is put together, and keeps a residual (Vogels et
// al. 2019): 16 bytes.
constexpr double kFactorTraffic = 24;
// An element of top-k is its value in fp32 and its index in 32 bits; random-k's indices follow from a common seed.
constexpr double kValueAndIndex = 8;
constexpr double kValue = 4;
// Thin products of PowerSGD (rank ≪ 128) are bound by memory; a tenth of the fp32 peak, estimated.
constexpr double kThinProductShare = 0.1;

/// Elements sent for a matrix by PowerSGD, which leaves alone what would not get smaller by half (PyTorch's hook:
/// min_compression_rate 2).
double factor_elements(const WeightCount& w, int rank) {
  const double plain = w.rows * w.columns;
  const double factors = rank * (w.rows + w.columns);
  return 2 * factors < plain ? factors : plain;
}

}  // namespace

Compression compression_of(const CompressionSpec& spec, double plain_bytes, const std::vector<WeightCount>& weights,
                           double parameters) {
  Compression out;
  out.method = spec.method;
  out.bytes_per_element = plain_bytes;
  out.gathered = gathers_gradients(spec);
  switch (spec.method) {
    case CompressionMethod::none:
      break;
    case CompressionMethod::fp16:
      out.bytes_per_element = std::min(2.0, plain_bytes);
      out.traffic_per_element = plain_bytes > 2 ? kCastTraffic : 0;
      break;
    case CompressionMethod::top_k:
      out.bytes_per_element = kValueAndIndex * spec.ratio;
      out.traffic_per_element = kSelectionTraffic;
      break;
    case CompressionMethod::random_k:
      out.bytes_per_element = kValue * spec.ratio;
      out.traffic_per_element = kResidualTraffic;
      break;
    case CompressionMethod::one_bit:
      out.bytes_per_element = 1.0 / 8;
      out.traffic_per_element = kSignTraffic;
      break;
    case CompressionMethod::two_bit:
      out.bytes_per_element = 2.0 / 8;
      out.traffic_per_element = kSignTraffic;
      out.pull_compressed = false;  // MXNet: pushes alone
      break;
    case CompressionMethod::powersgd: {
      double known = 0, sent = 0;
      for (const WeightCount& w : weights) {
        known += w.rows * w.columns * w.count;
        sent += factor_elements(w, spec.rank) * w.count;
        if (2.0 * spec.rank * (w.rows + w.columns) < w.rows * w.columns)
          out.flops_per_element += 3 * 2.0 * w.rows * w.columns * spec.rank * w.count;
      }
      // Norms and biases are sent as they are.
      const double rest = std::max(0.0, parameters - known);
      const double all = std::max(parameters, known);
      if (all > 0) {
        out.bytes_per_element = plain_bytes * (sent + rest) / all;
        out.flops_per_element /= all;
      }
      out.traffic_per_element = kFactorTraffic;
      out.sums_in_sequence = 2;  // Q needs the summed P
      break;
    }
  }
  return out;
}

std::vector<WeightCount> weights_of(const Job& job) {
  std::vector<WeightCount> out;
  for (const Chunk& chunk : job.chunks)
    for (const int kind : chunk.layer_kinds) {
      const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
      double once = 0;
      for (const WeightShape& shape : layer.weight_shapes) once += shape.in * shape.out;
      if (once <= 0) continue;
      // Shapes are listed once each; how often they occur follows from the layer's parameters.
      const double times = std::max(1.0, std::round(layer.parameters / once));
      for (const WeightShape& shape : layer.weight_shapes)
        if (shape.in * shape.out * times <= layer.parameters * 1.01) out.push_back({shape.in, shape.out, times});
    }
  return out;
}

bool gathers_gradients(const CompressionSpec& spec) { return spec.method == CompressionMethod::top_k; }

Compression compression_of(const Job& job, double plain_bytes) {
  const CompressionSpec& spec = job.scenario->spec.strategy.compression;
  if (spec.method == CompressionMethod::none) return compression_of(spec, plain_bytes, {}, 0);
  double parameters = 0;
  for (const double of_stage : job.stage_parameters) parameters += of_stage;
  return compression_of(spec, plain_bytes, weights_of(job), parameters);
}

Seconds compression_time(const Compression& compression, double parameters, const Device& device) {
  if (compression.none() || parameters <= 0) return Seconds(0);
  const Seconds memory = Bytes(compression.traffic_per_element * parameters) / device.memory_bandwidth;
  const Flops flops(compression.flops_per_element * parameters);
  return memory + (flops > Flops(0) ? flops / (kThinProductShare * device.peak_fp32) : Seconds(0));
}

void add_compression(Job& job) {
  if (job.groups.data.size <= 1) return;
  const Compression compression = compression_of(job, gradient_bytes(*job.scenario));
  if (compression.none()) return;
  const auto times = static_cast<double>(job.scenario->degrees.micro_batches);
  for (LayerCost& layer : job.layer_kinds) {
    const double parameters = (layer.parameters + layer.expert_parameters) / times;
    Piece piece;
    piece.name = "compress gradients";
    piece.duration = compression_time(compression, parameters, job.device);
    piece.bytes = Bytes(compression.traffic_per_element * parameters);
    piece.flops = Flops(compression.flops_per_element * parameters);
    if (!(piece.duration > Seconds(0))) continue;
    layer.backward_weight.compute += piece.duration;
    layer.backward_weight.flops += piece.flops;
    layer.backward_weight.pieces.push_back(piece);
  }
  for (Chunk& chunk : job.chunks) {
    chunk.backward_weight = Seconds(0);
    for (const int kind : chunk.layer_kinds)
      chunk.backward_weight += job.layer_kinds[static_cast<std::size_t>(kind)].backward_weight.total();
  }
}

}  // namespace stepcast
