#include "report/segment_time.hpp"

namespace stepcast {

namespace {

SegmentTime::Share& share_of(SegmentTime& time, const Piece& piece) {
  for (SegmentTime::Share& share : time.collectives)
    if (share.kind == piece.collective && share.dimension == piece.dimension) return share;
  return time.collectives.emplace_back(SegmentTime::Share{piece.collective, piece.dimension, {}, {}});
}

}  // namespace

SegmentTime segment_time(const Segment& segment) {
  SegmentTime out;
  for (const Piece& piece : segment.pieces) {
    out.flops += piece.flops;
    if (piece.communication) {
      SegmentTime::Share& share = share_of(out, piece);
      share.total += piece.duration + piece.hidden;
      share.exposed += piece.duration;
      out.communication += piece.duration;
    } else if (piece.wait != Wait::none) {
      (piece.waits_for_host() ? out.host : out.peers) += piece.duration;
    } else if (piece.kind == OperatorKind::memory) {
      out.memory += piece.duration;
    } else {
      out.matrix += piece.duration;
    }
  }
  return out;
}

Stretch stretch_of(const SegmentTime& nominal, Seconds length) {
  const Seconds fixed = nominal.host + nominal.peers + nominal.communication;
  if (nominal.compute() > Seconds(0) && length >= nominal.total()) return {(length - fixed) / nominal.compute(), 1};
  const double uniform = nominal.total() > Seconds(0) ? length / nominal.total() : 0;
  return {uniform, uniform};
}

}  // namespace stepcast
