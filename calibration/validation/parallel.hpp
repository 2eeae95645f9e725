#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stepcast {

/// Calls `work(i)` for every i below `count`, `jobs` at a time. The first exception is thrown again when all have
/// ended.
template <class Work>
void in_parallel(std::size_t count, int jobs, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> helpers;
  const auto most = std::min(count, static_cast<std::size_t>(std::max(1, jobs)));
  for (std::size_t i = 1; i < most; ++i) helpers.emplace_back(take);
  take();
  helpers.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stepcast
