#pragma once

#include <memory>

#include "gui/view-models/timeline_data.hpp"

namespace stepcast {

/// A step of so many streams with so many slices each: 0.9 µs long, one every microsecond, every seventh on the
/// critical path. Four streams a device.
inline std::shared_ptr<TimelineData> timeline_step(int streams, int slices) {
  auto out = std::make_shared<TimelineData>();
  out->names = {"attention", "mlp_up", "all_reduce"};
  out->categories = {"forward", "backward", "tensor"};
  for (int t = 0; t < streams; ++t) {
    TimelineTrack track{QString("pipeline stage %1").arg(t / 4), QString("stream %1").arg(t % 4), t / 4, {}};
    for (int i = 0; i < slices; ++i)
      track.events.push_back({.start = i * 1000,
                              .end = i * 1000 + 900,
                              .name = static_cast<std::uint32_t>(i % 3),
                              .category = static_cast<std::uint8_t>(i % 3),
                              .critical = i % 7 == 0});
    out->events += track.events.size();
    out->tracks.push_back(std::move(track));
  }
  out->end = slices * 1000;
  return out;
}

}  // namespace stepcast
