#include "calibration/fit/cluster/unlikely_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "calibration/fit/cluster/fit_cluster.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/probe_file.hpp"

namespace stepcast::unlikely_rows_test {
namespace {

using test::catalog;
using test::probe_file;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json all_reduce(double size, double us, int nodes = 4) {
  return {{"kind", "collective"}, {"op", "all_reduce"},     {"size_bytes", size},     {"ranks", nodes},
          {"nodes", nodes},       {"ranks_per_node", 1},    {"in_place", false},      {"algorithm", "auto"},
          {"protocol", "auto"},   {"data_type", "float32"}, {"samples_us", {us, us}}, {"checked", true}};
}

/// All-reduces of four nodes from 1 KiB to 1 MiB.
Json sweep(const std::function<double(double)>& us) {
  Json rows = Json::array();
  for (double size = 1024; size <= 1 << 20; size *= 4) rows.push_back(all_reduce(size, us(size)));
  return rows;
}

const std::vector<std::string> kLab{"cluster.fabric.nics_per_node=1", "cluster.fabric.nic_bandwidth_Gbps=0.1",
                                    "cluster.fabric.network=ethernet_tcp"};

CalibrationProfile fitted(const std::vector<ProbeResults>& files) {
  return fit_cluster(files, {.name = "lab", .node = "rental-epyc-7502p-128gb", .overrides = kLab, .refits = 0},
                     catalog());
}

/// A wire of 12.5 MB/s.
double by_wire(double size) { return 50 + 1.5 * size / 12.5; }

TEST(UnlikelyRows, SoundOnesGiveNoFinding) { EXPECT_THAT(fitted({probe_file(sweep(by_wire))}).findings, IsEmpty()); }

TEST(UnlikelyRows, NoTimeIsShorterThanTheNicsNeed) {
  EXPECT_THAT(
      fitted({probe_file(sweep([](double size) { return by_wire(size) / 100; }))}).findings,
      Contains(HasSubstr("3 times are faster than the NICs of a node (0.0125 GB/s), first of them all_reduce of "
                         "65536 bytes")));
  EXPECT_THAT(fitted({probe_file(sweep([](double) { return 100; }))}).findings, Contains(HasSubstr("faster than")));
}

TEST(UnlikelyRows, TimesDoNotFallWithSize) {
  EXPECT_THAT(fitted({probe_file(sweep([](double size) { return by_wire((1 << 30) / size); }))}).findings,
              Contains(HasSubstr("times fall with size in 1 curve, first of them all_reduce of 1024 bytes")));
}

TEST(UnlikelyRows, AFileThatIsSlowerThanOthersIsNamed) {
  const ProbeResults usual = probe_file(sweep(by_wire), "a.json");
  const ProbeResults slow = probe_file(sweep([](double size) { return 10 * by_wire(size); }), "b.json");
  EXPECT_THAT(fitted({usual, slow}).findings,
              Contains(HasSubstr("b.json (host b) takes 10 times as long as other files in 5 equal rows")));
}

TEST(UnlikelyRows, NetworksOfOtherNamesAreSaid) {
  const Json other = Json::array({all_reduce(1024, 60, 2), all_reduce(1 << 20, by_wire(1 << 20), 2)});
  EXPECT_THAT(fitted({probe_file(sweep(by_wire), "a.json", {{"network", "100mbit"}}),
                      probe_file(other, "b.json", {{"network", "250mbit"}})})
                  .findings,
              Contains("the files were measured on networks of different names: \"100mbit\", \"250mbit\""));
}

TEST(UnlikelyRows, AFileCountsOnce) {
  const ProbeResults once = probe_file(sweep(by_wire), "a.json");
  EXPECT_THROW(fitted({once, {"copy.json", once.document}}), InputError);
}

TEST(UnlikelyRows, AFitOfAFewRowsClaimsNothing) {
  const CalibrationProfile profile = fitted({probe_file(Json::array({all_reduce(65536, 9000)}))});
  EXPECT_THAT(profile.notes, Contains("too few rows to test how far to trust the fit: 1 row"));
  EXPECT_THAT(profile.notes, Contains("messages above 32768 bytes ask before they are sent (eager limit, the "
                                      "catalogue's)"));
  EXPECT_THAT(profile.notes, Contains("0 refits give no intervals, 10 at least do (--refits)"));
  for (const FittedConstant& constant : profile.constants)
    EXPECT_EQ(interval_text(constant), constant.rows == 0 ? "not told by these results" : "none");
}

/// Pointers of the faults that reading a file gives.
std::vector<std::string> pointers_of(const Json& document) {
  const ScratchFolder folder;
  write_file(folder / "made.json", document.dump());
  try {
    (void)read_probe_results(folder / "made.json");
  } catch (const InputError& error) {
    std::vector<std::string> out;
    for (const Fault& fault : error.faults()) out.push_back(fault.pointer);
    return out;
  }
  return {};
}

TEST(ProbeResultsFile, RowsThatCannotBeAreFaults) {
  const auto with = [](const char* key, const Json& value, const Json& environment = Json::object()) {
    Json row = all_reduce(1024, 60);
    row[key] = value;
    return probe_file(Json::array({row}), "made.json", environment).document;
  };
  EXPECT_THAT(pointers_of(with("nodes", 4)), IsEmpty());
  EXPECT_THAT(pointers_of(with("nodes", 1)), ElementsAre("/results/0/nodes"));
  EXPECT_THAT(pointers_of(with("nodes", 5)), ElementsAre("/results/0/nodes"));
  EXPECT_THAT(pointers_of(with("nodes", 4, {{"hosts", {"a", "b"}}})), ElementsAre("/results/0/nodes"));
  EXPECT_THAT(pointers_of(with("samples_us", {1e300})), ElementsAre("/results/0/samples_us/0"));
  for (const char* date : {"2199-01-01T00:00:00Z", "2026-02-30T00:00:00Z"}) {
    Json document = with("nodes", 4);
    document["date"] = date;
    EXPECT_THAT(pointers_of(document), ElementsAre("/date")) << date;
  }
}

TEST(Power, AnIdleDeviceDrawsLittle) {
  const auto of = [](double watts) {
    return fit_cluster({probe_file(Json::array({{{"kind", "power"},
                                                 {"device", "gpu0"},
                                                 {"state", "idle"},
                                                 {"samples_W", {watts}},
                                                 {"sensor", "nvidia-smi"}},
                                                {{"kind", "launch"}, {"op", "rate"}, {"samples_us", {3.1, 3.2}}}}),
                                   "made.json", Json::object(), "power")},
                       {.name = "lab", .node = "dgx-h100"}, catalog());
  };
  EXPECT_THAT(of(652.6).findings, Contains(HasSubstr("652.6 W when idle, of 700 W at most")));
  EXPECT_FALSE(of(652.6).catalogue.contains("accelerators"));
  EXPECT_THAT(of(70).findings, IsEmpty());
  EXPECT_TRUE(of(70).catalogue.contains("accelerators"));
}

}  // namespace
}  // namespace stepcast::unlikely_rows_test
