#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "calibration/fit/cluster/fit_cluster.hpp"
#include "calibration/fit/cluster/rate_fit.hpp"
#include "calibration/profile/calibration_report.hpp"
#include "models/collectives/lateness.hpp"
#include "models/compute/device.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/probe_file.hpp"

namespace stepcast::calibration_test {
namespace {

using test::catalog;
using test::probe_file;
using testing::Contains;
using testing::HasSubstr;

Seconds line(const CollectivePlace& place) { return 10_us + place.size / 1_GBps; }

MeasuredCurve curve(int ranks, std::vector<double> sizes, std::vector<double> times) {
  return {"all_reduce", ranks, 1, std::move(sizes), std::move(times)};
}

TEST(CalibratedTime, TakesTheMeasuredTimeInsideOfTheRange) {
  Calibrated calibration;
  calibration.curves = {curve(4, {1024, 2048, 1048576}, {30, 40, 5000})};
  const CalibratedTime at = calibrated_time(calibration, CollectiveKind::all_reduce, {2048_B, 4, 1}, line);
  EXPECT_EQ(at.basis, CalibrationBasis::measured);
  EXPECT_NEAR(at.time.in(1_us), 40, 1e-9);
  EXPECT_NEAR(calibrated_time(calibration, CollectiveKind::all_reduce, {1536_B, 4, 1}, line).time.in(1_us), 35, 1);
}

TEST(CalibratedTime, ScalesTheModelOutsideAndBetweenNodes) {
  Calibrated calibration;
  // Twice the model on two nodes, eight times on eight.
  calibration.curves = {curve(2, {1000, 1000000}, {22, 2020}), curve(8, {1000, 1000000}, {88, 8080})};
  const auto at = [&](double size, int ranks) {
    return calibrated_time(calibration, CollectiveKind::all_reduce, {Bytes(size), ranks, 1}, line);
  };
  EXPECT_EQ(at(4e6, 2).basis, CalibrationBasis::scaled);
  EXPECT_NEAR(at(4e6, 2).time / line({Bytes(4e6), 2, 1}), 2, 1e-9);
  EXPECT_EQ(at(1000, 4).basis, CalibrationBasis::between);
  EXPECT_NEAR(at(1000, 4).time.in(1_us), 44, 1e-6);
  EXPECT_EQ(at(1000, 64).basis, CalibrationBasis::scaled);
  EXPECT_LT(at(1000, 64).time.in(1_us), 88);
  EXPECT_GT(at(1000, 64).time.in(1_us), 22);
  EXPECT_EQ(calibrated_time(calibration, CollectiveKind::broadcast, {1000_B, 2, 1}, line).basis,
            CalibrationBasis::model);
}

TEST(CalibratedTime, CountsOnTheMachineThatWasMeasuredAlone) {
  NetworkProfile network = *catalog().find<NetworkProfile>("infiniband");
  network.calibration = Calibrated{"lab", "2026-11-01", "h100-sxm-80gb", 8, 8, 400_Gbps, {}, {}, {}};
  CollectiveMachine machine = machine_of(*catalog().find<Node>("dgx-h100"), catalog());
  machine.network_profile = &network;
  EXPECT_EQ(calibration_of(machine).across != nullptr, machine.accelerator->id == "h100-sxm-80gb");
  machine.nics = 4;
  EXPECT_EQ(calibration_of(machine).across, nullptr);
  EXPECT_THAT(calibration_remarks(machine, 2),
              Contains(HasSubstr("measured on another machine (8 × h100-sxm-80gb, 8 NICs of 400 Gb/s): nothing of it "
                                 "counts")));
  network.provenance.sources["wire_share"] = "calibration lab of 2026-11-01";
  EXPECT_THAT(calibration_remarks(machine, 2), Contains(HasSubstr("its constants do (wire_share)")));
}

// Of 100 Mb/s the wire bounds even the messages that are copied on the way; of 10 Gb/s their copies do.
TEST(CalibratedHostNetwork, MovesWithTheNicsAsTheCataloguesDoes) {
  CollectiveMachine machine = machine_of(*catalog().find<Node>("rental-epyc-7502p-128gb"), catalog());
  machine.network = NetworkKind::ethernet_tcp;
  machine.nics = 1;
  machine.nic_bandwidth = 10_Gbps;
  NetworkProfile network = *network_profile_of(machine.network, true, catalog());
  Calibrated measured{"lab", "2026-11-01", "", 1, 1, 0.1_Gbps, {}, {}, {}};
  measured.host = message_costs_of(host_network_of(machine.network, 0.1_Gbps, 1, HostLibrary::open_mpi_4_1),
                                   HostLibrary::open_mpi_4_1);
  measured.host->eager = measured.host->eager * 1.02;
  network.calibration = measured;
  machine.network_profile = &network;
  const HostNetwork bare = host_network_of(machine.network, 10_Gbps, 1, HostLibrary::open_mpi_4_1);
  const std::optional<HostNetwork> found = calibrated_host_network(machine, HostLibrary::open_mpi_4_1);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->eager / bare.eager, 1.02, 1e-9);
  EXPECT_NEAR(found->rail / bare.rail, 1, 1e-9);
  EXPECT_EQ(measured_host_library(machine), HostLibrary::open_mpi_4_1);
  EXPECT_FALSE(calibrated_host_network(machine, HostLibrary::gloo));
  EXPECT_THAT(calibration_remarks(machine, 2), Contains(HasSubstr("its costs of openmpi-4.1's messages do")));
}

/// Rows of a cluster whose every constant is known.
std::vector<ClusterRow> planted_rows(const ClusterModel& truth, const std::vector<int>& nodes) {
  std::vector<ClusterRow> rows;
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::send_recv})
    for (const int count : nodes)
      for (double size = 64; size < 1e8; size *= 4) {
        ClusterRow row;
        row.kind = kind;
        row.place = {Bytes(size), count, 1};
        rows.push_back(row);
      }
  std::vector<double> times;
  truth.predict(rows, times);
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int s = 0; s < 9; ++s)
      rows[i].samples_us.push_back(times[i] * (1 + 0.02 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5)));
    summarise(rows[i]);
  }
  return rows;
}

