#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_metrics_test {
namespace {

using test::import_measured;
using testing::HasSubstr;

TEST(ExporterMetrics, NvidiaSmiNamesGpusByUuidAndTheirIndexApart) {
  const std::string uuids =
      "nvidia_smi_gpu_info{name=\"NVIDIA H100 80GB HBM3\",uuid=\"b\"} 1\n"
      "nvidia_smi_index{uuid=\"a\"} 1\nnvidia_smi_index{uuid=\"b\"} 0\n";
  const std::string readings =
      "nvidia_smi_clocks_current_sm_clock_hz{uuid=\"a\"} 1.98e+09\n"
      "nvidia_smi_power_draw_average_watts{uuid=\"a\"} 650\n"
      "nvidia_smi_power_draw_watts{uuid=\"a\"} 671.5\nnvidia_smi_power_draw_watts{uuid=\"b\"} 71.5\n"
      "nvidia_smi_power_default_limit_watts{uuid=\"a\"} 700\nnvidia_smi_enforced_power_limit_watts{uuid=\"a\"} 690\n"
      "nvidia_smi_temperature_gpu{uuid=\"a\"} 61\nnvidia_smi_utilization_gpu_ratio{uuid=\"a\"} 0.97\n";
  const auto import = import_measured(read_prometheus, uuids + readings);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[0]["device"], "gpu1");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({671.5}));
  EXPECT_EQ(import.rows[0]["power_limit_W"], 690);
  EXPECT_EQ(import.rows[0]["utilization_pct"], Json::array({97.0}));
  EXPECT_NEAR(import.rows[0]["sm_clock_MHz"][0].get<double>(), 1980, 1e-9);
  EXPECT_EQ(import.rows[1]["device"], "gpu0");
  const auto unnumbered = import_measured(read_prometheus, readings);
  EXPECT_EQ(unnumbered.rows[1]["device"], "gpu1");
  EXPECT_THAT(unnumbered.warnings.dump(), HasSubstr("nothing tells an index: b is taken as gpu1"));
}

TEST(ExporterMetrics, UnitsAreThoseOfTheMetric) {
  const auto watts = [](const std::string& line) {
    const auto import = import_measured(read_prometheus, "# TYPE x gauge\n" + line + "\n");
    EXPECT_EQ(import.faults, "") << line;
    EXPECT_EQ(import.rows.size(), 1U) << line;
    return import.rows[0]["samples_W"][0].get<double>();
  };
  EXPECT_DOUBLE_EQ(watts("nvidia_gpu_power_usage_milliwatts{minor_number=\"0\",name=\"Tesla P4\"} 65300"), 65.3);
  EXPECT_NEAR(watts("amd_gpu_power{gpu_power=\"0\",productname=\"Instinct\"} 2.12e+08"), 212, 1e-9);
  EXPECT_DOUBLE_EQ(watts("amd_gpu_package_power{gpu_id=\"0\",hostname=\"n1\"} 748"), 748);
  EXPECT_DOUBLE_EQ(watts("GPU_PACKAGE_POWER{gpu_id=\"0\"} 748"), 748);
  EXPECT_DOUBLE_EQ(watts("ipmi_dcmi_power_consumption_current_watts 6120"), 6120);
  EXPECT_DOUBLE_EQ(watts("habana_power_mW{gpu=\"0\"} 350000"), 350);
}

TEST(ExporterMetrics, OfAmdsPartitionsTheFirstCounts) {
  const std::string labels = R"(card_model="Instinct MI300X",hostname="n1",serial_number="S0")";
  const auto import = import_measured(
      read_prometheus, "# TYPE gpu_package_power gauge\ngpu_package_power{gpu_id=\"0\",gpu_partition_id=\"0\"," +
                           labels + "} 748\ngpu_package_power{gpu_id=\"1\",gpu_partition_id=\"1\"," + labels +
                           "} 0\ngpu_clock{clock_index=\"0\",clock_type=\"GPU_CLOCK_TYPE_SYSTEM\",gpu_id=\"0\"," +
                           labels +
                           "} 1533\ngpu_clock{clock_index=\"0\",clock_type=\"GPU_CLOCK_TYPE_MEMORY\",gpu_id=\"0\"," +
                           labels + "} 1300\n");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["device"], "gpu0@n1");
  EXPECT_EQ(import.rows[0]["sm_clock_MHz"], Json::array({1533.0}));
}

