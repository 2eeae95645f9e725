#include "models/parallelism/tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

namespace stepcast {

namespace {

/// Of a network that is known by its totals: its largest tensor, and the rest in equal ones.
std::vector<double> tensors_of_totals(const CompactShape& shape) {
  const double largest = shape.largest_tensor_M * 1e6;
  const double others = std::max(1, shape.layers - 1);
  std::vector<double> out(static_cast<std::size_t>(others), (shape.parameters_M * 1e6 - largest) / others);
  out.push_back(largest);
  return out;
}

}  // namespace

std::vector<double> tensors_of(const Job& job) {
  const std::optional<CompactShape>& totals = job.scenario->model->compact;
  if (totals && totals->largest_tensor_M > 0) return tensors_of_totals(*totals);
  std::vector<double> out;
  for (const Chunk& chunk : job.chunks)
    for (const int kind : chunk.layer_kinds) {
      const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
      double left = layer.parameters + layer.expert_parameters;
      // Shapes are listed once each and repeat within a layer.
      for (bool taken = true; taken && left > 0;) {
        taken = false;
        for (const WeightShape& shape : layer.weight_shapes)
          if (shape.in * shape.out > 1 && shape.in * shape.out <= left) {
            out.push_back(shape.in * shape.out);
            left -= shape.in * shape.out;
            taken = true;
          }
      }
      if (left > 0) out.push_back(left);
    }
  return out;
}

double busiest_owner(std::vector<double> tensors, int devices) {
  const double all = std::accumulate(tensors.begin(), tensors.end(), 0.0);
  if (all <= 0 || devices <= 1) return 1;
  std::sort(tensors.begin(), tensors.end(), std::greater<>());
  std::vector<double> held(static_cast<std::size_t>(devices), 0);
  for (const double elements : tensors) *std::min_element(held.begin(), held.end()) += elements;
  return *std::max_element(held.begin(), held.end()) * devices / all;
}

void BucketCount::add(Bytes tensor) {
  open_ += tensor;
  if (open_ < limit_) return;
  ++closed_;
  open_ = Bytes(0);
  limit_ = others_;
}

void BucketCount::add(const LayerCost& layer, double bytes_per_gradient) {
  double left = layer.parameters;
  for (const WeightMatrix& matrix : layer.weight_matrices) {
    // A network known by its totals has fractions of matrices in a layer.
    const double tensors = std::max(1.0, std::round(matrix.count));
    const double elements = matrix.rows * matrix.columns * matrix.count / tensors;
    for (double tensor = 0; tensor < tensors && elements <= left; ++tensor) {
      add(Bytes(elements * bytes_per_gradient));
      left -= elements;
    }
  }
  // Norms, biases and tables that no product reads.
  if (left > 0) add(Bytes(left * bytes_per_gradient));
}

int BucketCount::take(bool last) {
  const int begun = last && open_ > Bytes(0) ? 1 : 0;
  if (last) open_ = Bytes(0);
  return std::max(1, std::exchange(closed_, 0) + begun);
}

}  // namespace stepcast
