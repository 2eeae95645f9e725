#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "calibration/importers/hostlist.hpp"
#include "calibration/importers/slurm_fabric.hpp"
#include "models/fabric/fabric_spec.hpp"

namespace stepcast::import_slurm_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Imported import(const std::string& text, const SlurmFabricHints& hints = {}) {
  Diagnostics diagnostics("topology.conf");
  const SlurmTopology topology = read_slurm_topology(text, diagnostics);
  diagnostics.throw_if_faulty();
  Imported out = slurm_fabric(topology, hints, "topology.conf");
  // What comes out is what a scenario takes.
  FabricSpec::fields().read(*std::make_unique<FabricSpec>(), out.document, "/cluster/fabric", diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

std::string fault(const std::string& text) {
  Diagnostics diagnostics("topology.conf");
  (void)read_slurm_topology(text, diagnostics);
  return diagnostics.ok() ? "" : diagnostics.faults().front().text();
}

TEST(Hostlist, ExpandsRangesAndKeepsWidth) {
  EXPECT_THAT(expand_hostlist("n[008-010,20],x"), ElementsAre("n008", "n009", "n010", "n20", "x"));
  EXPECT_THAT(expand_hostlist("r[1-2]n[0-1]"), ElementsAre("r1n0", "r1n1", "r2n0", "r2n1"));
  EXPECT_EQ(compress_hostlist(expand_hostlist("n[008-010,20],x")), "n[008-010],n20,x");
}

TEST(Hostlist, RefusesWhatIsNone) {
  for (const char* bad :
       {"", "n[1-", "n]", "n[a-b]", "n[3-1]", "n[[1-2]]", "n[1-1000000000]", "n[0-999][0-999]", "a,,b"})
    EXPECT_THROW(expand_hostlist(bad), std::invalid_argument) << bad;
}

TEST(SlurmTopology, RegularTreesArePresets) {
  EXPECT_EQ(import("SwitchName=s0 Nodes=n[1-16]\n").document["preset"], "single-switch");
  const Json two = import(
                       "# comment\nswitchname=l0 nodes=n[01-04] LinkSpeed=100\nSwitchName=l1 \\\n Nodes=n[05-08]\n"
                       "SwitchName=top Switches=l[0-1]\n")
                       .document;
  EXPECT_EQ(two["preset"], "fat-tree");
  EXPECT_EQ(two["nodes_per_leaf"], 4);
  std::string text;
  for (int leaf = 0; leaf < 4; ++leaf)
    text += fmt::format("SwitchName=l{} Nodes=n[{}-{}]\n", leaf, 2 * leaf, 2 * leaf + 1);
  const Json three =
      import(text + "SwitchName=p0 Switches=l[0-1]\nSwitchName=p1 Switches=l[2-3]\nSwitchName=c Switches=p[0-1]\n")
          .document;
  EXPECT_EQ(three["preset"], "fat-tree-3");
  EXPECT_EQ(three["nodes_per_leaf"], 2);
  EXPECT_EQ(three["nodes_per_pod"], 4);
}

// Leaf a has one node, leaf b three, with one NIC each at 100 Gb/s: one and three cables up.
TEST(SlurmTopology, OthersAreListedCableByCable) {
  SlurmFabricHints hints;
  hints.nic_bandwidth = 100_Gbps;
  const Json fabric =
      import("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[2-4]\nSwitchName=top Switches=a,b\n", hints).document;
  EXPECT_EQ(fabric["preset"], "custom");
  EXPECT_EQ(fabric["switches"].size(), 3U);
  ASSERT_EQ(fabric["cables"].size(), 6U);
  EXPECT_EQ(fabric["cables"][0]["from"], "node0");
  EXPECT_EQ(fabric["cables"][4].value("count", 1), 1);
  EXPECT_EQ(fabric["cables"][5].value("count", 1), 3);
}

TEST(SlurmTopology, AJobsHostsKeepTheirOrder) {
  SlurmFabricHints hints;
  hints.job_hosts = {"n4", "n1", "n3", "n2"};
  const Json fabric =
      import("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=t Switches=a,b\n", hints).document;
  EXPECT_EQ(fabric["nodes_per_leaf"], 2);
  EXPECT_EQ(fabric["node_order"], Json({3, 0, 2, 1}));
}

Json of_racks(const std::string& text, const SlurmRack& rack, std::vector<std::string> job = {}) {
  Diagnostics diagnostics("topology.conf");
  const SlurmTopology topology = read_slurm_topology(text, diagnostics);
  SlurmFabricHints hints;
  hints.job_hosts = racks_of_job(topology, job, rack, diagnostics);
  const SlurmTopology racks = racks_as_hosts(topology, rack, diagnostics);
  diagnostics.throw_if_faulty();
  return slurm_fabric(racks, hints, "topology.conf").document;
}

std::string blocks_of_18(int blocks) {
  std::string out;
  for (int block = 0; block < blocks; ++block)
    out += fmt::format("BlockName=b{} Nodes=n[{}-{}]\n", block, 18 * block + 1, 18 * block + 18);
  return out;
}

// NVLink of a rack goes over its hosts, which Slurm lists one by one.
TEST(SlurmTopology, BlocksOfARackAreNodes) {
  const SlurmRack rack{"gb200-nvl72", 18};
  EXPECT_EQ(of_racks(blocks_of_18(4), rack)["preset"], "single-switch");
  const Json pods = of_racks(blocks_of_18(4) + "BlockSizes=18,36\n", rack);
  EXPECT_EQ(pods["preset"], "fat-tree");
  EXPECT_EQ(pods["nodes_per_leaf"], 2);
  EXPECT_EQ(of_racks("BlockName=b Nodes=n[1-16]\n", rack)["preset"], "single-switch") << "two spare hosts";
  EXPECT_THROW(of_racks("BlockName=b Nodes=n[1-8]\n", rack), InputError);
  EXPECT_THROW(of_racks("SwitchName=s Nodes=n[1-18]\n", rack), InputError);
  EXPECT_EQ(of_racks(blocks_of_18(2), rack, expand_hostlist("n[19-36]"))["preset"], "single-switch");
  EXPECT_THROW(of_racks(blocks_of_18(2), rack, expand_hostlist("n[19-22]")), InputError);
}

// Blocks say who shares NVLink, switches how racks meet.
TEST(SlurmTopology, SwitchesAndBlocksMayStandTogether) {
  const std::string text = "SwitchName=root Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=n[1-36]\n" + blocks_of_18(4) +
                           "SwitchName=leaf2 Nodes=n[37-72]\nBlockSizes=18\n";
  const Json tree = import(text).document;
  EXPECT_EQ(tree["preset"], "fat-tree");
  EXPECT_EQ(tree["nodes_per_leaf"], 36);
  EXPECT_EQ(of_racks(text, {"gb200-nvl72", 18})["nodes_per_leaf"], 2);
  EXPECT_THAT(fault(text + "BlockName=b9 Nodes=n1\n"), HasSubstr("host \"n1\" is in two blocks"));
}

TEST(SlurmTopology, BlocksAreLeaves) {
  const Json fabric = import("BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockSizes=4,8\n").document;
  EXPECT_EQ(fabric["preset"], "fat-tree");
  EXPECT_EQ(fabric["nodes_per_leaf"], 4);
}

// Two spare hosts a block: the base block is of 16, and 64 / 16 = 4 of them belong together.
TEST(SlurmTopology, SizesOfBlocksCountBaseBlocks) {
  std::string text;
  for (int block = 0; block < 8; ++block)
    text += fmt::format("BlockName=b{} Nodes=gb[{}-{}]\n", block, 18 * block + 1, 18 * block + 18);
  const Json fabric = import(text + "BlockSizes=16,64\n").document;
  EXPECT_EQ(fabric["preset"], "fat-tree-3");
  EXPECT_EQ(fabric["nodes_per_leaf"], 18);
  EXPECT_EQ(fabric["nodes_per_pod"], 72);
}

// Base blocks of 8: pairs of them make pods; that four belong together, too, is told.
TEST(SlurmTopology, MoreSizesThanTiersAreTold) {
  std::string text;
  for (int block = 0; block < 12; ++block)
    text += fmt::format("BlockName=b{} Nodes=n[{}-{}]\n", block, 8 * block + 1, 8 * block + 8);
  const Imported imported = import(text + "BlockSizes=8,16,32\n");
  EXPECT_EQ(imported.document["nodes_per_pod"], 16);
  EXPECT_THAT(imported.notes, testing::Contains(HasSubstr("only the tier of 2 joined blocks is kept, that of 4 not")));
}

TEST(SlurmTopology, AFlatDefaultMakesRoomForTheTreeBeside) {
  const Imported imported = import(
      "- topology: all\n  cluster_default: true\n  flat: true\n- topology: t\n  tree:\n    switches:\n"
      "      - switch: s1\n        nodes: n[1-2]\n");
  EXPECT_THAT(imported.notes, testing::Contains(HasSubstr("t was taken, the only one with switches")));
}

TEST(SlurmTopology, YamlSaysTheSame) {
  const std::string tree =
      "---\n- topology: t\n  cluster_default: true\n  tree:\n    switches:\n      - switch: root\n        children: "
      "s[1-2]\n      - switch: s1\n        nodes: n[01-02]\n      - switch: s2\n        nodes: \"n[03-04]\"\n";
  const std::string block =
      "- topology: b\n  cluster_default: false\n  block:\n    block_sizes:\n      - 2\n      - 4\n    blocks:\n      - "
      "block: b1\n        nodes: m[1-2]\n      - block: b2\n        nodes: m[3-4]\n";
  const Imported both = import(tree + block);
  EXPECT_EQ(both.document["preset"], "fat-tree");
  EXPECT_EQ(both.document["nodes_per_leaf"], 2);
  EXPECT_THAT(both.notes.front(), HasSubstr("of 2 topologies t was taken"));
  EXPECT_EQ(import(block).document["nodes_per_leaf"], 2);
  EXPECT_THAT(fault("---\n- topology: t\n  flat: true\n"), HasSubstr("is flat"));
  EXPECT_THAT(fault("- topology: t\n  tree:\n    ring: 1\n"), HasSubstr("/0/tree/ring: unknown key"));
  EXPECT_THAT(fault("- topology: t\n  tree:\n    switches:\n      - switch: a\n        children: b\n"),
              HasSubstr("/0/tree/switches/0: \"a\" lists switch \"b\""));
  EXPECT_THAT(fault("---\nhello: 1\n"), HasSubstr("topology"));
}

TEST(SlurmTopology, OfSeveralNetworksTheLargestIsTaken) {
  const Imported out = import("SwitchName=a Nodes=n1\nSwitchName=b Nodes=m[1-2]\n");
  EXPECT_THAT(out.summary, HasSubstr("2 nodes"));
  EXPECT_THAT(out.notes.front(), HasSubstr("2 networks do not meet"));
}

// What writes a topology from a cluster's labels leaves a switch for hosts without any.
TEST(SlurmTopology, SwitchesWithoutHostsAreLeftOut) {
  const Imported with = import(
      "SwitchName=root Switches=su1,su2,spare\nSwitchName=su1 Nodes=n[0-3]\nSwitchName=su2 Nodes=n[4-7]\n"
      "SwitchName=spare Switches=unknown\nSwitchName=unknown\n");
  EXPECT_THAT(with.notes, testing::Contains(HasSubstr("switches without hosts were left out: spare,unknown")));
  const Imported without =
      import("SwitchName=root Switches=su1,su2\nSwitchName=su1 Nodes=n[0-3]\nSwitchName=su2 Nodes=n[4-7]\n");
  EXPECT_EQ(with.document, without.document);
}

TEST(SlurmTopology, FaultsSayWhere) {
  EXPECT_THAT(fault(""), HasSubstr("neither switches nor blocks"));
  EXPECT_THAT(fault("\n\nSwitchName=a Node=n1\n"), HasSubstr("line 3: unknown key \"Node\""));
  EXPECT_THAT(fault("SwitchName=a Nodes=n[1-1000000000]\n"), HasSubstr("more than"));
  EXPECT_THAT(fault("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n"), HasSubstr("a second time, first on line 1"));
  EXPECT_THAT(fault("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"), HasSubstr("below itself"));
  EXPECT_THAT(fault("SwitchName=a Switches=leaf2\nSwitchName=leaf1 Nodes=n1\n"), HasSubstr("did you mean \"leaf1\"?"));
  EXPECT_THAT(fault("SwitchName=a\n"), HasSubstr("no switch has hosts below it"));
  EXPECT_THAT(fault("SwitchName=a\nSwitchName=a Nodes=n1\n"), HasSubstr("a second time, first on line 1"));
  // A host or a switch twice would be cabled twice.
  EXPECT_THAT(fault("SwitchName=s1 Nodes=n[1-4],n3\nSwitchName=root Switches=s1\n"),
              HasSubstr("line 1: \"s1\" lists \"n3\" twice"));
  EXPECT_THAT(fault("SwitchName=s1 Nodes=n1\nSwitchName=root Switches=s1,s1\n"),
              HasSubstr("line 2: \"root\" lists \"s1\" twice"));
  EXPECT_THAT(fault("BlockName=b1 Nodes=n[1-4],n4\nBlockName=b2 Nodes=m[1-4]\n"),
              HasSubstr("line 1: \"b1\" lists \"n4\" twice"));
  EXPECT_THAT(fault("\x01\x02\x03"), HasSubstr("line 1"));
}

// As Slurm's own reader takes them: words go on behind a line's end, values have quotes, and equals signs blanks.
TEST(SlurmTopology, LinesAreReadAsSlurmDoes) {
  const Imported out = import(
      "SwitchName=l0 Nodes=n1,\\\nn2\nSwitchName = l1 Nodes = \"n[3-4]\"\n"
      "SwitchName=s0 \\\n  Switches=l[0-1]\n");
  EXPECT_EQ(out.document["preset"], "fat-tree");
  EXPECT_EQ(out.document["nodes_per_leaf"], 2);
  EXPECT_THAT(fault("SwitchName=l0 Nodes n1\n"), HasSubstr("line 1: \"Nodes\" is no Key=value"));
}

TEST(SlurmTopology, SpinesOverTheSameLeavesAreOneLevel) {
  const Imported out = import(
      "SwitchName=l0 Nodes=n[0-7]\nSwitchName=l1 Nodes=n[8-15]\n"
      "SwitchName=s0 Switches=l[0-1]\nSwitchName=s1 Switches=l[0-1]\n");
  EXPECT_EQ(out.document["preset"], "fat-tree");
  EXPECT_THAT(out.notes.front(), HasSubstr("2 switches at the top are over the same 16 hosts"));
  for (const std::string& note : out.notes) EXPECT_THAT(note, testing::Not(HasSubstr("do not meet")));
}

TEST(SlurmTopology, WhatScontrolShowsIsTheSame) {
  const Json conf =
      import("SwitchName=l0 Nodes=n[1-4]\nSwitchName=l1 Nodes=n[5-8]\nSwitchName=top Switches=l[0-1]\n").document;
  EXPECT_EQ(import("SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=l[0-1]\n"
                   "SwitchName=l0 Level=0 LinkSpeed=1 Nodes=n[1-4]\nSwitchName=l1 Level=0 LinkSpeed=1 Nodes=n[5-8]\n")
                .document,
            conf);
  const std::string blocks =
      "BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockName=b3 Nodes=n[9-12]\nBlockName=b4 Nodes=n[13-16]\n";
  EXPECT_EQ(import("BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4\nBlockName=b2 BlockIndex=1 Nodes=n[5-8] "
                   "BlockSize=4\nBlockName=b3 BlockIndex=2 Nodes=n[9-12] BlockSize=4\nBlockName=b4 BlockIndex=3 "
                   "Nodes=n[13-16] BlockSize=4\nAggregatedBlock=b[1-2] BlockIndex=4 Nodes=n[1-8] BlockSize=8\n")
                .document,
            import(blocks + "BlockSizes=4,8\n").document);
  EXPECT_THAT(fault("BlockName=b1 Nodes=n1 BlockSize=x\n"), HasSubstr("block size \"x\" is no number"));
}

// As programs write it, and as the manual's own examples do.
TEST(SlurmTopology, YamlMayBeWrittenInAnyWay) {
  const std::string text =
      "- topology: a\n  cluster_default: False\n  flat: True\n"
      "- {cluster_default: True, topology: 'b', block: {block_sizes: [2, 4], blocks: [{block: b1, nodes: 'n[1-2]'}, "
      "{block: b2, nodes: [n3, n4]}]}}\n";
  const Imported out = import(text);
  EXPECT_EQ(out.document["preset"], "fat-tree");
  EXPECT_EQ(out.document["nodes_per_leaf"], 2);
  EXPECT_THAT(out.notes.front(), HasSubstr("of 2 topologies b was taken"));
  EXPECT_THAT(fault("- topology: t\n  block:\n    block_sizes: [x]\n    blocks: [{block: b, nodes: n1}]\n"),
              HasSubstr("/0/block/block_sizes/0: block size \"x\""));
  EXPECT_THAT(fault("- topology: t\n  tree:\n    switches: [{switch: a, nodes: 'n[1-'}]\n"),
              HasSubstr("/0/tree/switches/0: host list"));
  EXPECT_THAT(fault("- topology: t\n  tree:\n    switches: 1\n"), HasSubstr("/0/tree/switches: is no list"));
}

TEST(SlurmTopology, OtherPluginsAreNamed) {
  EXPECT_THAT(fault("RingName=r0 Nodes=n[1-8]\nRingName=r1 Nodes=n[9-16]\n"), HasSubstr("topology/ring"));
  EXPECT_THAT(fault("- topology: t\n  ring:\n    rings: [{ring: r, nodes: 'n[1-8]'}]\n"),
              HasSubstr("/0/ring: describes rings of hosts"));
  EXPECT_THAT(fault("- topology: t\n  tree: {switches: [{switch: s, nodes: [a, {b: 2}]}]}\n"),
              HasSubstr("/0/tree/switches/0/nodes: found an object, expected a name or a host list"));
  EXPECT_THAT(fault("- topology: t\n  torus3d:\n    toruses: []\n"), HasSubstr("torus-3d"));
}

// As topograph pads a topology to the largest of its block sizes.
TEST(SlurmTopology, ABlockWithoutHostsIsAPlaceForSome) {
  const Imported out = import(
      "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-6]\nBlockName=b4\n"
      "BlockSizes=2,8\n");
  EXPECT_EQ(out.document["preset"], "fat-tree");
  EXPECT_THAT(Json(out.notes).dump(), HasSubstr("blocks without hosts were left out: b4"));
  EXPECT_EQ(import("- topology: t\n  block:\n    block_sizes: [2]\n    blocks:\n    - {block: b1, nodes: 'n[1-2]'}\n"
                   "    - {block: phantom, nodes: ''}\n")
                .document["preset"],
            "single-switch");
  EXPECT_THAT(fault("BlockName=b1\nBlockName=b2\nBlockSizes=2\n"), HasSubstr("no block has hosts"));
}

}  // namespace
}  // namespace stepcast::import_slurm_test
