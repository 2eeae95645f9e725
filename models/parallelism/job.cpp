#include "models/parallelism/job.hpp"

namespace stepcast {

void Segment::add_wait(Wait wait, Seconds duration) {
  if (duration <= Seconds(0)) return;
  Piece piece;
  piece.name = name_of(wait);
  piece.wait = wait;
  piece.duration = duration;
  pieces.push_back(piece);
  compute += duration;
}

}  // namespace stepcast
