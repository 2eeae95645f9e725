#include "sim/rank_graph/rank_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/rank_graph/operation_costs.hpp"
#include "sim/rank_graph/rank_network.hpp"
#include "sim/rank_graph/unit_schedule.hpp"

namespace stepcast {

namespace {

/// Operations that a message names.
constexpr std::size_t kMostNamed = 5;

class StepBuilder {
 public:
  StepBuilder(const RankIndex& index, const RankClasses& classes, const GraphCluster& cluster, std::string file)
      : index_(index), classes_(classes), cluster_(cluster), file_(std::move(file)) {}

  RankStep build() {
    if (index_.ranks() > cluster_.devices())
      throw InputError({{file_, "/ranks",
                         fmt::format("the graph has {} ranks, the cluster {} devices ({} nodes of {})", index_.ranks(),
                                     cluster_.devices(), cluster_.nodes, cluster_.devices_per_node),
                         fmt::format("{} nodes or more",
                                     (index_.ranks() + cluster_.devices_per_node - 1) / cluster_.devices_per_node)}});
    add_devices();
    add_operations();
    join_collectives();
    add_messages();
    order_streams();
    step_.graph.finish();
    return std::move(step_);
  }

 private:
  const RankProgram& program(int of) const { return index_.program(number(of)); }
  int number(int of) const { return index_.program_of(classes_.representative(of)); }

  void add_devices() {
    int operations = 0;
    for (int of = 0; of < classes_.count(); ++of) {
      const int size = classes_.size(of), rank = classes_.representative(of);
      step_.graph.add_device(
          size > 1 ? fmt::format("rank {} and {} like it", rank, size - 1) : fmt::format("rank {}", rank), size);
      step_.first.push_back(operations);
      operations += static_cast<int>(program(of).operations.size());
    }
    schedule_ = UnitSchedule(operations);
  }

  int stream_number(int of, const RankOperation& operation) {
    // Having received takes no stream, unless the trace says which.
    if (operation.kind == RankOperationKind::receive && operation.stream.empty()) return -1;
    return streams_.try_emplace({of, stream_of(operation)}, static_cast<int>(streams_.size())).first->second;
  }

  void add_operations() {
    RankNetwork network(cluster_, classes_, step_.graph);
    OperationCosts costs(index_, classes_, cluster_, network, file_);
    for (int of = 0; of < classes_.count(); ++of) {
      const auto& operations = program(of).operations;
      for (std::int32_t place = 0; place < static_cast<std::int32_t>(operations.size()); ++place) {
        const CostedOperation costed = costs.cost(of, place);
        const int id = step_.graph.add_operation(costed.operation, costed.flows);
        step_.parts.push_back({of, place, costed.alone, costed.size});
        schedule_.set(id, costed.alone, stream_number(of, operations[place]));
        for (const std::int32_t parent : index_.order(number(of)).parents(place))
          add_edge(step_.first[of] + parent, id);
      }
    }
  }

  void add_edge(int before, int after) {
    step_.graph.add_edge(before, after);
    schedule_.add_edge(before, after);
  }

  /// The k-th collective of a group is one for all classes among its members.
  void join_collectives() {
    std::map<std::tuple<int, int, std::size_t>, std::vector<int>> meetings;
    for (int of = 0; of < classes_.count(); ++of)
      for (const int group : index_.groups_of_program(number(of))) {
        const int kind = classes_.kind_of_list(group, index_.list_of(group, classes_.representative(of)));
        const auto& places = index_.meetings(number(of), group);
        for (std::size_t k = 0; k < places.size(); ++k)
          meetings[{group, kind, k}].push_back(step_.first[of] + places[k]);
      }
    for (const auto& [key, operations] : meetings) {
      if (operations.size() < 2) continue;
      step_.graph.join(operations);
      schedule_.join(operations);
    }
  }

  void add_messages() {
    for (const RankMessage& message : index_.messages()) {
      const int receiver = classes_.class_of(message.to);
      if (message.to != classes_.representative(receiver)) continue;
      add_edge(step_.first[classes_.class_of(message.from)] + message.send, step_.first[receiver] + message.receive);
    }
  }

  void order_streams() {
    std::vector<int> stuck;
    for (const auto& [before, after] : schedule_.order(&stuck)) step_.graph.add_edge(before, after);
    if (stuck.empty()) return;
    std::string names;
    for (std::size_t i = 0; i < std::min(stuck.size(), kMostNamed); ++i) {
      const RankStep::Part& part = step_.parts[stuck[i]];
      names += fmt::format("{}{} of rank {}", names.empty() ? "" : ", ",
                           describe(program(part.of).operations[part.place]), classes_.representative(part.of));
    }
    throw InputError(
        {{file_, "/programs",
          fmt::format("{} operations wait for each other across ranks, among them {}", stuck.size(), names),
          "ranks that meet in several groups must do so in one order"}});
  }

  const RankIndex& index_;
  const RankClasses& classes_;
  const GraphCluster& cluster_;
  std::string file_;
  RankStep step_;
  std::map<std::pair<int, std::string>, int> streams_;
  UnitSchedule schedule_{0};
};

}  // namespace

RankStep build_rank_step(const RankIndex& index, const RankClasses& classes, const GraphCluster& cluster,
                         const std::string& file) {
  return StepBuilder(index, classes, cluster, file).build();
}

}  // namespace stepcast
