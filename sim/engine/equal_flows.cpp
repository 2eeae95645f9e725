#include "sim/engine/equal_flows.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace stepcast {

namespace {

/// Marks a link that several lanes use.
constexpr int kSeveral = -2;

/// Visits each path that a lane may take, the ways round failed links included.
void each_lane_path(const FlowProgram& program, auto visit) {
  int number = 0;
  for (const ProgramJob& job : program.jobs)
    for (const ProgramPhase& phase : job.phases)
      for (const Lane& lane : phase.lanes) {
        for (int path = lane.path; path >= 0; path = program.paths[path].detour) visit(number, path);
        ++number;
      }
}

/// The only lane that uses a link, −1, or kSeveral.
std::vector<int> users_of_links(const FlowProgram& program) {
  std::vector<int> user(program.links.size(), -1);
  each_lane_path(program, [&](int lane, int path) {
    for (const int link : program.paths[path].links)
      user[link] = user[link] == -1 || user[link] == lane ? lane : kSeveral;
  });
  return user;
}

}  // namespace

bool EqualFlows::Class::operator<(const Class& other) const {
  return std::tie(links, weight, cap) < std::tie(other.links, other.weight, other.cap);
}

EqualFlows::EqualFlows(const FlowProgram& program, const std::vector<char>& may_share, bool merge, StepGraph& graph)
    : class_of_(program.paths.size(), -1) {
  for (const double bandwidth : program.links) graph.add_link({{}, BytesPerSecond(bandwidth)});
  const std::vector<int> user = users_of_links(program);
  std::map<Class, int> known;
  std::vector<Class> classes;
  for (std::size_t p = 0; p < program.paths.size(); ++p) {
    const ProgramPath& path = program.paths[p];
    if (!may_share[p] || (path.links.empty() && path.rate_limit <= 0)) continue;
    Class one{{}, path.weight, path.rate_limit};
    for (const int link : path.links) {
      if (!merge || user[link] == kSeveral) {
        one.links.push_back(link);
      } else if (one.cap <= 0 || program.links[link] < one.cap) {
        one.cap = program.links[link];
      }
    }
    if (!merge) {
      class_of_[p] = static_cast<int>(classes.size());
      classes.push_back(one);
      continue;
    }
    const auto [entry, fresh] = known.try_emplace(one, static_cast<int>(classes.size()));
    if (fresh) classes.push_back(one);
    class_of_[p] = entry->second;
  }
  std::vector<unsigned> lanes(classes.size(), merge ? 0U : 1U);
  if (merge)
    each_lane_path(program, [&](int /*lane*/, int path) {
      if (class_of_[path] >= 0) ++lanes[class_of_[path]];
    });
  for (std::size_t c = 0; c < classes.size(); ++c) {
    weights_.emplace_back();
    for (unsigned count = 1; count <= std::max(1U, lanes[c]); count *= 2) {
      const Class& one = classes[c];
      weights_.back().push_back(graph.add_path({one.links, one.weight * count, BytesPerSecond(one.cap * count)}));
    }
  }
}

void EqualFlows::gather(std::vector<Start>& starts, std::vector<Flow>& flows) const {
  flows.clear();
  const auto key = [this](const Start& start) { return std::make_pair(class_of_[start.path], start.bytes); };
  std::stable_sort(starts.begin(), starts.end(), [&](const Start& a, const Start& b) { return key(a) < key(b); });
  for (std::size_t first = 0; first < starts.size();) {
    std::size_t last = first;
    while (last < starts.size() && key(starts[last]) == key(starts[first])) ++last;
    const std::vector<PathId>& weights = weights_[class_of_[starts[first].path]];
    while (first < last) {
      const auto power = std::min<std::size_t>(std::bit_width(last - first) - 1, weights.size() - 1);
      const std::size_t count = std::size_t{1} << power;
      flows.push_back({weights[power], starts[first].bytes * static_cast<double>(count), first, count});
      first += count;
    }
  }
}

}  // namespace stepcast
