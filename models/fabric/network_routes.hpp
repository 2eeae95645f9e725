#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/fabric/fabric.hpp"

namespace stepcast {

/// Routes over the network alone, from one NIC to another. Only switches are passed; in a torus NICs are.
///
/// In a Clos network a route goes up until the receiver's leaf is below, then down, which the switches' planes tell.
/// Elsewhere, and where a link has failed, how far each switch is from the switches that a receiver hangs on is found
/// once for all receivers that hang on the same ones, breadth first.
class NetworkRoutes {
 public:
  NetworkRoutes(const Fabric& fabric, FabricRouting routing, std::uint64_t seed);

  /// Appends the links of a route; false when there is none. `from` and `to` are NICs (or devices without one).
  bool route(Fabric::Vertex from, Fabric::Vertex to, std::uint64_t flow, std::vector<int>& out);
  void fail(int link);

 private:
  using Vertex = Fabric::Vertex;
  /// One direction out of a vertex into the network.
  struct Hop {
    int link;
    std::uint32_t to;
  };
  /// Distances of all switches from one set of switches: −1 where no way leads.
  using Distances = std::vector<std::int16_t>;

  void index_hops();
  [[nodiscard]] bool passes(Vertex vertex) const;
  [[nodiscard]] std::size_t transit(Vertex vertex) const;
  [[nodiscard]] std::span<const Hop> hops(Vertex vertex) const;
  const Distances& distances_to(Vertex receiver);
  [[nodiscard]] Distances search(const std::vector<Vertex>& goals) const;
  [[nodiscard]] std::size_t choose(std::size_t choices, Vertex at, Vertex from, Vertex to, std::uint64_t flow) const;
  bool clos_route(Vertex from, Vertex to, std::uint64_t flow, std::vector<int>& out);
  bool searched_route(Vertex from, Vertex to, std::uint64_t flow, std::vector<int>& out);
  /// Takes one of the candidates; appends its link and gives where it leads.
  Vertex take(Vertex at, Vertex from, Vertex to, std::uint64_t flow, std::vector<int>& out);
  void torus_route(Vertex from, Vertex to, std::vector<int>& out) const;
  [[nodiscard]] int link_between(Vertex from, Vertex to) const;

  const Fabric& fabric_;
  FabricRouting routing_;
  std::uint64_t seed_;
  bool torus_, clos_, broken_ = false;
  std::vector<char> failed_;
  std::vector<Hop> hops_;                 ///< of every vertex that meets the network, one after another
  std::vector<std::uint32_t> first_hop_;  ///< by vertex
  std::map<std::vector<Vertex>, Distances> by_goals_;
  std::vector<const Distances*> by_receiver_;  ///< by vertex; null: not yet known
  struct Standing {
    int level, plane;
  };
  std::vector<Standing> standing_;  ///< of every switch
  std::vector<Hop> candidates_;
};

}  // namespace stepcast
