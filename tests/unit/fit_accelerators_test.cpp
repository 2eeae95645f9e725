#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "calibration/fit/cluster/fit_cluster.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/probe_file.hpp"

namespace stepcast::fit_accelerators_test {
namespace {

using test::catalog;
using test::probe_file;
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
  return probe_file(std::move(results), "a.json", Json::object(), "nccl");
}

CalibrationProfile fit(const std::vector<ClusterRow>& rows) {
  return fit_cluster({file_of(rows)}, {.name = "lab", .node = "dgx-h100", .refits = 10}, catalog());
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

/// Rows of a sound cluster, those of some made slower.
std::vector<std::string> place_findings_of(const std::function<double(const ClusterRow&)>& slower) {
  std::vector<ClusterRow> rows = planted(hopper(), {1, 2, 4, 8});
  for (ClusterRow& row : rows)
    for (double& sample : row.samples_us) sample *= row.place.size >= 4_MiB ? slower(row) : 1;
  std::vector<std::string> out;
  for (const std::string& finding : fit(rows).findings)
    if (finding.find("nodes let expect") != std::string::npos) out.push_back(finding);
  return out;
}

TEST(FitAccelerators, NodesThatHalveTheBandwidthOfThoseBeforeThemAreNamed) {
  // From 4 nodes on, as a bad NIC or an oversubscribed spine does.
  const auto added = place_findings_of([](const ClusterRow& row) { return row.nodes() >= 4 ? 2.0 : 1.0; });
  ASSERT_EQ(added.size(), 1);
  EXPECT_THAT(added[0], testing::ContainsRegex("times as long on 4 nodes as 2 nodes let expect"));
  EXPECT_THAT(added[0], testing::ContainsRegex("all_gather [0-9]+ GB/s on 2 nodes and [0-9]+ on 4"));
  EXPECT_THAT(added[0], HasSubstr("among the nodes that were added, or an oversubscribed network"));
  // The smaller run alone.
  const auto few = place_findings_of([](const ClusterRow& row) { return row.nodes() == 2 ? 1.6 : 1.0; });
  ASSERT_EQ(few.size(), 1);
  EXPECT_THAT(few[0], HasSubstr("on 2 nodes as 4 nodes let expect"));
  EXPECT_THAT(few[0], HasSubstr("than the larger run had"));
}

TEST(FitAccelerators, OneCollectiveThatIsSlowOnSomeNodesIsTheLibrarysAndSoundNodesAreNotNamed) {
  const auto alone = place_findings_of(
      [](const ClusterRow& row) { return row.nodes() == 4 && row.kind == CollectiveKind::all_gather ? 4.0 : 1.0; });
  ASSERT_EQ(alone.size(), 1);
  EXPECT_THAT(alone[0], HasSubstr("the library may choose badly there, for no link slows all_reduce, reduce_scatter"));
  EXPECT_THAT(place_findings_of([](const ClusterRow&) { return 1.0; }), testing::IsEmpty());
  EXPECT_THAT(place_findings_of([](const ClusterRow& row) { return row.nodes() == 4 ? 1.15 : 1.0; }),
              testing::IsEmpty());
}

// Clusters whose constants lie about the catalogue's as the priors say: intervals of 68 % hold about so many of them.
TEST(FitAccelerators, IntervalsHoldTheConstantsOfClustersDrawnFromThePrior) {
  const ClusterModel kind = hopper();
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  int held = 0, all = 0;
  for (unsigned cluster = 0; cluster < 6; ++cluster) {
    ClusterModel truth = kind;
    std::map<std::string, double> planted_at;
    for (const ClusterConstant& c : cluster_constants(kind, planted(kind, {1, 2, 4, 8}))) {
      double value = c.prior * std::exp(c.spread * normal(random));
      if (c.most > 0) value = std::min(value, c.most);
      planted_at[c.profile + c.key] = value;
      c.set(truth, value);
    }
    const std::vector<ClusterRow> rows = planted(truth, {1, 2, 4, 8}, cluster);
    const ClusterFit fit = fit_collectives(kind, rows);
    const std::vector<FitInterval> intervals = bootstrap(fit, rows, 20);
    for (std::size_t c = 0; c < intervals.size(); ++c) {
      const double value = planted_at.at(fit.constants[c].profile + fit.constants[c].key);
      held += intervals[c].low <= value && value <= intervals[c].high;
      ++all;
    }
  }
  EXPECT_GT(held, 0.55 * all) << "of " << all;
  EXPECT_LT(held, 0.85 * all) << "of " << all;
}

TEST(FitAccelerators, WhatNoRowTellsStaysTheCatalogues) {
  std::vector<ClusterRow> rows = planted(hopper(), {2});
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const ClusterRow& row) {
                              return row.kind != CollectiveKind::all_gather || row.place.size != Bytes(1 << 28);
                            }),
             rows.end());
  ASSERT_EQ(rows.size(), 1U);
  const CalibrationProfile profile = fit(rows);
  const Json& network = profile.catalogue.at("network-profiles").at("infiniband");
  std::size_t told = 0;
  for (const FittedConstant& constant : profile.constants) {
    told += constant.rows > 0;
    if (constant.rows > 0) continue;
    EXPECT_THAT(network["sources"].value(constant.key, ""), Not(HasSubstr("calibration lab")));
    EXPECT_EQ(constant.value, constant.prior) << constant.key;
    EXPECT_LT(constant.low, constant.high) << constant.key;
    EXPECT_EQ(interval_text(constant), "not told by these results");
  }
  EXPECT_GT(told, 0U);
  EXPECT_LT(told, profile.constants.size() / 2);
  EXPECT_EQ(network["evidence"]["wire_share"], "measured");
}

}  // namespace
}  // namespace stepcast::fit_accelerators_test
