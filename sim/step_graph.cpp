#include "sim/step_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace stepcast {

namespace {

/// Operations that a message lists before it says "…".
constexpr std::size_t kMostNamed = 8;

std::string list_of(const std::vector<Operation>& operations, const std::vector<int>& ids) {
  std::vector<std::string> names;
  for (const int id : ids) {
    if (names.size() == kMostNamed) {
      names.emplace_back(fmt::format("and {} more", ids.size() - kMostNamed));
      break;
    }
    names.push_back(describe(operations[id], id));
  }
  return fmt::format("{}", fmt::join(names, " → "));
}

}  // namespace

std::string describe(const Operation& operation, int id) {
  std::string text = fmt::format("{} (operation {}, device {}", operation.name.empty() ? "unnamed" : operation.name, id,
                                 operation.device);
  if (operation.micro_batch >= 0) text += fmt::format(", micro-batch {}", operation.micro_batch);
  return text + ")";
}

int StepGraph::add_device(std::string name, double multiplicity, int pipeline) {
  devices_.push_back({std::move(name), multiplicity, pipeline});
  return static_cast<int>(devices_.size()) - 1;
}

LinkId StepGraph::add_link(GraphLink link) {
  links_.push_back(std::move(link));
  return static_cast<LinkId>(links_.size()) - 1;
}

PathId StepGraph::add_path(GraphPath path) {
  paths_.push_back(std::move(path));
  return static_cast<PathId>(paths_.size()) - 1;
}

int StepGraph::add_segment(const Segment* segment) {
  segments_.push_back(segment);
  return static_cast<int>(segments_.size()) - 1;
}

int StepGraph::add_operation(Operation operation, std::span<const Flow> flows) {
  operation.first_flow = static_cast<std::int32_t>(flows_.size());
  operation.flow_count = static_cast<std::int32_t>(flows.size());
  flows_.insert(flows_.end(), flows.begin(), flows.end());
  operations_.push_back(operation);
  return static_cast<int>(operations_.size()) - 1;
}

std::span<const Flow> StepGraph::flows(const Operation& operation) const {
  return std::span(flows_).subspan(static_cast<std::size_t>(operation.first_flow),
                                   static_cast<std::size_t>(operation.flow_count));
}

std::span<const std::int32_t> StepGraph::predecessors(int operation) const {
  const auto first = static_cast<std::size_t>(reverse_offsets_[operation]);
  return std::span(reverse_).subspan(first, static_cast<std::size_t>(reverse_offsets_[operation + 1]) - first);
}

int StepGraph::add_meeting(int device) {
  Operation operation;
  operation.kind = OperationKind::meeting;
  operation.stream = StreamKind::data_communication;
  operation.device = device;
  operation.name = "meeting";
  return add_operation(operation);
}

std::vector<int> StepGraph::roots(int first) const {
  std::vector<bool> waits(operations_.size() - static_cast<std::size_t>(first), false);
  for (const auto& [before, after] : edges_)
    if (after >= first) waits[static_cast<std::size_t>(after - first)] = true;
  std::vector<int> out;
  for (std::size_t i = 0; i < waits.size(); ++i)
    if (!waits[i]) out.push_back(first + static_cast<int>(i));
  return out;
}

bool StepGraph::is_joined(int operation) const {
  const auto i = static_cast<std::size_t>(operation);
  return i < joined_in_.size() && joined_in_[i] >= 0;
}

std::span<const int> StepGraph::ended_by(int operation) const {
  const int place = operation - first_meeting_;
  if (joined_.empty() || place < 0 || place % 2 == 0) return {};
  return joined_[static_cast<std::size_t>(place / 2)];
}

int StepGraph::joined_on(int device, int operation) const {
  if (!is_joined(operation)) return -1;
  const int set = joined_in_[static_cast<std::size_t>(operation)];
  if (set < 0) return -1;
  for (const int member : joined_[static_cast<std::size_t>(set)])
    if (operations_[static_cast<std::size_t>(member)].device == device) return member;
  return -1;
}

