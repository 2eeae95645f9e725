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

// A host's eight GPUs together are no GPU of 5.2 kW.
TEST(Prometheus, SumsOverDevicesAreAskedAbout) {
  const std::string sum = R"({"status":"success","data":{"resultType":"matrix","result":[
    {"metric":{"Hostname":"n1"},"values":[[1700000000,"5201.1"],[1700000060,"5250.2"]]}]}})";
  EXPECT_THAT(import_measured(read_prometheus, sum, {.metric = "DCGM_FI_DEV_POWER_USAGE"}).faults,
              HasSubstr("sum by (Hostname)"));
  const auto of_node = import_measured(read_prometheus, sum, {.device = "node", .metric = "DCGM_FI_DEV_POWER_USAGE"});
  EXPECT_EQ(of_node.faults, "");
  EXPECT_THAT(of_node.rows[0]["device"].get<std::string>(), testing::StartsWith("node"));
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
  EXPECT_THAT(import_measured(read_prometheus, answer(R"("__name__":"node_load1",)", R"([1718099000,"3"])")).faults,
              HasSubstr("found node_load1"));
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

constexpr const char* kDmon =
    "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk\n"
    "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %    MHz    MHz\n"
    " 20261101   12:00:00      0    412     55      -     98     40   2619   1755\n"
    " 20261101   12:00:00      1     71     30      -      0      0   2619    345\n"
    " 20261101   12:00:01      0    415     55      -     97     40   2619   1755\n"
    " 20261101   12:00:01      1      -     30      -      0      0   2619    345\n";

TEST(NvidiaSmi, DmonHasColumnsOfItsOwn) {
  std::string commas = kDmon;
  for (std::size_t at = 0; (at = commas.find("    ", at)) != std::string::npos;) commas.replace(at, 4, ", ");
  for (const std::string& text : {std::string(kDmon), commas}) {
    const auto import = import_measured(read_nvidia_smi, text);
    EXPECT_EQ(import.faults, "") << text;
    ASSERT_EQ(import.rows.size(), 2U);
    EXPECT_EQ(import.rows[0]["samples_W"], Json::array({412.0, 415.0}));
    EXPECT_EQ(import.rows[0]["utilization_pct"], Json::array({98.0, 97.0}));
    EXPECT_EQ(import.rows[0]["sm_clock_MHz"], Json::array({1755.0, 1755.0}));
    EXPECT_EQ(import.rows[0]["sample_interval_ms"], 1000);
    EXPECT_EQ(import.rows[1]["samples_W"], Json::array({71.0}));
    EXPECT_EQ(import.date, "2026-11-01T12:00:00Z");
  }
}

TEST(NvidiaSmi, ACutLastLineIsLeftOut) {
  const auto import = import_measured(read_nvidia_smi, "index, power.draw [W]\n0, 61.1 W\n0");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({61.1}));
  EXPECT_THAT(import.warnings.dump(), HasSubstr("the last line is cut"));
  EXPECT_THAT(import_measured(read_nvidia_smi, "index, power.draw [W]\n0\n0, 61.1 W\n").faults, HasSubstr("line 2"));
}

TEST(NvidiaSmi, GpusOfSeveralHostsKeepApart) {
  const auto import =
      import_measured(read_nvidia_smi, "hostname;index;power.draw [W]\nn1;0;61.1 W\nn2;0;71.1 W\nn1;0;ERR!\n");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[0]["device"], "gpu0@n1");
  EXPECT_EQ(import.rows[1]["device"], "gpu0@n2");
}

TEST(NvidiaSmi, OtherOutputsSayWhatIsExpected) {
  EXPECT_THAT(import_measured(read_nvidia_smi, "2026/11/01 12:00:00.1, 0, 61.10 W\n").faults,
              HasSubstr("leave out noheader"));
  EXPECT_THAT(import_measured(read_nvidia_smi, "\n====NVSMI LOG====\n").faults, HasSubstr("nvidia-smi -q"));
  EXPECT_THAT(import_measured(read_nvidia_smi, "+----+\n| NVIDIA-SMI 550 |\n").faults, HasSubstr("--query-gpu"));
}

