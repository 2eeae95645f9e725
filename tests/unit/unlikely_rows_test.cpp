#include "calibration/fit/cluster/unlikely_rows.hpp"

#include <fmt/format.h>
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
              Contains(HasSubstr("b.json (host b) takes 10 times as long as others in 5 equal rows")));
}

/// Rows of devices, eight unless stated: `times` of a sound one's products and copies in memory.
Json device_rows(const std::function<double(int)>& products, const std::function<double(int)>& memory,
                 int devices = 8) {
  Json rows = Json::array();
  for (int i = 0; i < devices; ++i) {
    const std::string device = fmt::format("gpu{}", i);
    for (const double edge : {1024.0, 2048.0, 4096.0, 8192.0, 16384.0}) {
      const double us = (6 + 2 * edge * edge * edge / 650e6) * products(i);
      rows.push_back({{"kind", "gemm"},
                      {"m", edge},
                      {"n", edge},
                      {"k", edge},
                      {"precision", "bf16"},
                      {"checked", true},
                      {"device", device},
                      {"samples_us", {us, us}}});
    }
    for (const double size : {1 << 20, 1 << 26, 1 << 28, 1 << 30})
      rows.push_back({{"kind", "memory"},
                      {"op", "copy"},
                      {"size_bytes", size},
                      {"moved_bytes", 2 * size},
                      {"checked", true},
                      {"device", device},
                      {"samples_us", {2 * size / 2.9e6 * (size < 1 << 28 ? 0.3 : memory(i))}}});
    for (const char* op : {"latency", "rate"})
      rows.push_back({{"kind", "launch"}, {"op", op}, {"device", device}, {"samples_us", {3.0, 3.0}}});
  }
  return rows;
}

double sound(int) { return 1; }

std::vector<std::string> findings_of_devices(const std::vector<ProbeResults>& files) {
  return fit_cluster(files, {.name = "lab", .node = "dgx-h100", .refits = 0}, catalog()).findings;
}

TEST(UnlikelyRows, ADeviceThatIsSlowerThanItsNeighboursIsNamed) {
  const auto third = [](double factor) { return [factor](int device) { return device == 3 ? factor : 1.0; }; };
  EXPECT_THAT(findings_of_devices({probe_file(device_rows(sound, sound))}), IsEmpty());
  EXPECT_THAT(findings_of_devices({probe_file(device_rows(third(1.6), third(1.6)))}),
              ElementsAre(HasSubstr("made.json (host m, gpu3) takes 1.6 times as long as others in 11 equal rows")));
  EXPECT_THAT(findings_of_devices({probe_file(device_rows(sound, third(2)))}),
              ElementsAre(HasSubstr("(host m, gpu3) takes 2 times as long as others in 2 equal memory rows")));
  std::vector<ProbeResults> files;
  const Json rows = device_rows(third(1.6), third(1.6));
  for (std::size_t i = 0; i < 8; ++i)
    files.push_back(probe_file(Json(rows.begin() + static_cast<std::ptrdiff_t>(11 * i),
                                    rows.begin() + static_cast<std::ptrdiff_t>(11 * (i + 1))),
                               fmt::format("{}.json", i)));
  EXPECT_THAT(findings_of_devices(files), ElementsAre(HasSubstr("3.json (host 3, gpu3) takes 1.6 times as long")));
}

TEST(UnlikelyRows, AHostOfSlowDevicesIsNamedOnce) {
  const auto all = [](int) { return 1.5; };
  EXPECT_THAT(findings_of_devices(
                  {probe_file(device_rows(sound, sound), "a.json"), probe_file(device_rows(all, all), "b.json")}),
              ElementsAre(HasSubstr("b.json (host b) takes 1.5 times as long as others in 88 equal rows")));
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
