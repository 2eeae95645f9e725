#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/chakra/import_chakra.hpp"
#include "models/rank_graph/rank_graph_file.hpp"
#include "models/rank_graph/rank_index.hpp"
#include "tests/e2e/process.hpp"
#include "tests/unit/chakra_bytes.hpp"

namespace stepcast::chakra_import_test {
namespace {

using test::attribute;
using test::collective;
using test::message;
using test::node;
using test::number_field;
using test::text_attribute;
using test::trace;
using testing::ElementsAre;
using testing::HasSubstr;

class ChakraImporter : public testing::Test {
 protected:
  /// Traces of ranks 0, 1, …
  RankGraph import(const std::vector<std::vector<std::string>>& ranks, const std::string& groups = {},
                   std::optional<int> count = {}) {
    ChakraImport request;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      request.files.push_back(test::write_bytes(folder_ / ("t." + std::to_string(rank) + ".et"), trace(ranks[rank])));
    if (!groups.empty()) {
      write_file(folder_ / "groups.json", groups);
      request.process_groups = folder_ / "groups.json";
    }
    request.ranks = count;
    return import_chakra(request);
  }

  std::string refusal(const std::vector<std::vector<std::string>>& ranks, const std::string& groups = {},
                      std::optional<int> count = {}) {
    try {
      import(ranks, groups, count);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  ScratchFolder folder_;
};

TEST_F(ChakraImporter, TakesNodesForOperations) {
  const RankGraph graph =
      import({{node(1, test::kCompute, {}, 10), node(2, test::kLoad, {1}, 0, attribute("tensor_size", 13, 4096)),
               message(3, {2}, test::kSend, 0, 1, 100, 7), collective(4, {3}, 2, 64),
               node(5, test::kCompute, {4}, 0, attribute("num_ops", 9, 1000) + attribute("tensor_size", 13, 50)),
               node(6, test::kCollective, {5}, 3, attribute("is_cpu_op", 27, 1)), node(7, test::kMetadata, {}, 0)},
              {message(1, {}, test::kReceive, 0, 1, 100, 7), collective(2, {1}, 2, 64)}});
  ASSERT_EQ(graph.ranks, 2);
  const auto& operations = graph.programs.at(0).operations;
  ASSERT_EQ(operations.size(), 7U);
  EXPECT_EQ(operations[0].duration, 10_us);
  EXPECT_EQ(operations[1].kind, RankOperationKind::memory);
  EXPECT_EQ(operations[1].memory, 4096_B);
  EXPECT_EQ(operations[2].kind, RankOperationKind::send);
  EXPECT_EQ(operations[2].peer, 1);
  EXPECT_EQ(operations[2].tag, 7);
  EXPECT_EQ(operations[2].size, 100_B);
  // Traces count an all_gather by what one rank gives.
  EXPECT_EQ(operations[3].collective, CollectiveKind::all_gather);
  EXPECT_EQ(payload_of(operations[3], 2), 128_B);
  EXPECT_EQ(operations[4].work, Flops(1000));
  EXPECT_EQ(operations[4].memory, 50_B);
  EXPECT_THAT(operations[4].after, ElementsAre(4));
  EXPECT_TRUE(operations[5].host);
  EXPECT_EQ(operations[5].kind, RankOperationKind::compute);
  EXPECT_EQ(operations[6].duration, 0_us);
}

TEST_F(ChakraImporter, KnowsEveryCollective) {
  using K = CollectiveKind;
  const std::vector<K> kinds{K::all_reduce, K::reduce,     K::all_gather,     K::all_to_all,     K::all_to_all,
                             K::broadcast,  K::all_to_all, K::reduce_scatter, K::reduce_scatter, K::barrier};
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < kinds.size(); ++i) nodes.push_back(collective(i + 1, {}, static_cast<int>(i), 8));
  const RankGraph graph = import({nodes, nodes});
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(graph.programs[0].operations[i].collective, kinds[i]) << i;
}

TEST_F(ChakraImporter, WaitsForControlDependenciesUnlessPyTorchMeansCallersByThem) {
  const std::string controlled = node(2, test::kCompute, {}, 1) + number_field(4, 1);
  EXPECT_THAT(import({{node(1, test::kCompute, {}, 1), controlled}}).programs[0].operations[1].after, ElementsAre(1));
  // Both kinds of dependency on one node count once.
  const std::string both = node(2, test::kCompute, {1}, 1) + number_field(4, 1);
  EXPECT_THAT(import({{node(1, test::kCompute, {}, 1), both}}).programs[0].operations[1].after, ElementsAre(1));
  const std::string recorded = node(1, test::kCompute, {}, 1, attribute("rf_id", 9, 5));
  const RankGraph graph = import({{recorded, node(2, test::kCompute, {}, 1) + number_field(4, 99)}});
  EXPECT_TRUE(graph.programs[0].operations[1].after.empty());
  EXPECT_THAT(graph.notes, testing::Contains(HasSubstr("1 control dependencies name callers")));
}

TEST_F(ChakraImporter, ReadsThePyTorchTrace) {
  const RankGraph graph =
      import_chakra({{STEPCAST_SOURCE_DIR "/tests/data/chakra/pytorch-rank0.et.gz"}, std::nullopt, std::nullopt});
  EXPECT_FALSE(graph.ranks);
  EXPECT_THAT(graph.source, HasSubstr("schema 1.0.1"));
  std::map<std::string, int> counts;
  for (const RankOperation& operation : graph.programs.at(0).operations) {
    const auto kind = operation.collective ? name_of(*operation.collective) : name_of(operation.kind);
    ++counts[(operation.host ? "host " : "") + std::string(kind)];
  }
  // Counted by an independent reader of the wire format: 2,448 operators of the host (14 of them hand collectives
  // over), 1,209 kernels, 7 collectives of the device with comm_type 0 (five) and 5 (two).
  const std::map<std::string, int> expected{
      {"host compute", 2448}, {"compute", 1209}, {"all_reduce", 5}, {"broadcast", 2}};
  EXPECT_EQ(counts, expected);
}

TEST_F(ChakraImporter, SaysWhatNodesAreWrong) {
  EXPECT_THAT(refusal({{node(1, test::kCompute, {9}, 1)}}),
              HasSubstr("t.0.et: node 1: operation 1 \"node 1\" waits for 9"));
  EXPECT_THAT(refusal({{node(1, test::kCompute, {2}, 1), node(2, test::kCompute, {1}, 1)}}),
              HasSubstr("a cycle: 2 → 1 → 2"));
  EXPECT_THAT(refusal({{node(1, test::kCompute, {}, 1) + number_field(4, 9)}}), HasSubstr("waits for 9"));
  EXPECT_THAT(refusal({{collective(1, {}, 42, 8)}}), HasSubstr("node 1: comm_type 42 is no collective"));
  EXPECT_THAT(refusal({{node(1, test::kCollective, {}, 1)}}), HasSubstr("has no comm_type"));
  EXPECT_THAT(refusal({{node(1, test::kCollective, {}, 1, attribute("comm_type", 9, 0))}}), HasSubstr("no comm_size"));
  EXPECT_THAT(refusal({{collective(1, {}, 0, ~std::uint64_t{0})}}), HasSubstr("comm_size is -1"));
  EXPECT_THAT(refusal({{node(1, 17, {}, 1)}}), HasSubstr("type 17 is no type of node"));
  EXPECT_THAT(refusal({{node(1, 0, {}, 1)}}), HasSubstr("type 0 is no type of node"));
  EXPECT_THAT(refusal({{node(1, test::kCompute, {}, ~std::uint64_t{0})}}), HasSubstr("lasts 18446744073709551615 us"));
  EXPECT_THAT(refusal({{node(1, test::kSend, {}, 0, attribute("comm_size", 9, 8))}}),
              HasSubstr("has no comm_dst, which Chakra's converter of PyTorch's traces leaves out"));
}

TEST_F(ChakraImporter, SaysWhichMessagesAndGroupsLackAnEnd) {
  EXPECT_THAT(refusal({{message(1, {}, test::kSend, 0, 1, 8)}, {}}), HasSubstr("sends to rank 1"));
  EXPECT_THAT(refusal({{}, {message(1, {}, test::kReceive, 0, 1, 8)}}), HasSubstr("receives from rank 0"));
  EXPECT_THAT(refusal({{collective(1, {}, 0, 8, "a"), collective(2, {}, 0, 8, "b")}}), HasSubstr("--process-groups"));
  EXPECT_THAT(refusal({{collective(1, {}, 0, 8, "alpha")}}, R"({"alpah": [0, 1]})"),
              HasSubstr("did you mean \"alpah\"?"));
  EXPECT_THAT(refusal({{collective(1, {}, 0, 8, "a")}}, R"({"a": ["x"]})"), HasSubstr("expected a list of ranks"));
  EXPECT_THAT(refusal({{collective(1, {}, 0, 8)}, {collective(1, {}, 5, 8)}}), HasSubstr("found broadcast"));
}

TEST_F(ChakraImporter, RepeatsOneRankWhereGroupsAreLarger) {
  // Rank 0 of a tensor group of two and a data group of every second rank: eight ranks make groups of both sizes even.
  const RankGraph eight = import({{collective(1, {}, 0, 8, "tensor"), collective(2, {1}, 0, 8, "data")}},
                                 R"({"tensor": [0, 1], "data": [0, 2, 4, 6]})");
  ASSERT_EQ(eight.ranks, 8);
  EXPECT_EQ(eight.programs.size(), 1U);
  EXPECT_EQ(eight.programs[0].ranks.size(), 8U);
  for (const RankGroup& group : eight.groups) {
    if (group.name == "tensor")
      EXPECT_THAT(group.members,
                  ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5), ElementsAre(6, 7)));
    else
      EXPECT_THAT(group.members, ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5, 7)));
  }
  EXPECT_THAT(eight.notes, testing::Contains(HasSubstr("7 of 8 ranks have no trace")));
}