std::string exposition(const std::string& labels, const std::string& value) {
  return "# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n"
         "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",Hostname=\"n1\",modelName=\"A \\\"B\\\"\"" +
         labels + "} " + value + "\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"n1\"} 55\n";
}

TEST(Dcgm, TheExportersAnswerIsRead) {
  for (const auto read : {read_dcgm, read_prometheus}) {
    const auto import = import_measured(read, exposition("", "412.5") + exposition("", "415.5 1700000000000"));
    EXPECT_EQ(import.faults, "");
    ASSERT_EQ(import.rows.size(), 1U);
    EXPECT_EQ(import.rows[0]["device"], "gpu0@n1");
    EXPECT_EQ(import.rows[0]["samples_W"], Json::array({412.5, 415.5}));
    EXPECT_EQ(import.rows[0]["temperature_C"], Json::array({55.0, 55.0}));
  }
  EXPECT_THAT(import_measured(read_dcgm, exposition(",x", "1")).faults, HasSubstr("line 3: found"));
}

TEST(Dcgm, APartedGpuCountsOnce) {
  const auto import =
      import_measured(read_dcgm, exposition(",GPU_I_ID=\"7\"", "412.5") + exposition(",GPU_I_ID=\"8\"", "412.5"));
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({412.5}));
}

// A GPU has a series for each pod that it served.
TEST(Prometheus, SeriesOfOneGpuAreOneByTime) {
  const auto import = import_measured(read_prometheus, R"({"resultType":"matrix","result":[
      {"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","gpu":"0","pod":"b"},"values":[[1718099030,"3"],[1718099045,"4"]]},
      {"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","gpu":"0","pod":"a"},"values":[[1718099000,"1"],[1718099015,"2"]]}]})");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({1.0, 2.0, 3.0, 4.0}));
  EXPECT_EQ(import.rows[0]["sample_interval_ms"], 15000);
}

TEST(Prometheus, AnInstantIsOneReading) {
  const auto import = import_measured(read_prometheus, R"({"status":"success","data":{"result":[
      {"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","gpu":"0"},"value":[1718099000.5,"512.3"]}]}})");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({512.3}));
  EXPECT_THAT(import_measured(read_prometheus, R"({"status":"error","error":"bad query"})").faults,
              HasSubstr("bad query"));
}

TEST(Ipmi, TablesBetweenBars) {
  for (const char* text :
       {"PSU1 Input | 1250 Watts | ok\nTotal | 2510 Watts | ok\nInlet | 23 degrees C | ok\nPSU3 | no reading | ns\n",
        "PSU1 Input | 77h | ok | 10.1 | 1250 Watts\nTotal | 77h | ok | 7.1 | 2510 Watts\n",
        "PSU1 Input | 1250.000 | Watts | ok | na | 4000.000\nTotal | 2510.000 | Watts | ok\nPSU3 | na | Watts | na\n",
        "ID | Name | Type | Reading | Units | Event\n1 | PSU1 Input | Current | 1250.00 | W | 'OK'\n"
        "2 | Total | Current | 2510.00 | W | 'OK'\n3 | PSU3 | Current | N/A | W | N/A\n"}) {
    const auto import = import_measured(read_ipmi, text);
    EXPECT_EQ(import.faults, "") << text;
    ASSERT_EQ(import.rows.size(), 2U) << text;
    EXPECT_EQ(import.rows[0]["device"], "PSU1 Input");
    EXPECT_EQ(import.rows[1]["samples_W"], Json::array({2510.0}));
  }
}

TEST(Ipmi, FreeIpmiNamesTheReadingOtherwise) {
  const auto import = import_measured(read_ipmi,
                                      "Current Power                        : 164 Watts\n"
                                      "Maximum Power over sampling duration : 270 watts\n"
                                      "Time Stamp                           : 11/12/2026 - 01:38:12\n");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({164.0}));
  EXPECT_EQ(import.date, "2026-11-12T01:38:12Z");
  EXPECT_THAT(import_measured(read_ipmi, "[]").faults, HasSubstr("no reading of power"));
}

}  // namespace
}  // namespace stepcast::import_power_test
