#pragma once

#include <cstdint>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// Links that a message crosses, in the order of travel. Numbers are SI: this is what the executor computes with.
struct ProgramPath {
  std::vector<int> links;  ///< indices into FlowProgram::links
  double weight = 1;       ///< equal real flows that one flow stands for; on shared links it takes as many shares
  double rate_limit = 0;   ///< bytes per second of one flow, 0: none
  int detour = -1;         ///< path that replaces it once one of its links has failed; −1: there is none
};

/// What one rank sends to one other in a phase. A lane carries one message at a time.
struct Lane {
  int path = 0;                  ///< index into FlowProgram::paths
  int sender = 0, receiver = 0;  ///< places in the group
  double bytes = 0;              ///< of each message, as the links see them: protocol and lost shares included
  double payload = 0;            ///< of each message, as the group counts them
};

/// How a phase of a collective goes on.
enum class ProgramKind : std::uint8_t {
  stepwise,  ///< a rank begins its next step when its own messages have left and those to it have come
  streamed,  ///< all messages at once when the last rank has come; ends for all together
  windowed   ///< each rank sends its messages in order, `window` of them at a time
};

/// One phase of a job, for all its ranks.
///
/// Stepwise: in step s each rank uses its lanes of column `column_of_step[s]` (always column 0 when that is empty).
/// Lanes lie in the order of (column, sender). Streamed: one column; `instance` tells which ranks wait for each other.
/// Windowed: one column, with `window` messages in flight of those inside the node and of those between nodes.
struct ProgramPhase {
  ProgramKind kind = ProgramKind::stepwise;
  int steps = 1;                    ///< stepwise: how often every rank sends
  double latency = 0;               ///< seconds: of each step (stepwise), of the phase (otherwise)
  int columns = 1;                  ///< sets of lanes that steps choose from
  std::vector<int> column_of_step;  ///< by step; empty: column 0 in all
  std::vector<Lane> lanes;
  std::vector<int> first_lane;  ///< of (column, sender); columns × ranks + 1 entries
  std::vector<int> instance;    ///< of each rank; empty: all ranks together
  int window = 1;               ///< messages of a rank in flight
  std::vector<char> crosses;    ///< by lane, windowed only: whether it leaves the node
};

/// A collective as all its ranks run it.
struct ProgramJob {
  int ranks = 0;
  std::vector<double> begin;  ///< seconds: when each rank may send, its late arrival and the launch included
  std::vector<double> speed;  ///< of each rank, 1: as planned; empty: all 1
  std::vector<ProgramPhase> phases;
};

/// From `time` on nothing crosses the link.
struct ProgramFailure {
  double time = 0;  ///< seconds
  int link = 0;     ///< index into FlowProgram::links
};

/// Collectives and single messages over a network of links: all that the executor needs to know.
struct FlowProgram {
  std::vector<double> links;  ///< bytes per second
  std::vector<ProgramPath> paths;
  std::vector<ProgramJob> jobs;
  std::vector<ProgramFailure> failures;
};

/// Refuses what cannot be executed. Throws std::invalid_argument that names the first thing that is wrong.
void check_program(const FlowProgram& program);

/// As a message between processes carries it.
Json to_json(const FlowProgram& program);
/// Throws std::runtime_error that says what is wrong with the message.
FlowProgram program_from_json(const Json& message);

}  // namespace stepcast