ClusterModel processors() {
  static const Node& node = *catalog().find<Node>("rental-epyc-7502p-128gb");
  CollectiveMachine machine = machine_of(node, catalog());
  machine.nic_bandwidth = 10_Gbps;
  return cluster_model(machine, HostLibrary::open_mpi_4_1);
}

TEST(FitCollectives, FindsPlantedConstantsOfProcessors) {
  ClusterModel truth = processors();
  truth.host->latency = 12_us;
  truth.host->rail = 0.9_GBps;
  truth.host->stream = 0.9_GBps;
  truth.host->node = 1.0_GBps;
  const std::vector<ClusterRow> rows = planted_rows(truth, {2, 4, 8});
  const ClusterFit fit = fit_collectives(processors(), rows);
  EXPECT_NEAR(fit.model.host->rail.in(1_GBps), 0.9, 0.09);
  std::vector<double> times;
  fit.model.predict(rows, times);
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += std::abs(times[i] / rows[i].median_us - 1);
  EXPECT_LT(sum / static_cast<double>(rows.size()), 0.05);
  // A count of nodes that was never measured.
  const ModelTime of_truth = truth.time_of(CollectiveKind::all_reduce);
  for (const double size : {1024.0, 65536.0, 4194304.0}) {
    ClusterRow row;
    row.place = {Bytes(size), 16, 1};
    EXPECT_NEAR(fit.time(row).time / of_truth(row.place), 1, 0.1) << size;
  }
}

TEST(FitCollectives, LeavesGrowthAloneWithOneCountOfNodes) {
  const std::vector<ClusterRow> rows = planted_rows(processors(), {4});
  for (const ClusterConstant& constant : fit_collectives(processors(), rows).constants)
    EXPECT_FALSE(constant.grows) << constant.key;
}

TEST(FitCollectives, IsTheSameEachTime) {
  const std::vector<ClusterRow> rows = planted_rows(processors(), {2, 4});
  const ClusterFit once = fit_collectives(processors(), rows), again = fit_collectives(processors(), rows);
  EXPECT_EQ(once.values, again.values);
  const std::vector<FitInterval> a = bootstrap(once, rows, 3), b = bootstrap(again, rows, 3);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].low, b[i].low);
}

