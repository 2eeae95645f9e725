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
  int ends = 0;                       ///< collectives beside this part and those before it that the next part waits for
};

/// What a run of layers does in one phase, cut where something can wait or contend.
using Program = std::vector<ProgramPart>;

/// Makes programs and keeps their segments. Equal runs of layers share one program.
class ProgramCache {
 public:
  ProgramCache(const Job& job, Granularity granularity) : job_(job), granularity_(granularity) {}

  /// The program of positions first…last of a chunk's layers; backward phases run from last to first.
  const Program& program(const Chunk& chunk, int first, int last, Phase phase);
  /// The program of a whole chunk's forward pass merged with a whole chunk's backward pass (merged_passes.hpp).
  const Program& merged(const Chunk& forward, const Chunk& backward);

 private:
  using Key = std::pair<Phase, std::vector<int>>;
  /// A program in the making.
  struct Open {
    Program& program;
    Segment segment;           ///< what has not been cut yet
    std::vector<int> windows;  ///< of collectives that later pieces run beside: how many of these are still to come
  };
  void add(Open& open, const Segment& layer);
  void add(Open& open, const LayerCost& layer, Phase phase);
  void add_merged(Open& open, int forward, int backward);
  void flush(Open& open, int ends = 0);

  const Job& job_;
  Granularity granularity_;
  std::map<Key, Program> programs_;
  std::map<std::pair<const Chunk*, std::pair<Phase, std::pair<int, int>>>, const Program*> by_range_;
  std::map<std::pair<const Chunk*, const Chunk*>, Program> merged_;
  std::map<std::pair<int, int>, Segment> merged_layers_;
  std::deque<Segment> segments_;
};

}  // namespace stepcast
