#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "calibration/fit/cluster/fit_cluster.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::fit_accelerators_test {
namespace {

using test::catalog;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

ClusterModel hopper() { return cluster_model(machine_of(*catalog().find<Node>("dgx-h100"), catalog()), std::nullopt); }

/// What a cluster of this model measures on whole nodes, with 1 % of noise.
std::vector<ClusterRow> planted(const ClusterModel& truth, const std::vector<int>& nodes, unsigned seed = 7) {
  std::vector<ClusterRow> rows;
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter})
    for (const int count : nodes)
      for (double size = 1024; size < 5e9; size *= 8) {
        ClusterRow row;
        row.kind = kind;
        row.place = {Bytes(size), 8 * count, 8};
        rows.push_back(row);
      }
  std::vector<double> times;
  truth.predict(rows, times);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int s = 0; s < 7; ++s) rows[i].samples_us.push_back(times[i] * noise(random));
    summarise(rows[i]);
  }
  return rows;
}

/// The same as a result file.
ProbeResults file_of(const std::vector<ClusterRow>& rows) {
  Json results = Json::array();
  for (const ClusterRow& row : rows)
    results.push_back({{"kind", "collective"},
                       {"op", name_of(row.kind)},
                       {"size_bytes", row.place.size.value()},
                       {"ranks", row.place.ranks},
                       {"nodes", row.nodes()},
                       {"ranks_per_node", row.place.per_node},
                       {"algorithm", "auto"},
                       {"protocol", "auto"},
                       {"data_type", "float32"},
                       {"samples_us", row.samples_us},
                       {"checked", true}});
  return {"made.json",
          {{"format_version", 1},
           {"probe", "nccl"},
           {"tool_version", "0.1.0"},
           {"host", "a"},
           {"date", "2026-11-20T10:00:00Z"},
           {"command", Json::array({"x"})},
           {"versions", Json::object()},
           {"clocks", Json::object()},
           {"environment", Json::object()},
           {"results", std::move(results)}}};
}

CalibrationProfile fit(const std::vector<ClusterRow>& rows) {
  return fit_cluster({file_of(rows)}, {.name = "lab", .node = "dgx-h100", .refits = 3}, catalog());
}

TEST(FitAccelerators, ASlowNetworkLeavesTheLinksInsideOfNodesAlone) {
  ClusterModel truth = hopper();
  truth.network.wire_share *= 0.4;
  truth.network.start = 250_us;
  const CalibrationProfile profile = fit(planted(truth, {2, 4, 8}));
  EXPECT_FALSE(profile.catalogue.contains("link-profiles"));
  EXPECT_TRUE(profile.catalogue.contains("network-profiles"));
  for (const FittedConstant& constant : profile.constants) {
    EXPECT_THAT(constant.profile, Not(HasSubstr("link-profiles/")));
    EXPECT_NE(constant.key, "fill_nvls");
  }
  EXPECT_THAT(profile.findings, Contains(HasSubstr("wire_share")));
  EXPECT_THAT(profile.findings, Not(Contains(HasSubstr("ring_share"))));
  EXPECT_THAT(profile.notes, Contains(HasSubstr("measured between nodes alone")));
}

TEST(FitAccelerators, RowsOfOneNodeTellItsLinksBesideASlowNetwork) {
  ClusterModel truth = hopper();
  truth.network.wire_share *= 0.4;
  const CalibrationProfile profile = fit(planted(truth, {1, 2, 4, 8}));
  EXPECT_TRUE(profile.catalogue.contains("link-profiles"));
  EXPECT_THAT(profile.findings, Not(Contains(HasSubstr("ring_share"))));
  EXPECT_THAT(profile.notes, Not(Contains(HasSubstr("measured between nodes alone"))));
}

}  // namespace
}  // namespace stepcast::fit_accelerators_test