TEST(Lateness, OfTheLatestOfSeveralRanks) {
  EXPECT_NEAR(expected_latest(6_us, 3).in(1_us), 6 + 3 + 2, 1e-9);
  EXPECT_NEAR(latest_quantile(1_us, 1, 0.5).in(1_us), std::log(2.0), 1e-9);
  EXPECT_NEAR(rank_lateness(expected_latest(6_us, 5) - latest_quantile(6_us, 5, 0.1), 5).in(1_us), 6, 1e-9);
}

TEST(ClusterRows, FindTheLatenessOfARankInThatOfCalls) {
  std::mt19937_64 random(11);
  const auto late = [&] { return -10 * std::log((static_cast<double>(random() >> 11) + 0.5) * 0x1p-53); };
  std::vector<ClusterRow> rows;
  for (const int ranks : {2, 8, 64})
    for (int size = 64; size <= 65536; size *= 4) {
      ClusterRow row;
      row.place = {Bytes(size), ranks, 1};
      for (int s = 0; s < 200; ++s) {
        double latest = 0;
        for (int rank = 0; rank < ranks; ++rank) latest = std::max(latest, late());
        row.samples_us.push_back(40 + latest);
      }
      summarise(row);
      rows.push_back(row);
    }
  EXPECT_NEAR(jitter_us(rows), 10, 0.7);
}

TEST(ClusterRows, FindTheSameLatenessInMeansOfSeveralCalls) {
  std::mt19937_64 random(11);
  const auto late = [&] { return -20 * std::log((static_cast<double>(random() >> 11) + 0.5) * 0x1p-53); };
  for (const int calls : {2, 6, 20, 100}) {
    std::vector<ClusterRow> rows;
    for (const int ranks : {2, 4, 16}) {
      ClusterRow row;
      row.place = {Bytes(1024), ranks, 1};
      row.calls_per_sample = calls;
      for (int s = 0; s < 3000; ++s) {
        double sum = 0;
        for (int call = 0; call < calls; ++call) {
          double latest = 0;
          for (int rank = 0; rank < ranks; ++rank) latest = std::max(latest, late());
          sum += latest;
        }
        row.samples_us.push_back(40 + sum / calls);
      }
      summarise(row);
      rows.push_back(row);
    }
    EXPECT_NEAR(jitter_us(rows), 20, 1.5) << calls;
  }
}

TEST(ClusterRows, EachCollectiveKeepsACurveInTheWidthThatItWasMeasuredIn) {
  std::vector<ClusterRow> rows;
  for (const auto& [kind, width] : {std::pair(CollectiveKind::all_reduce, ElementWidth::usual),
                                    {CollectiveKind::all_reduce, ElementWidth::narrow},
                                    {CollectiveKind::all_gather, ElementWidth::narrow},
                                    {CollectiveKind::broadcast, ElementWidth::wide}}) {
    ClusterRow row;
    row.kind = kind;
    row.width = width;
    row.place = {Bytes(1024), 4, 1};
    row.samples_us = {width == ElementWidth::usual ? 10.0 : 20.0};
    summarise(row);
    rows.push_back(row);
  }
  const std::vector<MeasuredCurve> curves = curves_of(rows, true);
  ASSERT_EQ(curves.size(), 3U);
  EXPECT_EQ(curves[0].time_us, std::vector<double>{10}) << "32 bit first";
  EXPECT_EQ(curves[1].op, "all_gather");
  EXPECT_EQ(curves[2].op, "broadcast");
}

TEST(CalibratedTime, WaitsForTheLatestOfMoreRanksThanWereMeasured) {
  Calibrated calibration;
  calibration.curves = {curve(4, {1000, 1000000}, {11, 1010})};
  const auto time = [&](int ranks) {
    return calibrated_time(calibration, CollectiveKind::all_reduce, {1000_B, ranks, 1}, line).time;
  };
  const Seconds measured = time(4), larger = time(16), smaller = time(2);
  calibration.jitter = 5_us;
  EXPECT_EQ(time(4), measured);
  EXPECT_EQ(time(2), smaller);
  EXPECT_NEAR((time(16) - larger).in(1_us), (expected_latest(5_us, 16) - expected_latest(5_us, 4)).in(1_us), 1e-9);
}

