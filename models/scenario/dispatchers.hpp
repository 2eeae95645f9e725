#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Whether a way to take tokens to their experts runs on a kind of device at all; null: on processors.
bool dispatch_runs_on(ExpertDispatch dispatch, const Accelerator* accelerator);

/// Whether it takes groups of so many ranks on such nodes.
bool dispatch_takes(ExpertDispatch dispatch, int ranks, const Node& node);

/// Whether HybridEP is what `deepep` stands for: it is made for racks whose devices NVLink joins over their servers,
/// DeepEP for servers.
bool by_hybridep(const Node& node);

}  // namespace stepcast
