#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace stepcast {

/// Events closer than this are one instant, as in the engine (WorkClock).
inline constexpr double kSameInstant = 1e-12;

/// What is due when. Events of one instant share an entry of the heap: in a symmetric collective all ranks do the same
/// thing at the same time, so most events cost no more than appending to a vector.
class InstantQueue {
 public:
  /// An index as an event's id.
  static constexpr std::uint32_t id_of(int index) { return static_cast<std::uint32_t>(index); }
  enum class Kind : std::uint8_t { end, begin, lane, stream, failure };
  struct Event {
    std::uint32_t id;
    std::uint32_t generation;
    Kind kind;
  };

  /// An event that is due at a time in seconds.
  void push(double time, Event event);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// REQUIRES that the queue is not empty.
  [[nodiscard]] double next_time() const { return heap_.front().time; }
  /// Takes off the events of the earliest time, in the order in which they were pushed. `out` is overwritten.
  void pop(std::vector<Event>& out);

 private:
  struct Entry {
    double time;
    std::uint32_t bucket;
    std::uint32_t sequence;  ///< makes the order of equal times that of pushing
    bool operator<(const Entry& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  struct Recent {
    double time = -1;
    std::uint32_t bucket = 0;
  };
  Recent& recent(double time);

  std::vector<Entry> heap_;
  std::vector<std::vector<Event>> buckets_;
  std::vector<std::uint32_t> free_;
  std::array<Recent, 256> recent_{};  ///< where the latest times went
  std::uint32_t sequence_ = 0;
};

}  // namespace stepcast