TEST(ClusterRows, NameASpikeButNoStep) {
  std::vector<ClusterRow> rows;
  const std::vector<double> times{10, 11, 40, 13, 30, 31, 32};
  for (std::size_t i = 0; i < times.size(); ++i) {
    ClusterRow row;
    row.place = {Bytes(std::pow(2, 10 + static_cast<double>(i))), 2, 1};
    row.samples_us = {times[i]};
    summarise(row);
    rows.push_back(row);
  }
  const std::vector<Spike> spikes = spikes_of(rows);
  ASSERT_EQ(spikes.size(), 1u);
  EXPECT_EQ(spikes.front().row, 2u);
}

TEST(FitCluster, FitsDevicesAndStorage) {
  Json rows = Json::array();
  for (const int n : {1024, 2048, 4096, 8192, 3072, 6144})
    rows.push_back({{"kind", "gemm"},
                    {"m", n},
                    {"n", n},
                    {"k", n},
                    {"precision", "bf16"},
                    {"samples_us", {2e-6 * n * n * n / 600 + 5}},
                    {"checked", true}});
  rows.push_back({{"kind", "memory"},
                  {"op", "copy"},
                  {"size_bytes", 1073741824},
                  {"moved_bytes", 2147483648},
                  {"samples_us", {750.0}},
                  {"checked", true}});
  rows.push_back({{"kind", "storage"}, {"pattern", "sequential_read"}, {"bandwidth_MBps", 3100.0}});
  const CalibrationProfile profile =
      fit_cluster({probe_file(rows, "a.json")}, {.name = "lab", .node = "dgx-h100"}, catalog());
  EXPECT_EQ(profile.catalogue.at("storage").count("lab"), 1u);
  EXPECT_EQ(profile.catalogue.at("operator-profiles").size(), 1u);
  EXPECT_EQ(profile.catalogue.at("compute-profiles").size(), 1u);
  for (const MeasuredFigure& figure : profile.figures) {
    if (figure.group != "gemm" || figure.name.find("8192") == std::string::npos) continue;
    EXPECT_NEAR(figure.model / figure.measured, 1, 0.1) << figure.name;
  }
  EXPECT_THAT(calibration_html(profile), HasSubstr("3100 MB/s"));
}

TEST(FitCluster, EntriesAreReadableAndHoldNoFiguresWithoutSource) {
  Json rows = Json::array();
  rows.push_back({{"kind", "launch"}, {"op", "rate"}, {"samples_us", {3.1, 3.2}}});
  rows.push_back({{"kind", "power"}, {"device", "gpu0"}, {"state", "idle"}, {"samples_W", {100, 110, 120}}});
  const CalibrationProfile profile =
      fit_cluster({probe_file(rows, "a.json")}, {.name = "lab", .node = "mi300x-platform-8"}, catalog());
  EXPECT_NO_THROW(require_readable(profile, "lab.calib.json"));
  const Json& device = profile.catalogue.at("accelerators").at("mi300x");
  EXPECT_EQ(device["idle_W"], 110);
  EXPECT_THAT(device["sources"]["idle_W"].get<std::string>(), HasSubstr("calibration lab"));
  EXPECT_FALSE(profile.catalogue.at("compute-profiles").at("amd-cdna3").contains("convolution_full_width"));
  CalibrationProfile misnamed = profile;
  misnamed.catalogue["accelerators"]["mi300x"]["sources"]["idle_power_W"] = "no key of an accelerator";
  EXPECT_THROW(require_readable(misnamed, "lab.calib.json"), InputError);
}

std::vector<std::string> pointers_of(const Json& calibration) {
  const ScratchFolder folder;
  write_file(folder / "a.calib.json", calibration.dump());
  std::vector<std::string> out;
  try {
    (void)read_calibration(folder / "a.calib.json");
  } catch (const InputError& error) {
    for (const Fault& fault : error.faults()) out.push_back(fault.pointer);
  }
  return out;
}

