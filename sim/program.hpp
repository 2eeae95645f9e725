#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "models/parallelism/job.hpp"
#include "models/parallelism/schedule.hpp"

namespace stepcast {

/// A stretch of a device's program that the engine runs as one operation: a segment on the compute stream, or a
/// collective whose traffic leaves the node and may meet other traffic there.
struct ProgramPart {
  const Segment* segment = nullptr;
  const Piece* collective = nullptr;  ///< when segment is null
};

/// What a run of layers does in one phase, cut where something can wait or contend.
using Program = std::vector<ProgramPart>;

/// Makes programs and keeps their segments. Equal runs of layers share one program.
class ProgramCache {
 public:
  ProgramCache(const Job& job, Granularity granularity) : job_(job), granularity_(granularity) {}

  /// The program of positions first…last of a chunk's layers; backward phases run from last to first.
  const Program& program(const Chunk& chunk, int first, int last, Phase phase);

 private:
  using Key = std::pair<Phase, std::vector<int>>;
  void add(Program& program, Segment& open, const Segment& layer);
  void flush(Program& program, Segment& open);

  const Job& job_;
  Granularity granularity_;
  std::map<Key, Program> programs_;
  std::map<std::pair<const Chunk*, std::pair<Phase, std::pair<int, int>>>, const Program*> by_range_;
  std::deque<Segment> segments_;
};

}  // namespace stepcast