TEST(ExporterMetrics, SensorsOfHostsAreNoGpus) {
  const auto import = import_measured(
      read_prometheus,
      "node_hwmon_chip_names{chip=\"lnxsybus:00_acpi000d:00\",chip_name=\"power_meter\"} 1\n"
      "node_hwmon_power_average_watt{chip=\"lnxsybus:00_acpi000d:00\",sensor=\"power1\"} 394\n"
      "node_hwmon_power_average_interval_max_seconds{chip=\"lnxsybus:00_acpi000d:00\",sensor=\"power1\"} 300\n"
      "node_hwmon_power_cap_watt{chip=\"lnxsybus:00_acpi000d:00\",sensor=\"power1\"} 900\n"
      "ipmi_power_state{id=\"90\",name=\"Pwr Consumption\"} 0\n"
      "ipmi_power_watts{id=\"90\",name=\"Pwr Consumption\"} 410\n"
      "ipmi_dcmi_power_consumption_current_watts 402\n"
      "node_hwmon_sensor_label{chip=\"lnxsybus:00_acpi000d:00\",label=\"total\",sensor=\"power1\"} 1\n");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 3U);
  EXPECT_EQ(import.rows[0]["device"], "power_meter/total");
  EXPECT_EQ(import.rows[1]["device"], "Pwr Consumption");
  EXPECT_EQ(import.rows[2]["device"], "node");
}

TEST(ExporterMetrics, OthersAreNamed) {
  const auto import = import_measured(read_prometheus, "# TYPE node_load1 gauge\nnode_load1 3\n");
  EXPECT_THAT(import.faults, HasSubstr("nvidia_smi_power_draw_watts"));
  EXPECT_THAT(import.faults, HasSubstr("found node_load1"));
  EXPECT_THAT(import_measured(read_prometheus, "# TYPE x gauge\nrack_power_watts{rack=\"7\"} 31000\n").warnings.dump(),
              HasSubstr("rack_power_watts is taken for power drawn"));
}

TEST(ExporterMetrics, OfSeveralMetricsOfPowerOneIsRead) {
  const auto import = import_measured(read_dcgm,
                                      "DCGM_FI_DEV_POWER_USAGE_INSTANT{gpu=\"0\"} 500\n"
                                      "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 480\n");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({480.0}));
}

TEST(ExporterMetrics, ACutLastLineIsLeftOut) {
  const auto import = import_measured(read_dcgm, "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 500\nDCGM_FI_DEV_POW");
  EXPECT_EQ(import.faults, "");
  EXPECT_THAT(import.warnings.dump(), HasSubstr("the last line is cut"));
}

constexpr const char* kJoined =
    "\"Time\",\"{__name__=\"\"DCGM_FI_DEV_POWER_USAGE\"\", Hostname=\"\"n1\"\", gpu=\"\"0\"\"}\","
    "\"{__name__=\"\"DCGM_FI_DEV_POWER_USAGE\"\", Hostname=\"\"n2\"\", gpu=\"\"0\"\"}\"\n"
    "1718099000000,512.3,71\n1718099015000,514.3,\n1718099030000,516.3,NaN\n";

TEST(Grafana, SeriesJoinedByTime) {
  const auto import = import_measured(read_prometheus, kJoined);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[0]["device"], "gpu0@n1");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({512.3, 514.3, 516.3}));
  EXPECT_EQ(import.rows[0]["sample_interval_ms"], 15000);
  EXPECT_EQ(import.rows[1]["samples_W"], Json::array({71.0}));
  EXPECT_EQ(import.date, "2024-06-11T09:43:20Z");
}

TEST(Grafana, LegendsWithUnitsInCells) {
  const auto import =
      import_measured(read_prometheus,
                      "sep=,\n\"Time\",\"GPU 0\",\"n2 - GPU 1\",\"GPU 0 temperature\"\n"
                      "2024-05-01 10:00:00,412 W,1.02 kW,55 °C\n2024-05-01 10:00:15,414 W,980 W,56 °C\n");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[0]["device"], "gpu0");
  EXPECT_EQ(import.rows[0]["temperature_C"], Json::array({55.0, 56.0}));
  EXPECT_EQ(import.rows[1]["device"], "gpu1@n2");
  EXPECT_EQ(import.rows[1]["samples_W"], Json::array({1020.0, 980.0}));
}

