#include "models/parallelism/tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

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

}  // namespace stepcast
