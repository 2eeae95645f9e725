#include "models/parallelism/parameter_update.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <vector>

#include "models/parallelism/offload.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/workload/newton_schulz.hpp"

namespace stepcast {

namespace {

/// Matrices of one shape on a device.
struct Matrices {
  WeightMatrix shape;      ///< with their count
  Seconds orthogonalized;  ///< Newton–Schulz on one of them
  [[nodiscard]] double elements() const { return shape.rows * shape.columns; }
};

void add(std::vector<Matrices>& out, const std::vector<WeightMatrix>& matrices, const Device& device) {
  for (const WeightMatrix& matrix : matrices) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Matrices& known) {
      return known.shape.rows == matrix.rows && known.shape.columns == matrix.columns;
    });
    if (same != out.end()) {
      same->shape.count += matrix.count;
      continue;
    }
    Seconds step;
    for (const Operator& op : newton_schulz_step(matrix)) step += operator_time(op, device);
    out.push_back({matrix, static_cast<double>(kNewtonSchulzSteps) * step});
  }
}

/// What a stage's layers list under `member`.
std::vector<Matrices> matrices_of(const Job& job, int stage, std::vector<WeightMatrix> LayerCost::*member) {
  std::vector<Matrices> out;
  for (const Chunk& chunk : job.chunks) {
    if (chunk.stage != stage) continue;
    for (const int kind : chunk.layer_kinds)
      add(out, job.layer_kinds[static_cast<std::size_t>(kind)].*member, job.device);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Matrices& a, const Matrices& b) { return a.elements() > b.elements(); });
  return out;
}

/// Of the ranks among which matrices are dealt out whole, the most that one has of each.
struct BusiestOwner {
  double elements = 0;
  Seconds orthogonalized;
};

BusiestOwner busiest(const std::vector<Matrices>& matrices, int ranks) {
  struct Owner {
    double elements = 0;
    Seconds orthogonalized;
    bool operator<(const Owner& other) const { return elements > other.elements; }  // the one with least on top
  };
  std::priority_queue<Owner> owners;
  for (int rank = 0; rank < ranks; ++rank) owners.push({});
  BusiestOwner out;
  for (const Matrices& same : matrices) {
    // Alone, one has them all, whatever their number.
    const long times = ranks == 1 ? 1 : std::max(1L, std::lround(same.shape.count));
    const double at_once = same.shape.count / static_cast<double>(times);
    for (long dealt = 0; dealt < times; ++dealt) {
      Owner least = owners.top();
      owners.pop();
      least.elements += at_once * same.elements();
      least.orthogonalized += at_once * same.orthogonalized;
      out.elements = std::max(out.elements, least.elements);
      out.orthogonalized = std::max(out.orthogonalized, least.orthogonalized);
      owners.push(least);
    }
  }
  return out;
}

double elements_of(const std::vector<Matrices>& matrices) {
  double sum = 0;
  for (const Matrices& same : matrices) sum += same.shape.count * same.elements();
  return sum;
}

/// What one device owns of a stage, with the time of Newton–Schulz.
struct Owned {
  OwnedParameters parameters;
  Seconds orthogonalized;
};

Owned owned(const Job& job, int stage) {
  const bool sharded = job.scenario->sharding != Sharding::none;
  const bool by_muon = optimizer_of(*job.scenario) == OptimizerKind::muon;
  Owned out;
  const auto add_part = [&](double parameters, int ranks, std::vector<WeightMatrix> LayerCost::*member) {
    if (!by_muon) {
      out.parameters.all += parameters / ranks;
      return;
    }
    const std::vector<Matrices> matrices = matrices_of(job, stage, member);
    const BusiestOwner most = busiest(matrices, ranks);
    out.parameters.in_matrices += most.elements;
    out.orthogonalized += most.orthogonalized;
    out.parameters.all += most.elements + std::max(0.0, parameters - elements_of(matrices)) / ranks;
  };
  const auto at = static_cast<std::size_t>(stage);
  add_part(job.stage_parameters[at], sharded ? job.groups.shard.size : 1, &LayerCost::hidden_matrices);
  add_part(job.stage_expert_parameters[at], sharded ? job.groups.expert_data.size : 1, &LayerCost::expert_matrices);
  return out;
}

/// Traffic of one parameter's update by an optimizer. What a profile states holds for its own networks and their usual
/// optimizer, so for SGD where those are convolutional; others go by their least traffic over that one's.
double update_bytes(const Scenario& scenario, OptimizerKind kind) {
  const double stated = scenario.framework->optimizer_bytes_per_parameter;
  if (stated <= 0) return stated;
  const OptimizerKind usual = usual_optimizer(*scenario.model);
  const double narrow = parameter_bytes(scenario);
  UpdatedParameter formats{.copy = narrow < 4 ? narrow : 0};
  const double least = least_update_bytes(usual, formats);
  if (scenario.spec.strategy.parameters_in_16_bit) formats = {narrow, narrow, 0};
  const double share = least_update_bytes(kind, formats) / least;
  return share * (scenario.model->is_transformer() ? std::max(stated, least) : stated);
}

}  // namespace

OwnedParameters owned_parameters(const Job& job, int stage) { return owned(job, stage).parameters; }

Seconds update_time(const Job& job, int stage) {
  const Scenario& scenario = *job.scenario;
  const auto [own, orthogonalized] = owned(job, stage);
  if (scenario.spec.strategy.offload_optimizer) return offloaded_optimizer_time(own.all, job);
  const OptimizerKind kind = optimizer_of(scenario);
  if (own.in_matrices <= 0) return optimizer_time(own.all, update_bytes(scenario, outside_matrices(kind)), job.device);
  const double matrices = own.in_matrices * update_bytes(scenario, kind);
  const double others = (own.all - own.in_matrices) * update_bytes(scenario, outside_matrices(kind));
  return optimizer_time(own.all, (matrices + others) / own.all, job.device) + orthogonalized;
}

}  // namespace stepcast
