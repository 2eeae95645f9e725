#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/process.hpp"

namespace stepcast::fabric_command_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> superpod(const std::string& verb, std::initializer_list<std::string> more = {}) {
  std::vector<std::string> out{"fabric", verb, "--node", "dgx-h100", "--nodes", "32", "--preset", "rail-optimized"};
  out.insert(out.end(), more);
  return out;
}

TEST(FabricCommand, ShowsTiersPartsAndReach) {
  const Finished run = stepcast_run(superpod("show"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("12 (8 leaf, 4 spine)"));
  EXPECT_THAT(run.out, HasSubstr("6.40 TB/s, 100.0 % of what the NICs of half the nodes carry"));
  const Json json = stepcast_run(superpod("show", {"--json"})).json();
  EXPECT_EQ(json["parts"]["switches"], 12);
  EXPECT_EQ(json["parts"]["cables"], 512);
  EXPECT_EQ(json["switch"], "qm9700");
  EXPECT_NEAR(json["bisection_GBps"].get<double>(), 6400, 0.01);
  EXPECT_EQ(json["diameter"]["links"], 4);
}

TEST(FabricCommand, ShowsNoPartsOfALoneNode) {
  const Finished run = stepcast_run({"fabric", "show", "--node", "dgx-h100", "--nodes", "1"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("Parts")));
  EXPECT_THAT(run.out, HasSubstr("one node needs no network"));
}

TEST(FabricCommand, ShowsTheFabricOfAScenario) {
  const Finished run = stepcast_run({"fabric", "show", scenario_file("llama3-70b-h100-512"), "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.json()["preset"], "rail-optimized");
  EXPECT_EQ(run.json()["nodes"], 64);
}

// Another kind of node has other NICs and devices: the drawing would be wrong.
TEST(FabricCommand, RefusesUnequalNodes) {
  const ScratchFolder folder;
  const std::string file = (folder / "mixed.json").string();
  const Json scenario{
      {"format_version", 1},
      {"name", "mixed"},
      {"cluster", {{"node", "dgx-h100"}, {"nodes", 4}, {"other_nodes", {{{"node", "dgx-a100-80gb"}, {"nodes", {3}}}}}}},
      {"workload", {{"model", "bert-large"}, {"global_batch", 512}, {"seq_len", 128}}},
      {"strategy", {{"framework", "pytorch-ddp"}, {"micro_batch", 8}}}};
  write_file(file, scenario.dump());
  for (const char* verb : {"show", "check", "export"}) {
    const Finished run = stepcast_run({"fabric", verb, file});
    EXPECT_EQ(run.code, 2) << verb;
    EXPECT_THAT(run.err, HasSubstr("/cluster/other_nodes")) << verb;
  }
  EXPECT_EQ(stepcast_run({"fabric", "show", file, "--set", "cluster.other_nodes=[]"}).code, 0);
}

TEST(FabricCommand, CheckEndsWithOneForAFault) {
  const Finished good = stepcast_run(superpod("check"));
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.out, HasSubstr("good"));
  // Leaves of 40 down-links and as many up, filled.
  const Finished bad =
      stepcast_run(superpod("check", {"--set", "cluster.nodes=80", "--set", "cluster.fabric.switch=qm9700", "--set",
                                      "cluster.fabric.nodes_per_leaf=40"}));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("qm9700 has 64"));
}

TEST(FabricCommand, RefusesBadInput) {
  const Finished nothing = stepcast_run({"fabric", "show"});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--node and --nodes"));
  const Finished misspelt = stepcast_run({"fabric", "show", "--node", "dgx-h10", "--nodes", "4"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("dgx-h100"));
  const Finished unknown = stepcast_run(superpod("show", {"--set", "cluster.fabric.oversubscripton=2"}));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("oversubscription"));
  const Finished absurd = stepcast_run({"fabric", "show", "--node", "dgx-h100", "--nodes", "1000000"});
  EXPECT_EQ(absurd.code, 2);
  EXPECT_THAT(absurd.err, HasSubstr("too many"));
  const Finished no_nics = stepcast_run({"fabric", "show", "--node", "mi300x-platform-8", "--nodes", "4"});
  EXPECT_EQ(no_nics.code, 2);
  EXPECT_THAT(no_nics.err, HasSubstr("lists no NIC"));
}

TEST(FabricCommand, ExportsEveryVertexAndLink) {
  const Finished run = stepcast_run(superpod("export", {"--format", "json"}));
  ASSERT_EQ(run.code, 0) << run.err;
  const Json json = run.json();
  const auto vertices = json["vertices"].size();
  for (const Json& link : json["links"]) {
    EXPECT_LT(link["from"].get<std::size_t>(), vertices);
    EXPECT_LT(link["to"].get<std::size_t>(), vertices);
    EXPECT_GT(link["bandwidth_Gbps"].get<double>(), 0);
  }
}

TEST(FabricCommand, ExportsForGraphviz) {
  const ScratchFolder folder;
  const std::string file = (folder / "fabric.dot").string();
  const Finished run = stepcast_run(superpod("export", {"-o", file}));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string text = read_text(file);
  EXPECT_TRUE(text.starts_with("graph fabric {"));
  EXPECT_THAT(text, HasSubstr("label=\"leaf 7\""));
  EXPECT_THAT(text, HasSubstr("label=\"node 31\""));
  EXPECT_THAT(text, HasSubstr("label=\"NIC 7\""));  // in the node's box, so without its number
  EXPECT_EQ(std::count(text.begin(), text.end(), '{'), std::count(text.begin(), text.end(), '}'));
}

}  // namespace
}  // namespace stepcast::fabric_command_test
