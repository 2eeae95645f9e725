#pragma once

#include <vector>

#include "models/collectives/collective.hpp"
#include "sim/collective/flow_program.hpp"

namespace stepcast {

/// How long each phase of a job takes from the loads of links alone, all ranks in step and nothing else on the links.
///
/// Step by step, a message takes as long as the busiest link on its way needs for everything that crosses it in that
/// step, for no link sends faster than its capacity, and max-min sharing keeps that link busy throughout; a collective
/// goes at the pace of its slowest message, because every rank waits for the one before it. Needs each message once,
/// not once a step.
double static_time(const ProgramJob& job, const FlowProgram& program);

/// How long a phase of a plan takes on idle links that treat all ranks alike.
Seconds phase_time(const CollectivePhase& phase, const Interconnect& interconnect, const GroupShape& group);

/// Shortens the steps of a program: runs of equal steps of a phase become at most `most`, each with as many times the
/// latency and the bytes. What a phase takes alone stays the same.
void merge_steps(FlowProgram& program, int most);

}  // namespace stepcast
