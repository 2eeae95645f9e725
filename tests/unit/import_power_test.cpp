#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_power_test {
namespace {

using test::import_measured;
using testing::HasSubstr;

TEST(NvidiaSmi, LimitsAreNoPowerDrawn) {
  const auto import = import_measured(read_nvidia_smi,
                                      "index, power.management, power.draw [W], power.limit [W], power.max_limit [W], "
                                      "power.min_limit [W], power.default_limit [W]\n"
                                      "0, Enabled, 312.34 W, 650.00 W, 700.00 W, 200.00 W, 700.00 W\n");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({312.34}));
  EXPECT_EQ(import.rows[0]["power_limit_W"], 650);
  EXPECT_THAT(import_measured(read_nvidia_smi, "index, power.max_limit [W]\n0, 700.00 W\n").faults,
              HasSubstr("no column of power"));
}

TEST(NvidiaSmi, OfSeveralColumnsOfPowerOneIsRead) {
  const auto import =
      import_measured(read_nvidia_smi,
                      "index, power.draw.average [W], power.draw.instant [W], module.power.draw.instant "
                      "[W]\n0, 500.00 W, 512.34 W, 900.00 W\n");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({512.34}));
  EXPECT_THAT(import.warnings.dump(), HasSubstr("power.draw.instant"));
}

TEST(NvidiaSmi, RowsWithoutAReadingAreSaid) {
  const auto import =
      import_measured(read_nvidia_smi, "index, power.draw [W]\n0, [N/A]\n0, 70.1 W\n0, [Not Supported]\n");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({70.1}));
  EXPECT_THAT(import.warnings.dump(), HasSubstr("2 rows without a reading of power left out"));
}

TEST(NvidiaSmi, GpusWithoutAnIndexKeepApart) {
  for (const char* column : {"pci.bus_id", "uuid", "gpu_bus_id"}) {
    const auto import = import_measured(read_nvidia_smi, std::string("timestamp, name, ") + column +
                                                             ", power.draw [W]\n"
                                                             "2024/06/11 10:00:00.123, NVIDIA H100, A, 612.34 W\n"
                                                             "2024/06/11 10:00:00.125, NVIDIA H100, B, 112.34 W\n"
                                                             "2024/06/11 10:00:05.123, NVIDIA H100, A, 622.34 W\n"
                                                             "2024/06/11 10:00:05.125, NVIDIA H100, B, 113.34 W\n");
    EXPECT_EQ(import.faults, "");
    ASSERT_EQ(import.rows.size(), 2U) << column;
    EXPECT_EQ(import.rows[1]["device"], "gpu1");
    EXPECT_EQ(import.rows[1]["samples_W"], Json::array({112.34, 113.34}));
    EXPECT_THAT(import.warnings.dump(), HasSubstr("B is taken as gpu1"));
  }
  const auto nameless = import_measured(read_nvidia_smi, "power.draw [W]\n71.20 W\n");
  EXPECT_THAT(nameless.warnings.dump(), HasSubstr("no column tells which GPU"));
}

std::string answer(const std::string& metric, const std::string& values) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{)" + metric +
         R"("gpu":"0"},"values":[)" + values + "]}]}}";
}

TEST(Prometheus, ValuesThatAreNoNumbersAreLeftOut) {
  const auto import = import_measured(read_prometheus, answer(R"("__name__":"DCGM_FI_DEV_POWER_USAGE",)",
                                                              R"([1718099000,"512.3"],[1718099015,"NaN"])"));
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({512.3}));
  EXPECT_THAT(import.warnings.dump(), HasSubstr("no numbers (NaN, Inf) were left out: 1"));
}

TEST(Prometheus, SeriesWithoutANameNeedOne) {
  const std::string average = answer("", R"([1718099000,"512.3"])");
  EXPECT_THAT(import_measured(read_prometheus, average).faults, HasSubstr("--metric DCGM_FI_DEV_POWER_USAGE"));
  const auto named = import_measured(read_prometheus, average, {.metric = "DCGM_FI_DEV_POWER_USAGE"});
  EXPECT_EQ(named.faults, "");
  EXPECT_EQ(named.rows[0]["device"], "gpu0");
  EXPECT_THAT(import_measured(read_prometheus, answer(R"("__name__":"nvidia_power",)", "")).faults,
              HasSubstr("found nvidia_power"));
}

