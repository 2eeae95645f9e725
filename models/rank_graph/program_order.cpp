#include "models/rank_graph/program_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

namespace stepcast {

namespace {

constexpr std::size_t kLongestName = 60;
/// Operations of a cycle that a message names.
constexpr std::size_t kMostNamed = 8;

std::string named_cycle(const RankProgram& program, const std::vector<std::int32_t>& cycle) {
  std::string out;
  for (std::size_t i = 0; i < std::min(cycle.size(), kMostNamed); ++i)
    out += fmt::format("{} → ", program.operations[cycle[i]].id);
  if (cycle.size() > kMostNamed) out += fmt::format("… {} more → ", cycle.size() - kMostNamed);
  return out + fmt::format("{}", program.operations[cycle.front()].id);
}

}  // namespace

std::string describe(const RankOperation& operation) {
  if (operation.name.empty()) return fmt::format("operation {}", operation.id);
  const bool longer = operation.name.size() > kLongestName;
  return fmt::format("operation {} \"{}{}\"", operation.id, operation.name.substr(0, kLongestName), longer ? "…" : "");
}

ProgramOrder::ProgramOrder(const RankProgram& program, std::vector<ProgramFault>& faults) {
  const std::size_t before = faults.size();
  find_parents(program, faults);
  if (faults.size() == before) sort(program, faults);
}

void ProgramOrder::find_parents(const RankProgram& program, std::vector<ProgramFault>& faults) {
  const auto count = static_cast<std::int32_t>(program.operations.size());
  std::unordered_map<std::uint64_t, std::int32_t> place;
  place.reserve(program.operations.size());
  for (std::int32_t i = 0; i < count; ++i)
    if (!place.emplace(program.operations[i].id, i).second)
      faults.push_back({i, fmt::format("{}: another operation has the same id", describe(program.operations[i])), ""});
  first_.assign(1, 0);
  for (std::int32_t i = 0; i < count; ++i) {
    for (const std::uint64_t id : program.operations[i].after) {
      const auto parent = place.find(id);
      if (parent == place.end())
        faults.push_back(
            {i, fmt::format("{} waits for {}, which does not exist", describe(program.operations[i]), id), ""});
      else if (parent->second == i)
        faults.push_back({i, fmt::format("{} waits for itself", describe(program.operations[i])), ""});
      else
        parents_.push_back(parent->second);
    }
    first_.push_back(parents_.size());
  }
}

void ProgramOrder::sort(const RankProgram& program, std::vector<ProgramFault>& faults) {
  const auto count = static_cast<std::int32_t>(program.operations.size());
  std::vector<std::int32_t> waiting(count), next(parents_.size());
  std::vector<std::size_t> first_child(count + 1, 0);
  for (const std::int32_t parent : parents_) ++first_child[parent + 1];
  for (std::int32_t i = 0; i < count; ++i) first_child[i + 1] += first_child[i];
  std::vector<std::size_t> fill(first_child.begin(), first_child.end() - 1);
  for (std::int32_t i = 0; i < count; ++i) {
    waiting[i] = static_cast<std::int32_t>(parents(i).size());
    for (const std::int32_t parent : parents(i)) next[fill[parent]++] = i;
  }
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::int32_t i = 0; i < count; ++i)
    if (waiting[i] == 0) ready.push(i);
  order_.reserve(program.operations.size());
  while (!ready.empty()) {
    const std::int32_t at = ready.top();
    ready.pop();
    order_.push_back(at);
    for (std::size_t c = first_child[at]; c < first_child[at + 1]; ++c)
      if (--waiting[next[c]] == 0) ready.push(next[c]);
  }
  if (order_.size() == program.operations.size()) return;

  // Whatever still waits has a parent that still waits; following those must come back somewhere.
  auto at = static_cast<std::int32_t>(std::find_if(waiting.begin(), waiting.end(), [](int w) { return w > 0; }) -
                                      waiting.begin());
  std::vector<std::int32_t> seen_at(count, -1), walk;
  while (seen_at[at] < 0) {
    seen_at[at] = static_cast<std::int32_t>(walk.size());
    walk.push_back(at);
    const auto from = parents(at);
    at = *std::find_if(from.begin(), from.end(), [&](std::int32_t p) { return waiting[p] > 0; });
  }
  const std::vector<std::int32_t> cycle(walk.rbegin(), walk.rend() - seen_at[at]);
  faults.push_back({cycle.front(),
                    fmt::format("a cycle: {} ({} comes before itself)", named_cycle(program, cycle),
                                describe(program.operations[cycle.front()])),
                    ""});
}

}  // namespace stepcast
