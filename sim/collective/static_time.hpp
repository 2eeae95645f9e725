#pragma once

#include <vector>

#include "models/collectives/collective.hpp"
#include "sim/collective/flow_program.hpp"

namespace stepcast {

/// When a job ends by the loads of links alone, nothing else on the links.
///
/// Step by step, a message takes as long as the busiest link on its way needs for everything that crosses it in that
/// step, for no link sends faster than its capacity. Ranks that begin together stay in step, at the pace of the slowest
/// message; ranks that come late are followed from step to step, as long as those are not too many. Needs each message
/// once, not once a step. A streamed phase it takes for as short as its busiest link allows: max-min sharing may leave
/// that link idle in part, when what crosses it is held up elsewhere.
double static_end(const ProgramJob& job, const FlowProgram& program);

/// How long a phase of a plan takes on idle links that treat all ranks alike.
Seconds phase_time(const CollectivePhase& phase, const Interconnect& interconnect, const GroupShape& group);

/// Shortens the steps of a program: runs of equal steps of a phase become at most `most`, each with as many times the
/// latency and the bytes. What a phase takes alone stays the same.
void merge_steps(FlowProgram& program, int most);

}  // namespace stepcast