TEST(Ipmi, ReadingsOfDcmiTellTheirDate) {
  const auto import = import_measured(read_ipmi,
                                      "    Instantaneous power reading:                   412 Watts\n"
                                      "    IPMI timestamp:                           Thu Nov 12 01:38:12 2026\n");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.date, "2026-11-12T01:38:12Z");
}

TEST(Ipmi, ListsOfSensors) {
  for (const char* text :
       {"PSU1_Input_Power,3100,Watts,ok\nTotal_Power,6100,Watts,ok\nPSU3,,Watts,ns\nCPU1_Temp,55,degrees C,ok\n",
        "ID,Name,Type,Reading,Units,Event\n138,PSU1_Input_Power,Current,3100.00,W,'OK'\n"
        "139,Total_Power,Power Supply,6100.00,W,'OK'\n140,Fan,Fan,N/A,W,N/A\n"}) {
    const auto import = import_measured(read_ipmi, text);
    EXPECT_EQ(import.faults, "") << text;
    ASSERT_EQ(import.rows.size(), 2U);
    EXPECT_EQ(import.rows[1]["device"], "Total_Power");
    EXPECT_EQ(import.rows[1]["samples_W"], Json::array({6100.0}));
  }
}

TEST(PowerTables, NamesInAnyCase) {
  const auto import = import_measured(read_ipmi,
                                      "Timestamp,Hostname,PowerConsumedWatts\n"
                                      "2024-05-01T10:00:00Z,n1,4120\n2024-05-01T10:00:00Z,n2,4220\n");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[1]["device"], "n2");
  EXPECT_EQ(import.date, "2024-05-01T10:00:00Z");
}

TEST(PowerTables, UnitsAreThoseOfHeaderOrCell) {
  const auto watts = [](const std::string& text) {
    const auto import = import_measured(read_ipmi, text);
    EXPECT_EQ(import.faults, "") << text;
    return import.rows[0]["samples_W"][0].get<double>();
  };
  EXPECT_DOUBLE_EQ(watts("time,power_kW\n2024-05-01 10:00:00,4.12\n"), 4120);
  EXPECT_DOUBLE_EQ(watts("time,power [kW]\n2024-05-01 10:00:00,4.12 kW\n"), 4120);
  EXPECT_DOUBLE_EQ(watts("time,power.draw [W]\n2024-05-01 10:00:00,61100 mW\n"), 61.1);
  EXPECT_DOUBLE_EQ(watts("time,power (W)\n2024-05-01 10:00:00,61.1\n"), 61.1);
  EXPECT_THAT(import_measured(read_ipmi, "time,power (BTU/h)\n2024-05-01 10:00:00,61.1\n").faults,
              HasSubstr("found power in \"BTU/h\", expected W, kW or mW"));
}

TEST(PowerTables, StatesAndBoundsAreNoReadings) {
  EXPECT_THAT(import_measured(read_ipmi, "timestamp,power_state\n2024-05-01T10:00:00,1\n").faults,
              HasSubstr("no column of power"));
  const auto import = import_measured(read_ipmi, "timestamp,power_cap_W,power_W\n2024-05-01T10:00:00,900,120\n");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({120.0}));
}

TEST(PowerTables, ALoopRepeatsTheHeader) {
  const auto import =
      import_measured(read_nvidia_smi, "index, power.draw [W]\n0, 61.1 W\nindex, power.draw [W]\n0, 63.1 W\n");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({61.1, 63.1}));
}

TEST(Prometheus, InfinitiesAreLeftOut) {
  const auto import = import_measured(read_prometheus, answer(R"("__name__":"DCGM_FI_DEV_POWER_USAGE",)",
                                                              R"([1718099000,"512.3"],[1718099015,"+Inf"])"));
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({512.3}));
}

}  // namespace
}  // namespace stepcast::import_power_test