TEST(Grafana, TitleOrOptionSaysWhatIsShown) {
  const std::string text = "Time,0,1\n2024-05-01 10:00:00,412,71\n";
  EXPECT_THAT(import_measured(read_prometheus, text, {}, "panel.csv").faults, HasSubstr("--metric"));
  EXPECT_EQ(import_measured(read_prometheus, text, {}, "GPU Power Usage-data.csv").rows[1]["device"], "gpu1");
  const auto milli = import_measured(read_prometheus, text, {.metric = "nvidia_gpu_power_usage_milliwatts"}, "p.csv");
  EXPECT_DOUBLE_EQ(milli.rows[0]["samples_W"][0].get<double>(), 0.412);
}

TEST(Grafana, SeriesInCells) {
  for (const char* text : {"\"Series\";\"Time\";\"Value\"\nGPU 0;2024-05-01T10:00:00+02:00;412\n"
                           "GPU 1;2024-05-01T10:00:00+02:00;71\n",
                           "Time,__name__,gpu,Value\n2024-05-01T08:00:00Z,DCGM_FI_DEV_POWER_USAGE,0,412\n"
                           "2024-05-01T08:00:00Z,DCGM_FI_DEV_POWER_USAGE,1,71\n"}) {
    const auto import = import_measured(read_prometheus, text, {}, "power.csv");
    EXPECT_EQ(import.faults, "") << text;
    ASSERT_EQ(import.rows.size(), 2U) << text;
    EXPECT_EQ(import.rows[1]["device"], "gpu1");
    EXPECT_EQ(import.rows[1]["samples_W"], Json::array({71.0}));
    EXPECT_EQ(import.date, "2024-05-01T08:00:00Z");
  }
}

TEST(Grafana, ColumnsOfOneNameKeepApart) {
  const auto import = import_measured(read_prometheus, "Time,GPU 0,GPU 0\n2024-05-01 10:00:00,412 W,71 W\n");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_THAT(import.warnings.dump(), HasSubstr("several columns are called"));
}

TEST(Grafana, CutAndUnevenLines) {
  const std::string whole = kJoined;
  const auto cut = import_measured(read_prometheus, whole.substr(0, whole.rfind("516")));
  EXPECT_EQ(cut.faults, "");
  EXPECT_EQ(cut.rows[0]["samples_W"], Json::array({512.3, 514.3}));
  EXPECT_THAT(import_measured(read_prometheus, "Time,0,1\n5,3\n6,3,4\n").faults, HasSubstr("line 2: has 2 cells"));
  EXPECT_THAT(import_measured(read_prometheus, "Time,GPU 0\n").faults, HasSubstr("no reading of power"));
}

TEST(Grafana, CommasUnitsAndWordsInLegends) {
  const auto german = import_measured(read_prometheus, "Time;GPU 0\n2024-05-01 10:00:00;412,5 W\n");
  EXPECT_EQ(german.faults, "");
  EXPECT_EQ(german.rows[0]["samples_W"], Json::array({412.5}));
  const auto words =
      import_measured(read_prometheus, "Time,GPU 0 (W),GPU Power - n1 gpu 3\n2024-05-01 10:00:00,\"1,012\",412\n");
  EXPECT_EQ(words.faults, "");
  EXPECT_EQ(words.rows[0]["device"], "gpu0");
  EXPECT_EQ(words.rows[0]["samples_W"], Json::array({1012.0}));
  EXPECT_EQ(words.rows[1]["device"], "gpu3@n1");
}

TEST(Prometheus, EmptyFilesAndOtherJson) {
  EXPECT_THAT(import_measured(read_prometheus, "").faults, HasSubstr("is empty"));
  EXPECT_THAT(import_measured(read_prometheus, R"({"metric": {}, "values": [1], "timestamps": [1]})").faults,
              HasSubstr("/data/result: missing"));
  const auto numbers =
      import_measured(read_prometheus,
                      R"([{"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "1"}, "values": [[1.5, 512.5]]}])");
  EXPECT_EQ(numbers.rows[0]["samples_W"], Json::array({512.5}));
}

}  // namespace
}  // namespace stepcast::import_metrics_test
