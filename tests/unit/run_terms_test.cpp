// Terms of a run that say nothing, exclude each other or do not add up, and the words of what is said of runs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/power/facility.hpp"
#include "report/claim_study.hpp"
#include "report/goodput_study.hpp"
#include "report/outlook_text.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::run_terms_test {
namespace {

using test::shipped;
using testing::HasSubstr;
using testing::Not;

std::string faults_of(const std::vector<std::string>& overrides) {
  try {
    (void)shipped("resnet50-v100-8nodes.json", overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PhaseFaults, AreKeysThatSayNothingOfTheirKind) {
  EXPECT_THAT(faults_of({R"(run.phases=[{"kind":"startup","time_s":100}])"}),
              HasSubstr("/run/phases: no phase trains"));
  const auto beside = [&](const std::string& phase) {
    return faults_of({fmt::format(R"(run.phases=[{{"name":"rest"}},{}])", phase)});
  };
  EXPECT_THAT(beside(R"({"steps":10,"times":3})"), HasSubstr("/run/phases/1/times"));
  EXPECT_THAT(beside(R"({"kind":"evaluation","samples":1,"global_batch_end":64})"),
              HasSubstr("/run/phases/1/global_batch_end"));
  EXPECT_THAT(beside(R"({"kind":"startup","time_s":1,"tokens":9})"), HasSubstr("/run/phases/1/tokens"));
  EXPECT_THAT(beside(R"({"kind":"compile","time_s":1,"set":["cluster.nodes=2"]})"), HasSubstr("/run/phases/1/set"));
  EXPECT_THAT(beside(R"({"steps":9,"set":["cluster.cost.basis=spot"]})"), HasSubstr("/run/phases/1/set/0"));
  EXPECT_EQ(beside(R"({"kind":"startup","time_s":1,"times":2})"), "");
}

TEST(StorageFaults, AreEntriesThatNodesCannotShare) {
  for (const char* part : {"raid5", "small-file-open", "pm9a3", "hdd-7200"})
    EXPECT_THAT(faults_of({fmt::format("cluster.storage={}", part)}), HasSubstr("/cluster/storage: ")) << part;
  for (const char* system : {"nfs-10gbe", "s3-standard", "ebs-gp3", "bloom-gpfs-checkpoint", "megascale-hdfs"})
    EXPECT_EQ(faults_of({fmt::format("cluster.storage={}", system)}), "") << system;
}

TEST(CapFaults, OfWhatIsMisreadAreOne) {
  for (const char* misread : {"cluster.power_cap_W=abc", "cluster.power_cap_W=-5", "cluster.clock_MHz=abc"})
    EXPECT_THAT(faults_of({misread}), Not(HasSubstr("but v100"))) << misread;
}

// H100's peaks are those at 1830 MHz. It boosts to 1980, and of what it computes and draws there nothing is known.
TEST(ClockFaults, AreClocksAboveThatOfThePeaks) {
  const auto faults_on = [](const char* node, double clock) {
    return faults_of({fmt::format("cluster.node={}", node), fmt::format("cluster.clock_MHz={}", clock)});
  };
  for (const std::string& id : test::catalog().ids("nodes")) {
    const Node& node = *test::catalog().find<Node>(id);
    if (!node.has_accelerators()) continue;
    const auto& part = *test::catalog().find<Accelerator>(node.accelerator);
    if (part.tensor_peak_clock_MHz <= 0 || part.tensor_peak_clock_MHz >= part.boost_clock_MHz) continue;
    EXPECT_THAT(faults_on(id.c_str(), part.boost_clock_MHz),
                HasSubstr(fmt::format("at most {}", part.tensor_peak_clock_MHz)))
        << id;
    EXPECT_THAT(faults_on(id.c_str(), part.tensor_peak_clock_MHz), Not(HasSubstr("clock_MHz"))) << id;
  }
}

TEST(CostFaults, AreTermsThatExcludeEachOther) {
  const std::string bought = "cluster.cost.node_purchase_usd=1e5", rented = "cluster.cost.node_rent_usd_per_h=20";
  EXPECT_THAT(faults_of({bought, rented}), HasSubstr("/cluster/cost/node_rent_usd_per_h"));
  EXPECT_THAT(faults_of({bought, "cluster.cost.basis=spot"}), HasSubstr("/cluster/cost/basis: found spot"));
  EXPECT_THAT(faults_of({rented, "cluster.cost.basis=purchase"}), HasSubstr("/cluster/cost/basis: found purchase"));
  for (const char* key :
       {"network_purchase_usd", "amortisation_years", "electricity_usd_per_kWh", "upkeep_percent_per_year"}) {
    const std::string term = fmt::format("cluster.cost.{}=3", key);
    EXPECT_THAT(faults_of({rented, term}), HasSubstr(fmt::format("/cluster/cost/{}: belongs to a bought", key)));
    EXPECT_EQ(faults_of({bought, term}), "");
  }
  EXPECT_EQ(faults_of({bought, "cluster.cost.basis=purchase"}), "");
}

TEST(StudyFaults, AreClaimsFromHighToLowAndNoVariants) {
  const auto faults = [](const char* text) {
    Diagnostics diagnostics("study");
    read_claim_study(Json::parse(text), diagnostics);
    std::string out;
    for (const Fault& fault : diagnostics.faults()) out += fault.pointer + ": " + fault.message + "\n";
    return out;
  };
  EXPECT_EQ(faults(R"({"scenario":{},"variants":[]})"),
            "/variants: found none, expected what is compared with the scenario\n");
  EXPECT_EQ(faults(R"({"scenario":{},"variants":[{"name":"a","set":[]}],
                       "claims":[{"figure":"pue","low_percent":30,"high_percent":10}]})"),
            "/claims/0/low_percent: found 30, more than the high_percent of 10\n");
  EXPECT_EQ(faults(R"({"scenario":5,"variants":[{"name":"a","set":["x.y=1","x.z=2"]}]})"),
            "/scenario: found 5, expected an object (scenario)\n");
}

TEST(StudyWords, NameItAndLoseNothingOfNothing) {
  ClaimStudy study;
  StudyGain same;
  same.figure = "pue";
  same.value = 1.2;
  same.gain_percent = -1e-13;
  study.baseline.gains = {same};
  study.variants = {{"a variant", {same}, {}}};
  EXPECT_THAT(text_report(study), testing::StartsWith("Study\n"));
  EXPECT_THAT(text_report(study), HasSubstr(" 0.0 %"));
  EXPECT_THAT(text_report(study), Not(HasSubstr("-0.0")));
}

TEST(GoodputWords, SayThatThereIsNoCheckpoint) {
  GoodputStudy study;
  study.checkpoint.kind = CheckpointKind::none;
  study.checkpoint.basis = "988 GB to local drives";
  EXPECT_THAT(text_report(study), HasSubstr("Checkpoint    none"));
  EXPECT_THAT(text_report(study), Not(HasSubstr("988 GB")));
}

TEST(CheckpointWords, AreInDecimalUnitsAsEverywhere) {
  RunOutlook outlook;
  outlook.checkpoint.kind = "sharded";
  outlook.checkpoint.size = 988_GB;
  outlook.checkpoint.interval = 1_h;
  outlook.goodput.horizon = 2_h;
  EXPECT_THAT(checkpoint_words(outlook), testing::StartsWith("988 GB every"));
  outlook.goodput.horizon = 1_h;
  EXPECT_THAT(checkpoint_words(outlook), testing::StartsWith("none on the way"));
}

TEST(FacilityWords, CountOneNodeAndWriteOutWhatIsLarge) {
  Scenario scenario = shipped("resnet50-v100-8nodes.json");
  scenario.spec.cluster.facility.ramp_limit_kW_per_s = 100;
  const Racks rack{1, 8, 10_kW, 5_kW};
  EXPECT_EQ(exceeded_by_nodes(scenario, rack, 1_W),
            std::vector<std::string>{"a rack of 1 node peaks at 10.0 kW, its limit is 5.0 kW"});
  EXPECT_EQ(exceeded_by_site(scenario, 1_W, 32890),
            std::vector<std::string>{"power swings by 32890 kW/s, the limit is 100 kW/s"});
}

}  // namespace
}  // namespace stepcast::run_terms_test