TEST(CalibrationFile, SaysNothingThatNothingReads) {
  using testing::ElementsAre;
  const Json plain{{"format_version", 1},
                   {"name", "lab"},
                   {"created", "2026-11-20"},
                   {"machine", Json::object()},
                   {"catalogue", Json::object()}};
  EXPECT_THAT(pointers_of(plain), ElementsAre());
  Json odd = plain;
  odd["catalogue"]["framework-constants"] = {{"nonsense", 17}, {"megatron-lm", {{"step_overhead", 1}}}};
  EXPECT_THAT(pointers_of(odd), ElementsAre("/catalogue/framework-constants/megatron-lm/step_overhead",
                                            "/catalogue/framework-constants/nonsense"));
  // What a framework offers is its profile's to say; a fit moves five constants, within the profile's bounds.
  odd = plain;
  odd["catalogue"]["framework-constants"]["megatron-lm"] = {{"shardings", Json::array()},
                                                            {"id", "other"},
                                                            {"expert_dispatches", {"by_post"}},
                                                            {"memory_efficiency", 0.1},
                                                            {"step_overhead_ms", 7}};
  const std::string at = "/catalogue/framework-constants/megatron-lm/";
  EXPECT_THAT(pointers_of(odd), testing::UnorderedElementsAre(at + "shardings", at + "id", at + "expert_dispatches",
                                                              at + "memory_efficiency"));
  odd["catalogue"]["framework-constants"]["megatron-lm"] = 3;
  EXPECT_THAT(pointers_of(odd), ElementsAre("/catalogue/framework-constants/megatron-lm"));
  odd = plain;
  odd["notes"] = {"red \x1b[31m"};
  EXPECT_THAT(pointers_of(odd), ElementsAre("/notes/0"));
  // A time of 0 has no place on the report's logarithmic axes.
  odd = plain;
  odd["points"] = {{{"op", "all_reduce"}, {"size_bytes", 1024}, {"median_us", 10}, {"low_us", 0}, {"high_us", 12}}};
  EXPECT_THAT(pointers_of(odd), ElementsAre("/points/0/low_us"));
}

TEST(FitCluster, LongSamplesTellWhatIsSustainedAndBurstsDoNot) {
  Json rows = Json::array();
  for (const int n : {4096, 8192, 16384})
    for (const bool sustained : {false, true}) {
      // 800 TFLOP/s for a millisecond; 0.6 of the peak, 989.4, for half a second.
      const double us = 2e-6 * n * n * n / (sustained ? 0.6 * 989.4 : 800);
      rows.push_back({{"kind", "gemm"},
                      {"m", n},
                      {"n", n},
                      {"k", n},
                      {"precision", "bf16"},
                      {"samples_us", {us, us, us}},
                      {"calls_per_sample", sustained ? static_cast<int>(5e5 / us) : 1},
                      {"checked", true}});
    }
  const CalibrationProfile profile =
      fit_cluster({probe_file(rows, "a.json")}, {.name = "lab", .node = "dgx-h100"}, catalog());
  const Json shares = profile.catalogue.at("compute-profiles").at("nvidia-hopper").at("gemm_sustained_share");
  EXPECT_NEAR(shares.at("bf16").get<double>(), 0.6, 1e-3);
  EXPECT_NEAR(shares.at("fp16").get<double>(), 0.6, 1e-3) << "either kind of 16 bit is multiplied at one rate";
  const auto burst = std::find_if(profile.constants.begin(), profile.constants.end(),
                                  [](const FittedConstant& c) { return c.key == "product.burst_share.bf16"; });
  ASSERT_NE(burst, profile.constants.end());
  EXPECT_EQ(burst->rows, 3U);
  EXPECT_GT(burst->value, 0.75);
}

