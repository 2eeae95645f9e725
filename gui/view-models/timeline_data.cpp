#include "gui/view-models/timeline_data.hpp"

#include <algorithm>

namespace stepcast {

double TimelineCounter::highest() const {
  double out = 0;
  for (const Sample& sample : samples) out = std::max(out, sample.value);
  return out;
}

double TimelineCounter::mean(std::int64_t end) const {
  double sum = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t until = i + 1 < samples.size() ? samples[i + 1].time : end;
    sum += samples[i].value * static_cast<double>(std::max<std::int64_t>(0, until - samples[i].time));
  }
  return end > 0 ? sum / static_cast<double>(end) : 0;
}

long TimelineData::at(const TimelineTrack& track, std::int64_t time) {
  const auto after = std::upper_bound(track.events.begin(), track.events.end(), time,
                                      [](std::int64_t t, const TimelineEvent& event) { return t < event.start; });
  return static_cast<long>(after - track.events.begin()) - 1;
}

TimelineData::Place TimelineData::find_next(const QString& words, Place after) const {
  std::vector<bool> matches(static_cast<std::size_t>(names.size()));
  for (qsizetype i = 0; i < names.size(); ++i)
    matches[static_cast<std::size_t>(i)] = names[i].contains(words, Qt::CaseInsensitive);
  if (words.isEmpty() || std::find(matches.begin(), matches.end(), true) == matches.end()) return {};
  const int count = static_cast<int>(tracks.size());
  const int first = std::max(0, after.track);
  for (int step = 0; step <= count; ++step) {
    const int track = (first + step) % std::max(1, count);
    const auto& slices = tracks[static_cast<std::size_t>(track)].events;
    for (std::size_t i = step == 0 && after.track >= 0 ? after.event + 1 : 0; i < slices.size(); ++i)
      if (matches[slices[i].name]) return {track, i};
  }
  return {};
}

}  // namespace stepcast
