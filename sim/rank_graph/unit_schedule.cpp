#include "sim/rank_graph/unit_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

namespace stepcast {

UnitSchedule::UnitSchedule(int operations)
    : alone_(operations, 0), stream_(operations, -1), unit_(operations), joined_in_(operations, -1) {
  std::iota(unit_.begin(), unit_.end(), 0);
}

void UnitSchedule::set(int operation, Seconds alone, int stream) {
  alone_[operation] = alone.value();
  stream_[operation] = stream;
}

void UnitSchedule::join(const std::vector<int>& operations) {
  for (const int operation : operations) {
    unit_[operation] = operations.front();
    joined_in_[operation] = static_cast<int>(joined_.size());
  }
  joined_.push_back(operations);
}

void UnitSchedule::index() {
  const auto count = static_cast<int>(alone_.size());
  first_child_.assign(alone_.size() + 1, 0);
  waiting_.assign(alone_.size(), 0);
  for (const auto& [before, after] : edges_) {
    ++first_child_[before + 1];
    ++waiting_[unit_[after]];
  }
  for (int i = 0; i < count; ++i) first_child_[i + 1] += first_child_[i];
  children_.resize(edges_.size());
  std::vector<std::size_t> fill(first_child_.begin(), first_child_.end() - 1);
  for (const auto& [before, after] : edges_) children_[fill[before]++] = after;
}

std::vector<std::pair<int, int>> UnitSchedule::order(std::vector<int>* stuck) {
  index();
  const auto count = static_cast<int>(alone_.size());
  const int streams = 1 + (count > 0 ? *std::max_element(stream_.begin(), stream_.end()) : -1);
  std::vector<double> ready_at(count, 0), free_at(streams, 0);
  std::vector<int> last(streams, -1);
  std::vector<bool> done(count, false);
  std::vector<std::pair<int, int>> out;
  // Readiness never lies before that of what has been taken out, so units come in the order in which they get ready.
  using Ready = std::pair<double, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (int i = 0; i < count; ++i)
    if (unit_[i] == i && waiting_[i] == 0) ready.emplace(0.0, i);
  double end = 0;
  while (!ready.empty()) {
    const auto [time, unit] = ready.top();
    ready.pop();
    const std::vector<int> lone{unit};
    const std::vector<int>& members = joined_in_[unit] >= 0 ? joined_[joined_in_[unit]] : lone;
    double start = time, alone = 0;
    for (const int member : members) {
      if (stream_[member] >= 0) start = std::max(start, free_at[stream_[member]]);
      alone = std::max(alone, alone_[member]);
    }
    end = std::max(end, start + alone);
    for (const int member : members) {
      done[member] = true;
      if (const int stream = stream_[member]; stream >= 0) {
        if (last[stream] >= 0) out.emplace_back(last[stream], member);
        last[stream] = member;
        free_at[stream] = start + alone;
      }
      for (std::size_t c = first_child_[member]; c < first_child_[member + 1]; ++c) {
        const int next = unit_[children_[c]];
        ready_at[next] = std::max(ready_at[next], start + alone);
        if (--waiting_[next] == 0) ready.emplace(ready_at[next], next);
      }
    }
  }
  end_ = Seconds(end);
  if (stuck)
    for (int i = 0; i < count; ++i)
      if (!done[i]) stuck->push_back(i);
  return out;
}

}  // namespace stepcast
