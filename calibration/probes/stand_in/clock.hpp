#pragma once

#include <algorithm>
#include <vector>

namespace stepcast::stand_in {

/// A stream on a clock of its own: work has the length that it is said to have, so timings come back exactly.
struct Stream {
  int device;
  double end_us = 0;           ///< when all that was enqueued is done
  double* captured = nullptr;  ///< of a graph under way: how long what it has captured takes
};

struct Event {
  double at_us = 0;
};

inline std::vector<Stream*>& streams() {
  static std::vector<Stream*> all;
  return all;
}
/// What the host has waited for.
inline double& host_us() {
  static double now = 0;
  return now;
}

inline constexpr double kCrowding = 1.25;  ///< work beside other work on its device takes so much longer

inline double start_on(const Stream& stream) { return std::max(stream.end_us, host_us()); }

/// Enqueues work of a length that starts no earlier than `start_us`.
inline void advance(Stream& stream, double start_us, double us) {
  if (stream.captured) {
    *stream.captured += us;
    return;
  }
  const bool crowded = std::any_of(streams().begin(), streams().end(), [&](const Stream* other) {
    return other != &stream && other->device == stream.device && other->end_us > start_us;
  });
  stream.end_us = start_us + us * (crowded ? kCrowding : 1);
}
inline void advance(Stream& stream, double us) { advance(stream, start_on(stream), us); }

}  // namespace stepcast::stand_in
