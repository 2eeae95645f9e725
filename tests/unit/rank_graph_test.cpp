#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/rank_graph/rank_graph_file.hpp"
#include "models/rank_graph/rank_index.hpp"
#include "tests/e2e/process.hpp"

namespace stepcast::rank_graph_test {
namespace {

using testing::HasSubstr;

class RankGraphFile : public testing::Test {
 protected:
  RankGraph read(const std::string& text) {
    write_file(folder_ / "g.json", text);
    return read_rank_graph(folder_ / "g.json");
  }

  /// Everything that is wrong with a graph, on one line each.
  std::string faults(const std::string& text) {
    try {
      const RankGraph graph = with_known_ranks(read(text));
      (void)RankIndex(graph, RankGraphPlaces("g.json"));
    } catch (const InputError& error) {
      return error.what();
    }
    return "no fault";
  }

  static RankGraph with_known_ranks(RankGraph graph) {
    return graph.ranks ? std::move(graph) : with_ranks(std::move(graph), 2, "g.json");
  }

  ScratchFolder folder_;
};

std::string graph_of(const std::string& programs, const std::string& more = {}) {
  return R"({"format_version": 1, "ranks": 2, )" + more + R"("programs": [)" + programs + "]}";
}
std::string program_of(int rank, const std::string& operations) {
  return R"({"ranks": [)" + std::to_string(rank) + R"(], "operations": [)" + operations + "]}";
}
/// One program that both ranks run.
std::string shared(const std::string& operations, const std::string& more = {}) {
  return graph_of(R"({"ranks": [0, 1], "operations": [)" + operations + "]}", more);
}

TEST_F(RankGraphFile, ReadsWhatItWrites) {
  const std::string text =
      graph_of(program_of(0, R"({"id": 1, "kind": "compute", "work_GFLOPs": 3, "memory_bytes": 5},
                       {"id": 2, "kind": "send", "peer": 1, "tag": 4, "size_bytes": 8, "after": [1]},
                       {"id": 3, "kind": "collective", "collective": "all_gather", "share_bytes": 16, "group": "g"})") +
                   "," + program_of(1, R"({"id": 1, "kind": "receive", "peer_offset": -1, "tag": 4, "stream": "nccl 7"},
                           {"id": 2, "name": "é", "kind": "compute", "duration_us": 1.5, "host": true, "after": [1]},
                           {"id": 9, "kind": "collective", "collective": "all_gather", "share_bytes": 16, "group": "g"})"),
               R"("name": "n", "notes": ["a"], "groups": [{"name": "g", "members": [[0, 1]]}], )");
  const RankGraph first = read(text);
  const std::string written = rank_graph_text(first);
  const RankGraph second = read(written);
  EXPECT_EQ(written, rank_graph_text(second));
  EXPECT_EQ(second.programs[1].operations[1].duration, 1.5_us);
  EXPECT_EQ(second.programs[0].operations[0].work, Flops(3e9));
  EXPECT_EQ(second.programs[1].operations[0].peer_offset, -1);
  EXPECT_EQ(faults(written), "no fault");
}

TEST_F(RankGraphFile, SaysWhatIsNoJsonAndNoField) {
  EXPECT_THAT(faults("{"), HasSubstr("not valid JSON: line 1"));
  EXPECT_THAT(faults("[]"), HasSubstr("expected an object (step graph)"));
  EXPECT_THAT(faults(R"({"format_version": 2, "programs": []})"), HasSubstr("/format_version: found 2"));
  EXPECT_THAT(faults(R"({"format_version": 1, "programs": []})"), HasSubstr("/programs: found none"));
  EXPECT_THAT(faults(shared(R"({"id": 1, "kind": "compute", "duration_us": -1})")),
              HasSubstr("/programs/0/operations/0/duration_us: found -1, expected at least 0"));
  EXPECT_THAT(faults(shared(R"({"id": 1, "kind": "compute", "duration_us": 1e999})")),
              HasSubstr("/duration_us: the number 1e999 is too large"));
  EXPECT_THAT(faults(shared(R"({"id": 1, "kind": "compute", "duration_us": 1},
                               {"id": 2, "kind": "colective", "size_bytes": 1})")),
              HasSubstr(R"(/programs/0/operations/1/kind: found "colective")"));
  EXPECT_THAT(faults(shared(R"({"id": 1, "id": 2, "kind": "compute", "duration_us": 1})")), HasSubstr("given twice"));
  EXPECT_THAT(faults(shared(R"({"id": 1, "kind": "compute", "duration_us": 1, "color": 3})")),
              HasSubstr("operation has no key \"color\""));
}

TEST_F(RankGraphFile, SaysWhatDependenciesAreWrong) {
  const auto op = [](int id, const std::string& after) {
    return R"({"id": )" + std::to_string(id) + R"(, "kind": "compute", "duration_us": 1, "after": [)" + after + "]}";
  };
  EXPECT_THAT(faults(shared(op(1, "7"))),
              HasSubstr("/programs/0/operations/0: operation 1 waits for 7, which does not"));
  EXPECT_THAT(faults(shared(op(1, "1"))), HasSubstr("operation 1 waits for itself"));
  EXPECT_THAT(faults(shared(op(1, "") + "," + op(1, ""))), HasSubstr("another operation has the same id"));
  EXPECT_THAT(faults(shared(op(1, "3") + "," + op(2, "1") + "," + op(3, "2") + "," + op(4, "3"))),
              HasSubstr("a cycle: 2 → 3 → 1 → 2"));
  EXPECT_EQ(faults(shared(op(3, "2") + "," + op(2, "1") + "," + op(1, ""))), "no fault");
}

TEST_F(RankGraphFile, SaysWhichKeysAKindLacksOrCannotHave) {
  EXPECT_THAT(faults(shared(R"({"id": 1, "kind": "compute"})")), HasSubstr("a compute needs duration_us"));
  EXPECT_THAT(faults(shared(R"({"id": 1, "kind": "compute", "duration_us": 1, "peer": 1})")),
              HasSubstr("has peer, which means nothing to a compute"));
  EXPECT_THAT(faults(shared(R"({"id": 1, "kind": "compute", "duration_us": 1, "work_GFLOPs": 1})")),
              HasSubstr("duration_us and what it would follow from"));
  EXPECT_THAT(faults(shared(R"({"id": 1, "kind": "collective", "collective": "all_reduce"})")),
              HasSubstr("a collective needs size_bytes"));
  EXPECT_EQ(faults(shared(R"({"id": 1, "kind": "collective", "collective": "barrier"})")), "no fault");
}

TEST_F(RankGraphFile, SaysWhichRanksAndGroupsDoNotExist) {
  const std::string op = R"({"id": 1, "kind": "collective", "collective": "barrier", "group": "g"})";
  EXPECT_THAT(faults(shared(op)), HasSubstr("there is no group \"g\""));
  EXPECT_THAT(faults(shared(op, R"("groups": [{"name": "g", "members": [[0, 2]]}], )")),
              HasSubstr("group \"g\" names rank 2, which does not exist: there are 2"));
  EXPECT_THAT(faults(shared(op, R"("groups": [{"name": "g", "members": [[0, 0]]}], )")), HasSubstr("rank 0 twice"));
  EXPECT_THAT(faults(shared(op, R"("groups": [{"name": "g", "members": [[0]]}], )")),
              HasSubstr("rank 1 is not in group \"g\""));
  EXPECT_EQ(faults(shared(op, R"("groups": [{"name": "g", "members": [[0], [1]]}], )")), "no fault");
  EXPECT_THAT(faults(graph_of(program_of(0, ""))), HasSubstr("rank 1 of 2 runs no program"));
  EXPECT_THAT(faults(graph_of(program_of(0, "") + "," + program_of(0, ""))), HasSubstr("rank 0 runs another program"));
  EXPECT_THAT(faults(graph_of(program_of(0, "") + "," + program_of(5, ""))), HasSubstr("rank 5 does not exist"));
}

TEST_F(RankGraphFile, SaysWhichRanksDoNotMeet) {
  const auto meets = [](const std::string& kind, int size) {
    return R"({"id": 4, "kind": "collective", "collective": ")" + kind + R"(", "size_bytes": )" + std::to_string(size) +
           "}";
  };
  const auto both = [&](const std::string& a, const std::string& b) {
    return faults(graph_of(program_of(0, a) + "," + program_of(1, b)));
  };
  EXPECT_EQ(both(meets("all_reduce", 8), meets("all_reduce", 8)), "no fault");
  EXPECT_THAT(both(meets("all_reduce", 8), meets("broadcast", 8)),
              HasSubstr("found broadcast of 8 bytes, expected all_reduce of 8 bytes as rank 0 does"));
  EXPECT_THAT(both(meets("all_reduce", 8), meets("all_reduce", 9)), HasSubstr("found all_reduce of 9 bytes"));
  EXPECT_THAT(both(meets("all_reduce", 8), ""),
              HasSubstr("rank 1 takes part in 0 collectives of all ranks, rank 0 in 1"));
  const std::string send = R"({"id": 1, "kind": "send", "peer": 1, "size_bytes": 8})";
  const std::string receive = R"({"id": 6, "kind": "receive", "peer": 0})";
  EXPECT_EQ(both(send, receive), "no fault");
  EXPECT_THAT(both(send, ""),
              HasSubstr("sends to rank 1 with tag 0, which receives 0 such messages from rank 0 and not 1"));
  EXPECT_THAT(both("", receive), HasSubstr("receives from rank 0 with tag 0, which sends 0 such messages"));
  EXPECT_THAT(both(R"({"id": 1, "kind": "send", "peer": 0, "size_bytes": 8})", ""), HasSubstr("message with itself"));
}

TEST_F(RankGraphFile, NamesNoMoreFaultsThanAnyoneReads) {
  std::string operations;
  for (int i = 0; i < 500; ++i)
    operations += (i ? "," : "") + std::string(R"({"id": )") + std::to_string(i) + R"(, "kind": "compute"})";
  const std::string text = faults(shared(operations));
  EXPECT_THAT(text, HasSubstr("the others are not listed"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 60);
}

TEST(RankGraphSchema, IsAsPublished) {
  Diagnostics diagnostics("schema");
  const Json stored = read_json(STEPCAST_SOURCE_DIR "/models/rank_graph/rank-graph.schema.json", diagnostics);
  EXPECT_EQ(stored, rank_graph_schema()) << rank_graph_schema().dump(2);
}

}  // namespace
}  // namespace stepcast::rank_graph_test
