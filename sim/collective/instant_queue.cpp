#include "sim/collective/instant_queue.hpp"

#include <algorithm>
#include <bit>

namespace stepcast {

InstantQueue::Recent& InstantQueue::recent(double time) {
  // Fibonacci hashing: the upper bits of the product depend on all bits of the time.
  const std::uint64_t hash = std::bit_cast<std::uint64_t>(time) * 0x9E3779B97F4A7C15ULL;
  return recent_[hash >> 56];
}

void InstantQueue::push(double time, Event event) {
  Recent& known = recent(time);
  if (known.time == time) {
    buckets_[known.bucket].push_back(event);
    return;
  }
  std::uint32_t bucket = 0;
  if (free_.empty()) {
    bucket = static_cast<std::uint32_t>(buckets_.size());
    buckets_.emplace_back();
  } else {
    bucket = free_.back();
    free_.pop_back();
  }
  buckets_[bucket].push_back(event);
  known = {time, bucket};
  heap_.push_back({time, bucket, sequence_++});
  std::push_heap(heap_.begin(), heap_.end());
}

void InstantQueue::pop(std::vector<Event>& out) {
  const Entry entry = heap_.front();
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  out.clear();
  out.swap(buckets_[entry.bucket]);
  free_.push_back(entry.bucket);
  Recent& known = recent(entry.time);
  if (known.bucket == entry.bucket) known = {};
}

}  // namespace stepcast
