#pragma once

#include "models/fabric/fabric_spec.hpp"

namespace stepcast {

/// Nodes joined to their neighbours, without switches.
inline bool is_torus(FabricPreset preset) {
  return preset == FabricPreset::torus_2d || preset == FabricPreset::torus_3d;
}
/// Groups of switches, every two of which are joined.
inline bool is_dragonfly(FabricPreset preset) {
  return preset == FabricPreset::dragonfly || preset == FabricPreset::dragonfly_plus;
}

}  // namespace stepcast
