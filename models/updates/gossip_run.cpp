#include "models/updates/gossip_run.hpp"

#include <algorithm>

#include "models/updates/random_draw.hpp"
#include "models/updates/staleness_count.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kWarm = 20, kMeasured = 60;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Time of a worker's step.
Seconds busy(const GossipJob& job, const RandomDraw& draw, std::size_t worker, std::size_t step) {
  return job.busy * (draw.factor(job.noise.worker, worker, 0) * draw.factor(job.noise.step, worker, step + 2));
}

}  // namespace

GossipRun run_gossip(const GossipJob& job) {
  const RandomDraw draw(job.seed);
  const std::size_t workers = at(job.exchanges.front().graph.ranks);
  std::vector<Seconds> begins(workers), next(workers);
  GossipRun out;
  Seconds begun, ended;
  for (std::size_t step = 0; step < kWarm + kMeasured; ++step) {
    const GossipExchange& exchange = job.exchanges[step % job.exchanges.size()];
    for (std::size_t w = 0; w < workers; ++w) next[w] = begins[w] + std::max(busy(job, draw, w, step), exchange.time);
    const std::vector<Seconds> own = next;
    for (const auto& [from, to] : exchange.graph.edges)
      next[at(to)] = std::max(next[at(to)], begins[at(from)] + exchange.time);
    Seconds mean;
    for (std::size_t w = 0; w < workers; ++w) {
      mean += next[w] / static_cast<double>(workers);
      if (step >= kWarm) out.neighbour_wait += next[w] - own[w];
    }
    begins.swap(next);
    if (step + 1 == kWarm) begun = mean;
    ended = mean;
  }
  out.step = (ended - begun) / static_cast<double>(kMeasured);
  out.neighbour_wait = out.neighbour_wait / static_cast<double>(workers * kMeasured);
  return out;
}

GossipRun run_pairs(const GossipJob& job) {
  const RandomDraw draw(job.seed);
  const GossipExchange& exchange = job.exchanges.front();
  const std::size_t workers = at(exchange.graph.ranks), steps = kWarm + kMeasured;
  std::vector<std::vector<Seconds>> ends(workers);
  GossipRun out;
  for (std::size_t w = 0; w < workers; ++w) {
    Seconds now = draw.uniform(w, 1) * job.busy;
    for (std::size_t step = 0; step < steps; ++step) {
      now += std::max(busy(job, draw, w, step), exchange.time);
      ends[w].push_back(now);
    }
    out.step += (ends[w].back() - ends[w][kWarm - 1]) / static_cast<double>(kMeasured);
  }
  out.step = out.step / static_cast<double>(workers);
  if (workers < 2) return out;
  StalenessCount count;
  for (std::size_t w = 0; w < workers; ++w)
    for (std::size_t step = kWarm; step < steps; ++step) {
      const double pick = draw.uniform(w + workers, step) * static_cast<double>(workers - 1);
      std::size_t peer = std::min(static_cast<std::size_t>(pick), workers - 2);
      if (peer >= w) ++peer;
      // Steps that the peer ended between the reading, when this step began, and the averaging, when it ends.
      const auto before = std::upper_bound(ends[peer].begin(), ends[peer].end(), ends[w][step - 1]);
      const auto after = std::upper_bound(ends[peer].begin(), ends[peer].end(), ends[w][step]);
      count.add(after - before);
    }
  out.staleness = count.distribution();
  return out;
}

}  // namespace stepcast
