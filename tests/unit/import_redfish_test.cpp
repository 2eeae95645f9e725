#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_redfish_test {
namespace {

using test::import_measured;
using testing::HasSubstr;

constexpr const char* kPower = R"({
  "@odata.id": "/redfish/v1/Chassis/System.Embedded.1/Power", "@odata.type": "#Power.v1_5_0.Power", "Name": "Power",
  "PowerControl": [
    {"@odata.id": "/redfish/v1/Chassis/System.Embedded.1/Power#/PowerControl/0", "MemberId": "0",
     "Name": "System Power Control", "PowerConsumedWatts": 5120, "PowerCapacityWatts": 9600,
     "PowerLimit": {"LimitInWatts": 9000}, "PowerMetrics": {"AverageConsumedWatts": 4900, "MaxConsumedWatts": 6100}},
    {"MemberId": "1", "Name": "Fans", "PowerConsumedWatts": null}],
  "PowerSupplies": [
    {"MemberId": "0", "Name": "HpeServerPowerSupply", "LastPowerOutputWatts": 89, "LineInputVoltage": 206},
    {"MemberId": "1", "Name": "HpeServerPowerSupply", "PowerInputWatts": 101, "LastPowerOutputWatts": 76}]})";

TEST(Redfish, PowerOfAChassis) {
  const auto import = import_measured(read_ipmi, kPower);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 3U);
  EXPECT_EQ(import.rows[0]["device"], "System Power Control");
  EXPECT_EQ(import.rows[0]["source"], "redfish");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({5120.0}));
  EXPECT_EQ(import.rows[0]["power_limit_W"], 9000);
  EXPECT_EQ(import.rows[1]["device"], "HpeServerPowerSupply 0 output");
  EXPECT_EQ(import.rows[2]["device"], "HpeServerPowerSupply 1 input");
  EXPECT_EQ(import.rows[2]["samples_W"], Json::array({101.0}));
  EXPECT_THAT(import.warnings.dump(), HasSubstr("no numbers were left out: 1"));
}

TEST(Redfish, ALoopLeavesAnswersAfterOneAnother) {
  const std::string answer = kPower;
  const auto import = import_measured(
      read_ipmi, "2024-05-01T10:00:00Z\n" + answer + "\n2024-05-01T10:00:10Z\n" + answer + "\n{\"Power");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({5120.0, 5120.0}));
  EXPECT_EQ(import.rows[0]["sample_interval_ms"], 10000);
  EXPECT_EQ(import.date, "2024-05-01T10:00:00Z");
  EXPECT_THAT(import.warnings.dump(), HasSubstr("the last document is cut"));
}

TEST(Redfish, SensorsTellTheirUnits) {
  const auto import = import_measured(read_ipmi, R"({"Members": [
    {"@odata.id": "/redfish/v1/Chassis/C/Sensors/Total", "Id": "Total", "Name": "Total power", "ReadingType": "Power",
     "ReadingUnits": "kW", "Reading": 5.1, "ReadingTime": "2024-05-01T12:00:00+02:00"},
    {"@odata.id": "/redfish/v1/Chassis/HGX_GPU_SXM_1/Sensors/HGX_GPU_SXM_1_Power_0", "Id": "HGX_GPU_SXM_1_Power_0",
     "ReadingType": "Power", "ReadingUnits": "W", "Reading": 612.5},
    {"@odata.id": "/redfish/v1/Chassis/C/Sensors/HGX_GPU_SXM_1_DRAM_0_Power_0", "Id": "HGX_GPU_SXM_1_DRAM_0_Power_0",
     "ReadingType": "Power", "ReadingUnits": "W", "Reading": 60.5},
    {"Id": "Inlet", "ReadingType": "Temperature", "ReadingUnits": "Cel", "Reading": 23}]})");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 3U);
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({5100.0}));
  EXPECT_EQ(import.rows[1]["device"], "gpu-sxm-1");
  EXPECT_EQ(import.rows[2]["device"], "HGX_GPU_SXM_1_DRAM_0_Power_0");
  EXPECT_EQ(import.date, "2024-05-01T10:00:00Z");
}