TEST(FitCluster, FindsPlantedAttention) {
  // Rows as an H100 with these constants would give them: the fit starts from other ones.
  const Accelerator& part = *catalog().find<Accelerator>("h100-sxm-80gb");
  const ComputeProfile& family = *catalog().find<ComputeProfile>(part.family);
  Device device;
  device.peak_wide = part.peak(Precision::fp16);
  device.kernel_floor = family.kernel_floor;
  device.memory_bandwidth = part.memory_bandwidth * family.memory_share;
  device.attention_forward_share = 0.55;
  device.attention_backward_ratio = 0.6;
  device.attention_half_sequence = 900;
  device.attention_head64_factor = 0.8;
  Json rows = Json::array();
  for (const int tokens : {512, 1024, 4096, 16384})
    for (const int size : {64, 128})
      for (const bool causal : {false, true})
        for (const bool backward : {false, true}) {
          Operator work;
          work.kind = OperatorKind::attention;
          work.m = work.n = tokens;
          work.k = size;
          work.batch = 16384.0 / tokens * 32;
          work.causal = causal;
          work.backward = backward;
          work.flops = Flops((backward ? 10 : 4) * work.batch * tokens * tokens * size * (causal ? 0.5 : 1));
          work.bytes = Bytes(2.0 * 16384 * size * (backward ? 4 * 32 + 4 * 8 : 2 * 32 + 2 * 8));
          rows.push_back({{"kind", "attention"},
                          {"batch", 16384 / tokens},
                          {"heads", 32},
                          {"kv_heads", 8},
                          {"seq_len", tokens},
                          {"head_dim", size},
                          {"causal", causal},
                          {"pass", backward ? "backward" : "forward"},
                          {"precision", "bf16"},
                          {"samples_us", {operator_time(work, device).in(1_us)}},
                          {"checked", true}});
        }
  const CalibrationProfile profile =
      fit_cluster({probe_file(rows, "a.json")}, {.name = "lab", .node = "dgx-h100"}, catalog());
  const Json& fitted = profile.catalogue.at("compute-profiles").at(part.family);
  EXPECT_NEAR(fitted["attention_forward_share"]["native"].get<double>(), 0.55, 0.02);
  EXPECT_NEAR(fitted["attention_backward_ratio"].get<double>(), 0.6, 0.02);
  EXPECT_NEAR(fitted["attention_half_sequence"].get<double>(), 900, 50);
  EXPECT_NEAR(fitted["attention_head64_factor"].get<double>(), 0.8, 0.03);
  ASSERT_EQ(profile.held_out.size(), 1U);
  EXPECT_LT(profile.held_out.front().mean_percent, 3);
}

TEST(FitRate, TakesQuantilesOfMediansWithAnIntervalAroundThem) {
  const std::vector<RowSamples> rows{{90, 100, 110}, {190, 200, 210}, {280, 300, 320}};
  EXPECT_DOUBLE_EQ(fit_rate(rows, 1).value, 300);
  EXPECT_DOUBLE_EQ(fit_rate(rows, 0.5).value, 200);
  for (const double quantile : {0.0, 0.5, 0.9, 1.0}) {
    const FittedRate fit = fit_rate(rows, quantile);
    EXPECT_LE(fit.low, fit.value);
    EXPECT_GE(fit.high, fit.value);
    EXPECT_LT(fit.low, fit.high);
    EXPECT_EQ(fit_rate(rows, quantile).low, fit.low) << "the same rows give the same interval";
  }
  EXPECT_EQ(fit_rate({{5}}, 1).low, 5) << "one sample has no spread";
  EXPECT_EQ(fit_rate({}, 1).value, 0);
}

TEST(FitCluster, RatesOfMemoryLinksAndStorageHaveIntervals) {
  Json rows = Json::array();
  for (const double us : {740.0, 750.0, 770.0})
    rows.push_back({{"kind", "memory"},
                    {"op", "copy"},
                    {"size_bytes", 1073741824},
                    {"moved_bytes", 2147483648},
                    {"samples_us", {us - 9, us, us + 9}},
                    {"checked", true}});
  for (const double us : {1340.0, 1360.0})
    rows.push_back({{"kind", "copy"},
                    {"op", "host_to_device"},
                    {"size_bytes", 67108864},
                    {"pinned", true},
                    {"samples_us", {us - 20, us, us + 20}},
                    {"checked", true}});
  rows.push_back({{"kind", "storage"},
                  {"pattern", "sequential_read"},
                  {"bandwidth_MBps", 3000.0},
                  {"bandwidth_samples_MBps", {2700.0, 2900.0, 3100.0, 3300.0}}});
  const CalibrationProfile profile =
      fit_cluster({probe_file(rows, "a.json")}, {.name = "lab", .node = "dgx-h100"}, catalog());
  std::set<std::string> found;
  for (const FittedConstant& constant : profile.constants) {
    found.insert(constant.key);
    EXPECT_LT(constant.low, constant.high) << constant.key;
    EXPECT_LE(constant.low, constant.value) << constant.key;
    EXPECT_GE(constant.high, constant.value) << constant.key;
  }
  EXPECT_EQ(found, (std::set<std::string>{"host_link_share", "memory_share", "read_GBps"}));
  EXPECT_NEAR(profile.catalogue.at("storage").at("lab")["read_GBps"].get<double>(), 3, 1e-9);
}

}  // namespace
}  // namespace stepcast::calibration_test
