#include "sim/engine/path_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace stepcast {

namespace {

namespace sg4 = simgrid::s4u;
namespace compat = simgrid_compat;

/// Shares per unit of weight, 1 / latency of the tag link. Only ratios matter to sharing; the latency is not zero
/// because SimGrid treats flows without latency apart (they keep the rate they start with as a bound), and so small
/// that a chain of a million flows is a nanosecond late.
constexpr double kSharesPerWeight = 0x1p50;
/// Weights are multiples of this, so that sums of shares are exact.
constexpr double kWeightStep = 0x1p-30;

/// Latency of the tag link of a path: the reciprocal of its share.
///
/// SimGrid adds up the shares (1 / latency) of a link's flows and takes them off one by one; once its flows are all
/// settled, what remains must be under 1e-5 or it looks for flows that are not there and crashes. So shares are
/// multiples of one power of two, whose sums are exact, and such that their reciprocal's reciprocal is exact too.
double tag_latency(double weight) {
  double share = std::round(weight / kWeightStep) * kWeightStep * kSharesPerWeight;
  volatile double latency = 1 / share;  // rounded to a double, as SimGrid will hold it
  while (1 / latency != share) {
    share += kWeightStep * kSharesPerWeight;
    latency = 1 / share;
  }
  return latency;
}

std::vector<char> contended_paths(const StepGraph& graph) {
  std::vector<int> flows_on_link(graph.links().size(), 0);
  for (const Flow& flow : graph.flows())
    for (const LinkId link : graph.paths()[flow.path].links) ++flows_on_link[link];
  std::vector<char> used(graph.paths().size(), 0);
  for (const Flow& flow : graph.flows()) used[flow.path] = 1;
  std::vector<char> contended(graph.paths().size(), 0);
  for (std::size_t p = 0; p < contended.size(); ++p)
    contended[p] = used[p] && std::any_of(graph.paths()[p].links.begin(), graph.paths()[p].links.end(),
                                          [&](LinkId link) { return flows_on_link[link] > 1; });
  return contended;
}

}  // namespace

PathHosts::PathHosts(sg4::Engine& engine, const StepGraph& graph, bool every_path)
    : links_(graph.links().size(), nullptr), hosts_(graph.paths().size(), nullptr) {
  const std::vector<char> wanted = every_path ? std::vector<char>(graph.paths().size(), 1) : contended_paths(graph);
  auto* zone = compat::star_zone(engine, "fabric");
  sink_ = compat::add_host(zone, "sink");
  compat::add_route_down(zone, sink_);
  std::vector<sg4::LinkInRoute> route;
  for (std::size_t p = 0; p < wanted.size(); ++p) {
    if (!wanted[p]) continue;
    const GraphPath& path = graph.paths()[p];
    double narrowest = INFINITY;
    for (const LinkId link : path.links) narrowest = std::min(narrowest, graph.links()[link].bandwidth.value());
    const bool capped = path.cap > BytesPerSecond(0);
    if (!capped && path.links.empty()) continue;  // takes no time
    // Without a cap the tag must only be wider than the path.
    auto* tag =
        compat::add_link(zone, fmt::format("tag {}", p), kUnitsPerByte * (capped ? path.cap.value() : 2 * narrowest));
    tag->set_latency(tag_latency(path.weight));
    if (capped) tag->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
    route.assign(1, sg4::LinkInRoute(tag->seal()));
    for (const LinkId id : path.links) {
      sg4::Link*& link = links_[id];
      if (!link)
        link = compat::add_link(zone, fmt::format("link {}", id), kUnitsPerByte * graph.links()[id].bandwidth.value())
                   ->seal();
      route.emplace_back(link);
    }
    hosts_[p] = compat::add_host(zone, fmt::format("path {}", p));
    compat::add_route_up(zone, hosts_[p], route);
  }
  zone->seal();
}

sg4::CommPtr PathHosts::start(PathId path, double units, int id) const {
  if (!hosts_[path]) throw std::logic_error(fmt::format("engine: path {} has a flow in SimGrid but no host", path));
  sg4::CommPtr comm = sg4::Comm::sendto_init(hosts_[path], sink_);
  comm->set_payload_size(static_cast<std::uint64_t>(std::llround(units)));
  // 0 is an id like any other, but as a pointer it would be no data at all.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): SimGrid keeps a pointer for its user and never follows it
  comm->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(id) + 1));
  comm->start();
  return comm;
}

int PathHosts::flow_id(const sg4::Activity& activity) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(activity.get_data<void>()) - 1);
}

double PathHosts::usage(LinkId link) const { return links_[link] ? links_[link]->get_usage() / kUnitsPerByte : 0; }

}  // namespace stepcast
