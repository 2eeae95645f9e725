#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace stepcast {

/// Calls `work(i)`, or `work(worker, i)`, for every i below `count`, by at most `jobs` workers at a time, which are
/// numbered from 0. The first exception leaves what has not begun undone, and is thrown again when all have ended.
template <class Work>
void in_parallel(std::size_t count, int jobs, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take = [&](std::size_t worker) {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        if constexpr (std::is_invocable_v<const Work&, std::size_t, std::size_t>) {
          work(worker, i);
        } else {
          work(i);
        }
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> helpers;
  const auto most = std::min(count, static_cast<std::size_t>(std::max(1, jobs)));
  for (std::size_t worker = 1; worker < most; ++worker) helpers.emplace_back(take, worker);
  take(0);
  helpers.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stepcast
