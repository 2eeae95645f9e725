#include "sim/collective/network_links.hpp"

#include "models/fabric/router.hpp"

namespace stepcast {

NetworkLinks network_links(std::shared_ptr<const Fabric> fabric, FabricRouting routing, std::uint64_t seed) {
  NetworkLinks out;
  for (int link = 0; link < fabric->link_count(); ++link)
    out.bandwidths.push_back(fabric->link(link).bandwidth.value());
  auto router = std::make_shared<Router>(*fabric, routing, seed);
  out.fail = [router](int link) { router->fail(link); };
  // The router refers to the fabric, so both live as long as the function does.
  out.route = [fabric = std::move(fabric), router](int from, int to, std::uint64_t flow, std::vector<int>& way) {
    router->route(from, to, flow, way);
  };
  return out;
}

}  // namespace stepcast
