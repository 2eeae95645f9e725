#include "models/parallelism/parameter_update.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "models/parallelism/offload.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/workload/newton_schulz.hpp"

namespace stepcast {

namespace {

void add(std::vector<MuonMatrices>& out, const std::vector<MuonMatrices>& matrices) {
  for (const MuonMatrices& matrix : matrices) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const MuonMatrices& known) {
      return known.shape.rows == matrix.shape.rows && known.shape.columns == matrix.shape.columns;
    });
    if (same != out.end())
      same->shape.count += matrix.shape.count;
    else
      out.push_back(matrix);
  }
}

/// What a stage's layers list under `member`.
std::vector<MuonMatrices> matrices_of(const Job& job, int stage, std::vector<MuonMatrices> LayerCost::*member) {
  std::vector<MuonMatrices> out;
  for (const Chunk& chunk : job.chunks) {
    if (chunk.stage != stage) continue;
    for (const int kind : chunk.layer_kinds) add(out, job.layer_kinds[static_cast<std::size_t>(kind)].*member);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const MuonMatrices& a, const MuonMatrices& b) { return a.elements() > b.elements(); });
  return out;
}

/// Of the ranks among which matrices are dealt out whole, the most that one has of each.
struct BusiestOwner {
  double elements = 0;
  Seconds orthogonalized;
};

/// What ranks have been dealt: how many of them have so many elements, whose products take so long.
using Dealt = std::map<std::pair<double, Seconds>, long>;

/// As many of the ranks that have least as there are matrices left get one each. Returns how many were dealt.
long deal_to_least(Dealt& dealt, const MuonMatrices& same, long left) {
  const auto least = dealt.begin();
  const auto [elements, orthogonalized] = least->first;
  const long some = std::min(least->second, left);
  if ((least->second -= some) == 0) dealt.erase(least);
  dealt[{elements + same.elements(), orthogonalized + same.orthogonalized}] += some;
  return some;
}

/// Every rank gets so many.
void deal_to_all(Dealt& dealt, const MuonMatrices& same, long each) {
  Dealt out;
  const auto times = static_cast<double>(each);
  for (const auto& [has, ranks] : dealt)
    out[{has.first + times * same.elements(), has.second + times * same.orthogonalized}] += ranks;
  dealt = std::move(out);
}

/// Where no rank has more than the next matrix ahead of another, each gets one before any gets a second, so that whole
/// rounds are dealt at once: mixtures have tens of thousands of matrices of one shape.
BusiestOwner busiest(const std::vector<MuonMatrices>& matrices, int ranks) {
  Dealt dealt{{{0, Seconds(0)}, ranks}};
  for (const MuonMatrices& same : matrices) {
    long left = std::lround(same.shape.count);
    while (left > 0) {
      const double ahead = dealt.rbegin()->first.first - dealt.begin()->first.first;
      if (const long rounds = ahead <= same.elements() ? left / ranks : 0; rounds > 0) {
        deal_to_all(dealt, same, rounds);
        left -= rounds * ranks;
      } else {
        left -= deal_to_least(dealt, same, left);
      }
    }
  }
  BusiestOwner out{dealt.rbegin()->first.first, Seconds(0)};
  for (const auto& [has, owners] : dealt) out.orthogonalized = std::max(out.orthogonalized, has.second);
  return out;
}

double elements_of(const std::vector<MuonMatrices>& matrices) {
  double sum = 0;
  for (const MuonMatrices& same : matrices) sum += same.shape.count * same.elements();
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
  const auto add_part = [&](double parameters, int ranks, std::vector<MuonMatrices> LayerCost::*member) {
    if (!by_muon) {
      out.parameters.all += parameters / ranks;
      return;
    }
    const std::vector<MuonMatrices> matrices = matrices_of(job, stage, member);
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

std::vector<MuonMatrices> muon_matrices(const std::vector<WeightMatrix>& matrices, const Device& device) {
  std::vector<MuonMatrices> out;
  out.reserve(matrices.size());
  for (const WeightMatrix& matrix : matrices) {
    Seconds step;
    for (const Operator& op : newton_schulz_step(matrix)) step += operator_time(op, device);
    out.push_back({matrix, static_cast<double>(kNewtonSchulzSteps) * step});
  }
  return out;
}

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
