#pragma once

#include "sim/collective/flow_program.hpp"
#include "sim/collective/program_result.hpp"

namespace stepcast {

struct ProgramOptions {
  bool record_peaks = false;  ///< highest rate of links whose flows share them
  bool share_all = false;     ///< every flow in SimGrid: the reference, slower, the same answer
};

/// Executes a flow program on SimGrid: messages that no other live one can touch run on a clock inside its loop, those
/// that meet on a link share it max-min fairly by weight.
///
/// One call per process, as with simulate(). Deterministic to the bit. Throws std::invalid_argument that names what is
/// wrong with the program, and std::runtime_error naming ranks that never ended.
ProgramResult run_program(const FlowProgram& program, const ProgramOptions& options = {});

}  // namespace stepcast
