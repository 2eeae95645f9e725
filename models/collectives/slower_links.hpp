#pragma once

#include "models/collectives/collective.hpp"

namespace stepcast {

/// Makes links those that ranks on two kinds of nodes have in common: of each rate the lesser, of each latency the
/// greater, and only protocols that both offer. What a library does by itself stays as it is, as do up-links.
void take_slower(Interconnect& links, const Interconnect& other);

}  // namespace stepcast