TEST_F(ChakraImporter, MakesOneProgramOfEqualTraces) {
  // Four ranks in two tensor groups and two data groups; rank 3 alone computes longer.
  const auto rank = [](const std::string& tensor, const std::string& data, std::uint64_t us) {
    return std::vector<std::string>{node(1, test::kCompute, {}, us), collective(2, {1}, 0, 8, tensor),
                                    collective(3, {2}, 0, 8, data)};
  };
  const std::string groups = R"({"t0": [0, 1], "t1": [2, 3], "d0": [0, 2], "d1": [1, 3]})";
  const auto equal =
      import({rank("t0", "d0", 5), rank("t0", "d1", 5), rank("t1", "d0", 5), rank("t1", "d1", 5)}, groups);
  ASSERT_EQ(equal.programs.size(), 1U);
  EXPECT_THAT(equal.programs[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(equal.groups.size(), 2U);
  const auto late =
      import({rank("t0", "d0", 5), rank("t0", "d1", 5), rank("t1", "d0", 5), rank("t1", "d1", 6)}, groups);
  ASSERT_EQ(late.programs.size(), 2U);
  EXPECT_THAT(late.programs[1].ranks, ElementsAre(3));
  // Where the same place is taken by groups that overlap, nothing is made one.
  const auto crossed =
      import({rank("t0", "d0", 5), rank("d1", "t0", 5), rank("t1", "d0", 5), rank("t1", "d1", 5)}, groups);
  EXPECT_EQ(crossed.programs.size(), 4U);
}

TEST_F(ChakraImporter, RepeatsMessagesByTheirDistance) {
  // A ring of four of which rank 0 is traced: it sends to 1 and receives from 3, which is 3 away and not −1.
  const RankGraph graph =
      import({{message(1, {}, test::kSend, 0, 2, 8)}, {}, {message(1, {}, test::kReceive, 0, 2, 8)}}, {}, 3);
  EXPECT_EQ(graph.programs.size(), 3U);
  EXPECT_THAT(refusal({{message(1, {}, test::kSend, 0, 1, 8)}}), HasSubstr("does not exist"));
}

}  // namespace
}  // namespace stepcast::chakra_import_test