TEST(Redfish, MetricsOfPartsAndSupplies) {
  const auto import = import_measured(read_ipmi, R"([
    {"@odata.id": "/redfish/v1/Systems/HGX/Processors/GPU_0/EnvironmentMetrics", "Id": "EnvironmentMetrics",
     "PowerWatts": {"DataSourceUri": "/redfish/v1/Chassis/GPU_0/Sensors/P", "Reading": 640.2},
     "PowerLimitWatts": {"SetPoint": 700}, "TemperatureCelsius": {"Reading": 61.5}},
    {"@odata.id": "/redfish/v1/Chassis/C/PowerSubsystem/PowerSupplies/Bay1/Metrics",
     "InputPowerWatts": {"Reading": 937.4}, "OutputPowerWatts": {"Reading": 880}}])");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[0]["device"], "gpu0");
  EXPECT_EQ(import.rows[0]["power_limit_W"], 700);
  EXPECT_EQ(import.rows[0]["temperature_C"], Json::array({61.5}));
  EXPECT_EQ(import.rows[1]["device"], "Bay1 input");
}

TEST(Redfish, MetricReports) {
  const auto import = import_measured(read_ipmi, R"({"@odata.type": "#MetricReport.v1_3_0.MetricReport", "Id": "P",
   "Timestamp": "2024-05-01T10:01:00Z", "MetricValues": [
    {"MetricId": "SystemInputPower", "MetricValue": "5200", "Timestamp": "2024-05-01T10:00:10Z",
     "Oem": {"Dell": {"ContextID": "System.Embedded.1"}}},
    {"MetricId": "SystemInputPower", "MetricValue": "5100", "Timestamp": "2024-05-01T10:00:00Z",
     "Oem": {"Dell": {"ContextID": "System.Embedded.1"}}},
    {"MetricId": "SystemMaxPowerConsumption", "MetricValue": "9999", "Timestamp": "2024-05-01T10:00:00Z"},
    {"MetricId": "CPUTemp", "MetricValue": "71"},
    {"MetricProperty": "/redfish/v1/Chassis/Tray_1/Power#/PowerControl/0/PowerConsumedWatts", "MetricValue": "100"},
    {"MetricProperty": "/redfish/v1/Systems/1/Processors/GPU_3/EnvironmentMetrics#/PowerWatts/Reading",
     "MetricValue": "641.5"}]})");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 3U);
  EXPECT_EQ(import.rows[0]["device"], "System.Embedded.1 SystemInputPower");
  EXPECT_EQ(import.rows[0]["samples_W"], Json::array({5100.0, 5200.0}));
  EXPECT_EQ(import.rows[0]["sample_interval_ms"], 10000);
  EXPECT_EQ(import.rows[1]["device"], "Tray_1 PowerControl 0");
  EXPECT_EQ(import.rows[2]["device"], "gpu3");
}

TEST(Redfish, ResourcesThatOnlyReferAreNamed) {
  const auto import = import_measured(read_ipmi, R"({"@odata.id": "/redfish/v1/Chassis/C/PowerSubsystem",
    "CapacityWatts": 8000, "PowerSupplies": {"@odata.id": "/redfish/v1/Chassis/C/PowerSubsystem/PowerSupplies"}})");
  EXPECT_THAT(import.faults, HasSubstr("no reading of power"));
  EXPECT_THAT(import.faults, HasSubstr("it refers to /redfish/v1/Chassis/C/PowerSubsystem/PowerSupplies"));
  EXPECT_THAT(import_measured(read_ipmi, "{}").faults, HasSubstr("MetricReport of Redfish"));
  EXPECT_THAT(import_measured(read_ipmi, "{\"PowerControl\": [{\"Pow").faults, HasSubstr("is no JSON"));
}

TEST(Redfish, HostsAndUnitsKeepApart) {
  const auto hosts = import_measured(read_ipmi, R"([
    {"host": "b1", "@odata.id": "/p", "PowerControl": {"Name": "Power", "PowerConsumedWatts": "400"}},
    {"host": "b2", "@odata.id": "/p", "PowerControl": {"Name": "Power", "PowerConsumedWatts": 500}},
    {"Id": "a", "ReadingType": "Power", "ReadingUnits": "BTU", "Reading": 3}])");
  EXPECT_EQ(hosts.faults, "");
  ASSERT_EQ(hosts.rows.size(), 2U);
  EXPECT_EQ(hosts.rows[0]["device"], "Power@b1");
  EXPECT_EQ(hosts.rows[1]["samples_W"], Json::array({500.0}));
  EXPECT_THAT(hosts.warnings.dump(), HasSubstr("and not in W was left out"));
}

}  // namespace
}  // namespace stepcast::import_redfish_test
