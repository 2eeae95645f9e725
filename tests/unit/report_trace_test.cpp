#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "report/trace.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast::report_trace_test {
namespace {

/// Two stages: 0 computes a segment 0–3 µs (slowed from 2), sends 3–4, 1 computes 4–5.
struct TwoStages {
  TwoStages() {
    accelerator.tdp = 400_W;
    node.accelerator_count = 8;
    scenario.node = &node;
    scenario.accelerator = &accelerator;
    job.scenario = &scenario;
    segment.pieces.resize(2);
    for (Piece& piece : segment.pieces) {
      piece.name = "gemm";
      piece.kind = OperatorKind::gemm;
      piece.duration = 1_us;
    }
    graph.add_device("stage 0", 4);
    graph.add_device("stage \"1\"", 4);
    const LinkId link = graph.add_link({"nic", 10_GBps, 0});
    Operation compute;
    compute.segment = graph.add_segment(&segment);
    compute.micro_batch = 7;
    compute.chunk = 0;
    const int first = graph.add_operation(compute);
    Operation message;
    message.kind = OperationKind::send_recv;
    message.stream = StreamKind::pipeline_send;
    message.dimension = Dimension::pipeline;
    message.name = "send activation";
    const int sent = graph.add_operation(message);
    Operation rest;
    rest.device = 1;
    rest.name = "forward";
    const int last = graph.add_operation(rest);
    graph.add_edge(first, sent);
    graph.add_edge(sent, last);
    graph.finish();
    timeline.spans = {{0_us, 0_us, 3_us}, {3_us, 3_us, 4_us}, {4_us, 4_us, 5_us}};
    timeline.end = 5_us;
    timeline.link_rates = {{3_us, link, 10_GBps}, {4_us, link, BytesPerSecond(0)}};
  }

  Json events() const {
    const ScratchFolder folder;
    const std::filesystem::path file = folder / "trace.json";
    write_trace(file, job, graph, timeline);
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return Json::parse(text.str()).at("traceEvents");
  }

  Accelerator accelerator;
  Node node;
  Scenario scenario;
  Job job;
  Segment segment;
  StepGraph graph;
  Timeline timeline;
};

std::vector<Json> of_kind(const Json& events, const std::string& kind) {
  std::vector<Json> out;
  for (const Json& event : events)
    if (event["ph"] == kind) out.push_back(event);
  return out;
}

TEST(Trace, ExpandsSegmentsStretchedToWhatTheyTook) {
  const std::vector<Json> slices = of_kind(TwoStages().events(), "X");
  ASSERT_EQ(slices.size(), 4u);
  // Two operators of 1 µs in a span of 3 µs take 1.5 µs each.
  EXPECT_DOUBLE_EQ(slices[0]["ts"], 0);
  EXPECT_DOUBLE_EQ(slices[0]["dur"], 1.5);
  EXPECT_DOUBLE_EQ(slices[1]["ts"], 1.5);
  EXPECT_DOUBLE_EQ(slices[1]["dur"], 1.5);
  EXPECT_EQ(slices[0]["args"]["micro_batch"], 7);
  EXPECT_EQ(slices[2]["name"], "send activation");
}

TEST(Trace, DrawsArrowsFromInsideWhatIsWaitedFor) {
  const Json events = TwoStages().events();
  const std::vector<Json> starts = of_kind(events, "s"), ends = of_kind(events, "f");
  ASSERT_EQ(starts.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_DOUBLE_EQ(starts[0]["ts"], 2.999);
  EXPECT_DOUBLE_EQ(ends[0]["ts"], 3);
  EXPECT_EQ(starts[1]["id"], ends[1]["id"]);
  EXPECT_EQ(ends[1]["pid"], 2);
}

TEST(Trace, CountsPowerAndLinks) {
  const std::vector<Json> counters = of_kind(TwoStages().events(), "C");
  double busiest = 0, rate = 0;
  for (const Json& counter : counters) {
    if (counter["name"] == "power") busiest = std::max(busiest, counter["args"]["W"].get<double>());
    if (counter["name"] == "nic") rate = std::max(rate, counter["args"]["GB/s"].get<double>());
  }
  EXPECT_NEAR(busiest, 0.97 * 400, 1e-3);  // matrix products
  EXPECT_DOUBLE_EQ(rate, 10);
}

TEST(Trace, SaysWhenItCannotBeWritten) {
  const TwoStages step;
  EXPECT_THROW(write_trace("/no/such/folder/trace.json", step.job, step.graph, step.timeline), InputError);
}

}  // namespace
}  // namespace stepcast::report_trace_test
