#include "sim/timeline.hpp"

#include <algorithm>

namespace stepcast {

std::vector<int> critical_path(const StepGraph& graph, const Timeline& timeline) {
  const auto& spans = timeline.spans;
  if (spans.empty()) return {};
  // Of several that end last, the first by id: the same answer on every run.
  const auto later = [&](int a, int b) {
    return spans[a].end < spans[b].end || (spans[a].end == spans[b].end && a > b);
  };
  int at = 0;
  for (int i = 1; i < static_cast<int>(spans.size()); ++i)
    if (later(at, i)) at = i;
  std::vector<int> path{at};
  while (true) {
    const auto before = graph.predecessors(at);
    if (before.empty()) break;
    at = *std::max_element(before.begin(), before.end(), later);
    path.push_back(at);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace stepcast
