#pragma once

namespace stepcast {

/// Nodes of a cluster that are taken for meant.
inline constexpr double kMostNodes = 1e6;

}  // namespace stepcast
