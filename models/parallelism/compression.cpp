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

/// Elements of PowerSGD's two factors of a matrix.
double factor_elements(const WeightMatrix& w, int rank) { return rank * (w.rows + w.columns); }

/// PowerSGD leaves alone what would not get smaller by half (PyTorch's hook: min_compression_rate 2).
bool factorised(const WeightMatrix& w, int rank) { return 2 * factor_elements(w, rank) < w.rows * w.columns; }

}  // namespace

Compression compression_of(const CompressionSpec& spec, double plain_bytes, const std::vector<WeightMatrix>& weights,
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
      break;
    case CompressionMethod::powersgd: {
      double known = 0, sent = 0;
      for (const WeightMatrix& w : weights) {
        const double plain = w.rows * w.columns;
        known += plain * w.count;
        sent += (factorised(w, spec.rank) ? factor_elements(w, spec.rank) : plain) * w.count;
        // Both factors and the matrix that is put together from them: three thin products.
        if (factorised(w, spec.rank)) out.flops_per_element += 3 * 2.0 * plain * spec.rank * w.count;
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

double pulled_bytes(const Compression& compression, double plain_bytes, PulledContent content, int workers) {
  const double sent = compression.bytes_per_element;
  if (compression.none() || compression.method == CompressionMethod::fp16) return sent;
  if (content == PulledContent::parameters) return plain_bytes;
  switch (compression.method) {
    case CompressionMethod::top_k:
      return std::min(plain_bytes, workers * sent);
    case CompressionMethod::random_k:
    case CompressionMethod::one_bit:
      return sent;
    default:
      return plain_bytes;  // 2-bit: pushes alone (MXNet)
  }
}

std::vector<WeightMatrix> weights_of(const Job& job) {
  std::vector<WeightMatrix> out;
  for (const Chunk& chunk : job.chunks)
    for (const int kind : chunk.layer_kinds) {
      const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
      out.insert(out.end(), layer.weight_matrices.begin(), layer.weight_matrices.end());
    }
  return out;
}

bool gathers_gradients(const CompressionSpec& spec) { return spec.method == CompressionMethod::top_k; }

bool sends_signs(const CompressionSpec& spec) { return spec.method == CompressionMethod::one_bit; }

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
