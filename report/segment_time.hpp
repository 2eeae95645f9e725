#pragma once

#include <vector>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// What a segment's pieces add up to on idle links, by what the device does meanwhile.
struct SegmentTime {
  Seconds matrix;         ///< matrix products, attention, convolutions
  Seconds memory;         ///< memory-bound operators
  Seconds host;           ///< gaps in which the device waits for the host to issue kernels
  Seconds peers;          ///< waits for the slowest peer
  Seconds communication;  ///< collectives that the stream waits for
  struct Share {
    CollectiveKind kind;
    Dimension dimension;
    Seconds total, exposed;  ///< with what it hides, and without
  };
  std::vector<Share> collectives;  ///< its communication by kind and dimension
  Flops flops;
  [[nodiscard]] Seconds compute() const { return matrix + memory; }
  [[nodiscard]] Seconds total() const { return matrix + memory + host + peers + communication; }
};

SegmentTime segment_time(const Segment& segment);

/// How much longer pieces take in a span than on an idle device. What slows a span down (a collective's kernel beside
/// it) takes compute time, so operators stretch; if there are none, everything does.
struct Stretch {
  double operators = 1;  ///< time over that on an idle device
  double others = 1;     ///< the same of collectives and waits
  [[nodiscard]] double of(const Piece& piece) const {
    return piece.communication || piece.wait != Wait::none ? others : operators;
  }
};
Stretch stretch_of(const SegmentTime& nominal, Seconds length);

}  // namespace stepcast