/// Joined operations get a meeting before them and one behind: edges grow with their number, not with its square.
void StepGraph::meet_joined() {
  if (joined_.empty()) return;
  joined_in_.assign(operations_.size(), -1);
  first_meeting_ = static_cast<int>(operations_.size());
  std::vector<std::pair<int, int>> meetings;  // before and behind, by set
  for (std::size_t set = 0; set < joined_.size(); ++set) {
    const int device = operations_[static_cast<std::size_t>(joined_[set].front())].device;
    const int before = add_meeting(device);
    meetings.emplace_back(before, add_meeting(device));
    for (const int operation : joined_[set]) joined_in_[static_cast<std::size_t>(operation)] = static_cast<int>(set);
  }
  const auto set_of = [&](int operation) { return joined_in_[static_cast<std::size_t>(operation)]; };
  for (auto& [before, after] : edges_) {
    if (const int set = set_of(before); set >= 0) before = meetings[static_cast<std::size_t>(set)].second;
    if (const int set = set_of(after); set >= 0) after = meetings[static_cast<std::size_t>(set)].first;
  }
  for (std::size_t set = 0; set < joined_.size(); ++set)
    for (const int operation : joined_[set]) {
      edges_.emplace_back(meetings[set].first, operation);
      edges_.emplace_back(operation, meetings[set].second);
    }
}

void StepGraph::finish() {
  const auto count = static_cast<std::int64_t>(operations_.size());
  for (const auto& [before, after] : edges_)
    if (before < 0 || after < 0 || before >= count || after >= count)
      throw std::logic_error(
          fmt::format("step graph: edge {} → {} names an operation that does not exist ({} do)", before, after, count));
  meet_joined();
  index_predecessors();
  index_successors();
  refuse_cycles();
  edges_ = {};
}

/// Counting sort by what is waited for; a comparison sort of the edges would take most of the time of a large graph.
void StepGraph::index_successors() {
  std::vector<std::int32_t> next(operations_.size() + 1, 0);
  for (const auto& edge : edges_) ++next[edge.first + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  std::vector<std::pair<std::int32_t, std::int32_t>> sorted(edges_.size());
  for (const auto& edge : edges_) sorted[next[edge.first]++] = edge;
  graph_ = Graph(boost::edges_are_sorted, sorted.begin(), sorted.end(), operations_.size());
}

void StepGraph::index_predecessors() {
  predecessors_.assign(operations_.size(), 0);
  for (const auto& edge : edges_) ++predecessors_[edge.second];
  reverse_offsets_.assign(operations_.size() + 1, 0);
  for (std::size_t i = 0; i < operations_.size(); ++i) reverse_offsets_[i + 1] = reverse_offsets_[i] + predecessors_[i];
  reverse_.resize(edges_.size());
  std::vector<std::int32_t> next(reverse_offsets_.begin(), reverse_offsets_.end() - 1);
  for (const auto& [before, after] : edges_) reverse_[next[after]++] = before;
}

void StepGraph::refuse_cycles() const {
  std::vector<std::int32_t> waiting = predecessors_;
  std::vector<std::int32_t> ready;
  ready.reserve(operations_.size());
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < ready.size(); ++i)
    for (const auto next : successors(ready[i]))
      if (--waiting[next] == 0) ready.push_back(static_cast<std::int32_t>(next));
  if (ready.size() == operations_.size()) return;

  // Whatever still waits has a predecessor that still waits; following those must come back somewhere.
  int at =
      static_cast<int>(std::find_if(waiting.begin(), waiting.end(), [](int w) { return w > 0; }) - waiting.begin());
  std::vector<int> seen_at(operations_.size(), -1), walk;
  while (seen_at[at] < 0) {
    seen_at[at] = static_cast<int>(walk.size());
    walk.push_back(at);
    const auto before = predecessors(at);
    at = *std::find_if(before.begin(), before.end(), [&](int p) { return waiting[p] > 0; });
  }
  const std::vector<int> circle(walk.rbegin(), walk.rend() - seen_at[at]);
  throw std::logic_error("step graph: operations wait for each other in a circle: " + list_of(operations_, circle));
}

}  // namespace stepcast
