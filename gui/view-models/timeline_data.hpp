#pragma once

#include <QString>
#include <QStringList>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace stepcast {

/// One slice of a stream, in nanoseconds from the start of the step.
struct TimelineEvent {
  std::int64_t start = 0, end = 0;
  std::uint32_t name = 0;  ///< index into TimelineData::names
  std::int32_t micro_batch = -1;
  std::uint8_t category = 0;  ///< index into TimelineData::categories
  bool critical = false;
};

/// One stream of one representative device; its slices by start, and they do not overlap.
struct TimelineTrack {
  QString device, stream;
  int process = 0;
  std::vector<TimelineEvent> events;
};

/// A figure over time: a link's rate, a device's power. Each value holds until the next.
struct TimelineCounter {
  struct Sample {
    std::int64_t time = 0;
    double value = 0;
  };
  QString name, unit;
  int process = 0;
  std::vector<Sample> samples;
  [[nodiscard]] double highest() const;
  /// Mean over time up to `end`.
  [[nodiscard]] double mean(std::int64_t end) const;
};

/// A simulated step as its trace has it.
struct TimelineData {
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineCounter> counters;
  QStringList names, categories;
  std::vector<double> multiplicity;  ///< by process: how many real devices it stands for
  std::int64_t end = 0;
  std::size_t events = 0;
  bool cut_short = false;  ///< there were more events than are kept

  /// The track and index of the first slice after a place whose name holds the words; track −1 when there is none.
  struct Place {
    int track = -1;
    std::size_t event = 0;
  };
  [[nodiscard]] Place find_next(const QString& words, Place after) const;
  /// Index of the slice of a track at a time, or of the nearest one that begins before; −1 when there is none.
  [[nodiscard]] static long at(const TimelineTrack& track, std::int64_t time);
};

/// Slices that are kept of a trace: 40 bytes each.
inline constexpr std::size_t kMostTimelineEvents = 2'500'000;

/// Reads a trace of the worker. Throws InputError when it cannot be read; stops early when `stop` is set.
std::shared_ptr<TimelineData> read_timeline(const std::filesystem::path& trace, const std::atomic<bool>& stop);

}  // namespace stepcast
