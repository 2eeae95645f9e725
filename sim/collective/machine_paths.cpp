#include "sim/collective/machine_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

constexpr std::uint64_t kNativeOut = 1ULL << 62U, kNativeIn = 1ULL << 61U, kNative = 1ULL << 60U;

std::uint64_t pair_key(int from, int to, int strand) {
  return (static_cast<std::uint64_t>(strand) << 50U) | (static_cast<std::uint64_t>(from) << 25U) |
         static_cast<std::uint64_t>(to);
}

}  // namespace

MachinePaths::MachinePaths(const CollectiveRun& run, std::uint64_t seed, FlowProgram& program)
    : run_(run), program_(program) {
  const CollectiveSetting& setting = run.setting;
  if (setting.network) network_ = setting.network(seed);
  if (!run.conditions.failures.empty()) network_after_failures_ = setting.network(seed);
  for (const auto& failure : run.conditions.failures) network_after_failures_.fail(failure.link);
  const Interconnect& net = setting.interconnect;
  program_.links = network_.bandwidths;
  for (const auto& slow : run.conditions.slow_links) program_.links[slow.link] *= slow.share;
  first_port_ = static_cast<int>(program_.links.size());
  const int devices = setting.nodes * setting.devices_per_node;
  // A device without native links has ports that nothing crosses.
  const double port = net.native > BytesPerSecond(0) ? net.native.value() : 1;
  program_.links.resize(program_.links.size() + 2 * static_cast<std::size_t>(devices), port);
  if (!run.conditions.slow_ranks.empty()) speeds_.assign(devices, 1);
  for (const auto& slow : run.conditions.slow_ranks) speeds_[slow.rank] = slow.speed;
  if (net.nic > BytesPerSecond(0)) {
    network_occupancy_ = setting.nic_bandwidth / net.nic;
    strands_ = std::max(1, static_cast<int>(std::lround(net.rank_network / net.nic)));
  }
}

int MachinePaths::add(std::vector<int> links, int sender) {
  ProgramPath path;
  path.links = std::move(links);
  if (speed(sender) < 1) {
    double rate = std::numeric_limits<double>::infinity();
    for (const int link : path.links) rate = std::min(rate, program_.links[link]);
    if (std::isfinite(rate)) path.rate_limit = rate * speed(sender);
  }
  program_.paths.push_back(std::move(path));
  return static_cast<int>(program_.paths.size()) - 1;
}

int MachinePaths::native(int from, int to) {
  const auto [entry, fresh] = known_.try_emplace(kNative | pair_key(from, to, 0), 0);
  if (fresh) entry->second = add({first_port_ + 2 * from, first_port_ + 2 * to + 1}, from);
  return entry->second;
}

int MachinePaths::native_out(int device) {
  const auto [entry, fresh] = known_.try_emplace(kNativeOut | pair_key(device, 0, 0), 0);
  if (fresh) entry->second = add({first_port_ + 2 * device}, device);
  return entry->second;
}

int MachinePaths::native_in(int device) {
  const auto [entry, fresh] = known_.try_emplace(kNativeIn | pair_key(device, 0, 0), 0);
  if (fresh) entry->second = add({first_port_ + 2 * device + 1}, device);
  return entry->second;
}

std::vector<int> MachinePaths::neighbours(int device) const {
  std::vector<int> out;
  if (network_.neighbours) network_.neighbours(device, out);
  return out;
}

bool MachinePaths::fails(const std::vector<int>& links) const {
  const auto& failures = run_.conditions.failures;
  return std::any_of(failures.begin(), failures.end(), [&](const CollectiveConditions::Failure& failure) {
    return std::find(links.begin(), links.end(), failure.link) != links.end();
  });
}

int MachinePaths::network(int from, int to, int strand) {
  const std::uint64_t key = pair_key(from, to, strand);
  const auto [entry, fresh] = known_.try_emplace(key, 0);
  if (!fresh) return entry->second;
  network_.route(from, to, key, route_);
  const int path = add(route_, from);
  entry->second = path;
  if (fails(route_)) add_detour(path, from, to, key);
  return path;
}

void MachinePaths::add_detour(int path, int from, int to, std::uint64_t flow) {
  for (const auto& failure : run_.conditions.failures) {
    const auto& links = program_.paths[path].links;
    if (failure.reroute || std::find(links.begin(), links.end(), failure.link) == links.end()) continue;
    throw InputError({{"", "", fmt::format("link {} fails while devices {} and {} need it", failure.link, from, to),
                       "let its traffic take another way"}});
  }
  network_after_failures_.route(from, to, flow, route_);
  const int detour = add(route_, from);
  program_.paths[path].detour = detour;
}

}  // namespace stepcast
