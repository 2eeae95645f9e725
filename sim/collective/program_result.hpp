#pragma once

#include <cstdint>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// What a link carried.
struct ProgramLinkUse {
  double bytes = 0;    ///< as the link sees them
  double payload = 0;  ///< as the groups count them
  double busy = 0;     ///< seconds in which anything crossed it
  double peak = 0;     ///< highest rate, bytes per second
};

/// When every rank was done, and what every link carried.
struct ProgramResult {
  double end = 0;                              ///< seconds
  std::vector<std::vector<double>> rank_ends;  ///< by job and rank
  std::vector<ProgramLinkUse> links;
  std::int64_t flows = 0;         ///< messages sent
  std::int64_t shared_flows = 0;  ///< of them, those that met another and went through SimGrid
};

Json to_json(const ProgramResult& result);
/// Throws std::runtime_error that says what is wrong with the message.
ProgramResult program_result_from_json(const Json& message);

}  // namespace stepcast
