#include "models/updates/server_shards.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace stepcast {

namespace {
constexpr std::size_t kHashPrime = 9973;  // MXNet kvstore_dist.h: EncodeDefaultKey
}

std::vector<double> server_shares(ServerSharding sharding, const std::vector<double>& tensors, int servers,
                                  double bound) {
  const auto count = static_cast<std::size_t>(servers);
  const double all = std::accumulate(tensors.begin(), tensors.end(), 0.0);
  std::vector<double> held(count, 0);
  if (all <= 0 || sharding == ServerSharding::balanced) {
    std::fill(held.begin(), held.end(), 1.0 / servers);
    return held;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (sharding == ServerSharding::large_arrays && tensors[i] >= bound) {
      for (double& share : held) share += tensors[i] / all / servers;
    } else {
      const std::size_t server = sharding == ServerSharding::large_arrays ? i * kHashPrime % count : i % count;
      held[server] += tensors[i] / all;
    }
  }
  return held;
}

std::vector<double> dealt_out(const std::vector<double>& shares, int places) {
  std::vector<double> out(static_cast<std::size_t>(places), 0);
  for (std::size_t server = 0; server < shares.size(); ++server) out[server % out.size()] += shares[server];
  return out;
}

double busiest_share(const std::vector<double>& shares) { return *std::max_element(shares.begin(), shares.end()); }

}  // namespace stepcast
