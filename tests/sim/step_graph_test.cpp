#include "sim/step_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "sim/timeline.hpp"

namespace stepcast::step_graph_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

int add(StepGraph& graph, std::string_view name) {
  Operation operation;
  operation.name = name;
  return graph.add_operation(operation);
}

TEST(StepGraph, KnowsWhoWaitsForWhom) {
  StepGraph graph;
  const int a = add(graph, "a"), b = add(graph, "b"), c = add(graph, "c");
  graph.add_edge(a, c);
  graph.add_edge(b, c);
  graph.add_edge(a, b);
  graph.finish();
  EXPECT_THAT(graph.predecessors(c), ElementsAre(a, b));
  EXPECT_THAT(graph.predecessors(a), ElementsAre());
  EXPECT_THAT(graph.predecessor_counts(), ElementsAre(0, 1, 2));
  EXPECT_THAT(std::vector<int>(graph.successors(a).begin(), graph.successors(a).end()), ElementsAre(c, b));
}

TEST(StepGraph, NamesTheOperationsOfACycleAndNoOthers) {
  StepGraph graph;
  const int before = add(graph, "innocent"), a = add(graph, "alpha"), b = add(graph, "beta"),
            behind = add(graph, "behind");
  graph.add_edge(before, a);
  graph.add_edge(a, b);
  graph.add_edge(b, a);
  graph.add_edge(b, behind);
  try {
    graph.finish();
    FAIL() << "a cycle was accepted";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("alpha"), HasSubstr("beta"), Not(HasSubstr("innocent")), Not(HasSubstr("behind"))));
  }
}

TEST(StepGraph, RefusesEdgesToOperationsThatDoNotExist) {
  StepGraph graph;
  add(graph, "only");
  graph.add_edge(0, 1);
  EXPECT_THROW(graph.finish(), std::logic_error);
}

/// a (0–1) and b (0–2) before c (2–3): the step hangs on b.
TEST(CriticalPath, FollowsWhatEndedLast) {
  StepGraph graph;
  const int a = add(graph, "a"), b = add(graph, "b"), c = add(graph, "c");
  graph.add_edge(a, c);
  graph.add_edge(b, c);
  graph.finish();
  const Timeline timeline{{{0_s, 0_s, 1_s}, {0_s, 0_s, 2_s}, {2_s, 2_s, 3_s}}, 3_s, {}};
  EXPECT_THAT(critical_path(graph, timeline), ElementsAre(b, c));
}

TEST(CriticalPath, OfAnEmptyStepIsEmpty) {
  StepGraph graph;
  graph.finish();
  EXPECT_TRUE(critical_path(graph, {}).empty());
}

}  // namespace
}  // namespace stepcast::step_graph_test
