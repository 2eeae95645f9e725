#pragma once

#include "sim/protocol/messages.hpp"

namespace stepcast {

/// Predicts the scenario of a request as its `run.fidelity` says, writes its trace if one is wanted, and answers: the
/// prediction, the scenario's faults, or the text of whatever else went wrong. Simulates in this process, so it can be
/// called once.
Reply run_job(const Request& request);

}  // namespace stepcast
