#pragma once

#include <vector>

#include "sim/collective/collective_run.hpp"
#include "sim/collective/flow_program.hpp"

namespace stepcast {

/// A job's ranks, all devices of the setting when none are named.
std::vector<int> ranks_of(const CollectiveJob& job, const CollectiveSetting& setting);

/// How a job's ranks lie on the nodes, as they price it.
GroupShape shape_of(const CollectiveJob& job, const CollectiveSetting& setting);

/// The plan of a job on its setting.
CollectivePlan plan_of(const CollectiveJob& job, const CollectiveSetting& setting);

/// When each rank of a job comes: drawn by (seed, job, rank), 0 without jitter.
std::vector<double> late_arrivals(const CollectiveConditions& conditions, std::uint64_t seed, int job, int ranks);

/// Every rank and message of a run, its conditions included; `seed` decides hashes and late arrivals.
FlowProgram lower_run(const CollectiveRun& run, std::uint64_t seed);

/// Refuses ranks, links and figures that the setting does not have. Throws InputError with every fault.
void check_run(const CollectiveRun& run);

}  // namespace stepcast
