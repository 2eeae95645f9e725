#pragma once

// SimGrid's headers need this order.
// clang-format off
#include <simgrid/s4u.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/version.h>
// clang-format on

#include <string>
#include <utility>
#include <vector>

/// The few names that differ between SimGrid 3.32 and 4.x. The 4.x branch has been checked against the headers of 4.0
/// and 4.1 only.
namespace stepcast::simgrid_compat {

namespace sg4 = simgrid::s4u;

#if SIMGRID_VERSION >= 40000
inline constexpr const char* kPrecisionKey = "precision/timing";
#else
inline constexpr const char* kPrecisionKey = "surf/precision";
#endif

inline sg4::NetZone* star_zone(sg4::Engine& engine, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return engine.get_netzone_root()->add_netzone_star(name);
#else
  (void)engine;
  return sg4::create_star_zone(name);
#endif
}

inline sg4::Host* add_host(sg4::NetZone* zone, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return zone->add_host(name, 1.0);
#else
  return zone->create_host(name, 1.0);
#endif
}

inline sg4::Link* add_link(sg4::NetZone* zone, const std::string& name, double bandwidth) {
#if SIMGRID_VERSION >= 40000
  return zone->add_link(name, bandwidth);
#else
  return zone->create_link(name, bandwidth);
#endif
}

/// The route of all that `host` sends; it receives nothing.
inline void add_route_up(sg4::NetZone* zone, sg4::Host* host, const std::vector<sg4::LinkInRoute>& links) {
#if SIMGRID_VERSION >= 33500
  zone->add_route(host, nullptr, links, false);
#else
  zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, links, false);
#endif
}

/// The route of all that `host` receives: no links.
inline void add_route_down(sg4::NetZone* zone, sg4::Host* host) {
#if SIMGRID_VERSION >= 33500
  zone->add_route(nullptr, host, {}, false);
#else
  zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {}, false);
#endif
}

/// Calls `done(activity)` whenever a Comm ends.
template <class Callback>
void on_flow_end(Callback done) {
#if SIMGRID_VERSION >= 33400
  sg4::Comm::on_completion_cb([done = std::move(done)](const sg4::Comm& comm) { done(comm); });
#else
  sg4::Activity::on_completion_cb([done = std::move(done)](const sg4::Activity& activity) { done(activity); });
#endif
}

}  // namespace stepcast::simgrid_compat
