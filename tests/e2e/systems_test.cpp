#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "tests/e2e/process.hpp"

namespace stepcast::systems_test {
namespace {

using testing::HasSubstr;

std::vector<std::string> shipped_systems() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(STEPCAST_SOURCE_DIR "/scenarios/systems"))
    if (entry.path().extension() == ".json") names.push_back("systems/" + entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A prediction with overrides, each without its `--set`.
Json with(const std::string& name, const std::vector<std::string>& overrides) {
  std::vector<std::string> arguments;
  for (const std::string& assignment : overrides) arguments.insert(arguments.end(), {"--set", assignment});
  return predicted("systems/" + name, arguments);
}

double rate(const Json& prediction) { return prediction["samples_per_s"]; }

class System : public testing::TestWithParam<std::string> {};

TEST_P(System, RunsAndAccountsForEverySecond) {
  const Json r = predicted(GetParam());
  const double parts = r["compute_s"].get<double>() + r["communication"]["exposed_s"].get<double>() +
                       r["bubble_s"].get<double>() + r["synchronization_wait_s"].get<double>() +
                       r["optimizer_s"].get<double>() + r["overhead_s"].get<double>();
  EXPECT_NEAR(parts / r["step_time_s"].get<double>(), 1, 1e-9);
  EXPECT_TRUE(r.contains("staleness"));
  EXPECT_TRUE(r["memory"]["fits"].get<bool>());
}

TEST_P(System, HasAPageAndGivesTheSameBytesTwice) {
  const std::string page = std::string(STEPCAST_SOURCE_DIR "/docs/") + GetParam() + ".md";
  EXPECT_TRUE(std::filesystem::exists(page)) << page;
  const std::vector<std::string> arguments{"run", scenario_file(GetParam()), "--json"};
  EXPECT_EQ(stepcast_run(arguments).out, stepcast_run(arguments).out);
}

INSTANTIATE_TEST_SUITE_P(Shipped, System, testing::ValuesIn(shipped_systems()),
                         [](const auto& test) { return test_name_of(test.param.substr(test.param.find('/') + 1)); });

TEST(Systems, EveryWayThatPeopleNameIsThere) {
  const std::vector<std::string> files = shipped_systems();
  for (const char* name : {"tensorflow-ps", "tensorflow-mirrored", "pytorch-ddp", "pytorch-fsdp", "horovod", "ray",
                           "mxnet", "deepspeed", "megatron", "mesh-tensorflow", "tensorflowonspark", "elephas", "bigdl",
                           "sagemaker", "databricks", "federated", "gossip", "local-sgd", "tpu"})
    EXPECT_TRUE(std::any_of(files.begin(), files.end(), [&](const std::string& file) {
      return file.find(name) != std::string::npos;
    })) << name;
}

// One pack, reduced after the backward pass: all of it is exposed.
TEST(Systems, MultiWorkerMirroredHidesNothing) {
  const Json r = with("tensorflow-mirrored", {});
  const Json& reduction = r["communication"]["by_kind"]["all_reduce"];
  EXPECT_NEAR(reduction["exposed_s"].get<double>() / reduction["total_s"].get<double>(), 1, 0.01);
  const Json buckets = with("tensorflow-mirrored", {"strategy.framework=pytorch-ddp"});
  EXPECT_LT(buckets["communication"]["exposed_s"], r["communication"]["exposed_s"]);
}

// Cycles of a millisecond are nothing to a step of 64 images a GPU and a lot to one of a single image.
TEST(Systems, HorovodsCyclesHurtAtShortSteps) {
  const auto loss = [](const std::string& batch) {
    const std::vector<std::string> common{"cluster.nodes=4", "workload.model=resnet18", "workload.precision=fp16",
                                          "workload.global_batch=" + batch, "cluster.node=dgx-1-v100-16gb"};
    const Json r = with("horovod-128x4-p100", common);
    return r["communication"]["exposed_s"].get<double>() / r["step_time_s"].get<double>();
  };
  EXPECT_GT(loss("32"), loss("4096"));
}

TEST(Systems, AsynchronousServersNeverWaitAndAreStaleByTheOthersUpdates) {
  for (const char* name : {"tensorflow-ps-async", "mxnet-dist-async"}) {
    // A worker that is a node waits for the slowest of its own devices and for nobody else's.
    EXPECT_EQ(with(name, {"strategy.worker=device"})["synchronization_wait_s"], 0) << name;
    const Json r = with(name, {});
    EXPECT_NEAR(r["staleness"]["mean"].get<double>(), 7, 1) << name;
    EXPECT_GE(r["staleness"]["p95"], r["staleness"]["mean"]) << name;
  }
  EXPECT_TRUE(with("tensorflow-ps-sync", {})["staleness"].is_null());
}

// Few servers hold everybody up; as many as workers do not.
TEST(Systems, MoreServersHelpUntilTheWorkersPortsAreFull) {
  const auto step = [](const std::string& count) {
    return with("tensorflow-ps-sync", {"strategy.parameter_servers.count=" + count})["step_time_s"].get<double>();
  };
  EXPECT_GT(step("1"), 1.5 * step("4"));
  EXPECT_GE(step("4"), step("16") * 0.999);
}

// Nodes of servers are rented and draw power for as long as the training runs.
TEST(Systems, ServerNodesCountInEnergyCarbonAndCost) {
  const auto servers = [](const char* count) {
    return with("tensorflow-ps-sync", {std::string("strategy.parameter_servers.count=") + count});
  };
  const Json four = servers("4"), eight = servers("8");
  const auto rent = [](const Json& r) { return r["cost"]["per_hour_usd"].get<double>(); };
  // Eight instances of 24.48 $/h train; each server's costs 3.06 $/h.
  EXPECT_NEAR(rent(four), 8 * 24.48 + 4 * 3.06, 1e-6);
  EXPECT_NEAR(rent(eight), 8 * 24.48 + 8 * 3.06, 1e-6);
  for (const Json* r : {&four, &eight}) {
    const double hours = (*r)["run"]["time_s"].get<double>() / 3600;
    const double mean_kW = (*r)["power"]["average_W"].get<double>() / 1000;
    const double run_kWh = (*r)["run"]["energy_kWh"];
    EXPECT_NEAR(run_kWh / (mean_kW * hours), 1, 0.01);
    EXPECT_NEAR((*r)["carbon"]["run_kg"].get<double>() / (run_kWh * 0.475), 1, 1e-6);
    const double step_kWh = (*r)["energy"]["per_step_J"].get<double>() / 3.6e6;
    EXPECT_NEAR((*r)["carbon"]["per_step_g"].get<double>() / (step_kWh * 475), 1, 1e-6);
  }
}

/// What the rows of a page's table of an hour's cost come to, in dollars.
double hourly_cost_on_page(const std::string& name) {
  const ScratchFolder folder;
  const std::string page = (folder / "page.html").string();
  EXPECT_EQ(stepcast_run({"run", scenario_file("systems/" + name), "--html", page}).code, 0);
  const std::string html = read_text(page);
  const std::size_t from = html.find("What an hour costs"), to = html.find("What the money of a step pays for");
  double sum = 0;
  const std::regex row("<td[^>]*>\\$([0-9.,]+) per hour</td>");
  const std::string part = html.substr(from, to - from);
  for (std::sregex_iterator it(part.begin(), part.end(), row), end; it != end; ++it) {
    std::string dollars = (*it)[1];
    std::erase(dollars, ',');
    sum += std::stod(dollars);
  }
  return sum;
}

TEST(Systems, RowsOfCostAddUpToTheHeadline) {
  for (const char* name : {"rl-actors-learners", "tensorflow-ps-sync", "pytorch-ddp"}) {
    const double headline = with(name, {})["cost"]["per_hour_usd"];
    EXPECT_NEAR(hourly_cost_on_page(name) / headline, 1, 0.01) << name;
  }
}

// Against one server all-reduce wins from a few workers on; with a single other worker both move the same.
TEST(Systems, RingAllReduceOvertakesOneServerAsWorkersGrow) {
  const auto ratio = [](int nodes) {
    const std::vector<std::string> size{"cluster.nodes=" + std::to_string(nodes), "workload.model=vgg16",
                                        "workload.global_batch=" + std::to_string(256 * nodes),
                                        "strategy.parameter_servers.count=1"};
    const double all_reduce =
        with("tensorflow-mirrored", {size[0], size[1], size[2], "workload.precision=fp32"})["step_time_s"];
    return with("tensorflow-ps-sync", size)["step_time_s"].get<double>() / all_reduce;
  };
  EXPECT_GT(ratio(16), ratio(2));
  EXPECT_GT(ratio(16), 1.5);
}

TEST(Systems, StalenessBoundIsRespected) {
  const Json r = with("parameter-server-ssp", {});
  EXPECT_LE(r["updates"]["most_steps_ahead"].get<double>(), 3);
  EXPECT_GT(r["staleness"]["mean"].get<double>(), 0);
}

TEST(Systems, BackupWorkersDropTheLast) {
  EXPECT_NEAR(with("parameter-server-backup", {})["updates"]["dropped_share"].get<double>(), 1.0 / 16, 0.02);
}

TEST(Systems, BigDlLaunchesEveryTaskOfEveryIteration) {
  const Json r = with("bigdl", {});
  EXPECT_EQ(r["updates"]["servers"], 32);
  // fp16 on the wire: 2 bytes × 23.8 M parameters × 31/32.
  EXPECT_NEAR(r["updates"]["sent_per_worker_GB"].get<double>(), 23.83e6 * 2 * 31 / 32 / 1e9, 0.002);
}

TEST(Systems, ElephasDriverIsTheBottleneck) {
  const Json eight = with("elephas", {"cluster.nodes=8", "workload.global_batch=256"});
  const Json sixteen = with("elephas", {});
  EXPECT_NEAR(rate(sixteen) / rate(eight), 1, 0.05);
  const Json rarely = with("elephas-hogwild", {});
  EXPECT_GT(rate(rarely), rate(sixteen));
}

TEST(Systems, TwoBitPushesAreASixteenthAndPullsAreWhole) {
  const Json r = with("mxnet-dist-sync", {});
  EXPECT_NEAR(r["updates"]["received_per_worker_GB"].get<double>() / r["updates"]["sent_per_worker_GB"].get<double>(),
              16, 0.01);
}

TEST(Systems, CompressionPaysOnSlowNetworksAlone) {
  const auto gain = [](const std::string& gigabits) {
    const std::string network = "cluster.fabric.nic_bandwidth_Gbps=" + gigabits;
    return rate(with("deepspeed-1bit-adam", {network})) /
           rate(with("deepspeed-1bit-adam", {network, "strategy.compression.method=none"}));
  };
  EXPECT_GT(gain("10"), 1.3);
  EXPECT_LT(gain("800"), gain("10"));
}

TEST(Systems, LocalStepsDivideTheExchange) {
  const Json r = with("local-sgd-diloco", {});
  EXPECT_EQ(r["updates"]["steps_per_exchange"], 500);
  const Json every = with("local-sgd-diloco", {"strategy.local_steps=1"});
  EXPECT_NEAR(every["updates"]["exchange_s"].get<double>() / r["updates"]["exchange_s"].get<double>(), 1, 1e-6);
  EXPECT_GT(rate(r), 20 * rate(every));
}

// KungFu's published ordering at small batches of 16 V100: pairs above asynchronous servers.
TEST(Systems, PairAveragingBeatsAsynchronousServersAtSmallBatches) {
  const Json pairs = with("gossip-pairs", {"workload.global_batch=256"});
  EXPECT_EQ(pairs["synchronization_wait_s"], 0);
  const Json servers = with("gossip-pairs", {"workload.global_batch=256", "strategy.framework=tensorflow-2017",
                                             "strategy.update=asynchronous", "strategy.worker=device",
                                             "strategy.parameter_servers={\"count\": 2}"});
  EXPECT_GT(rate(pairs), rate(servers));
  EXPECT_LT(pairs["staleness"]["mean"], servers["staleness"]["mean"]);
}

// Masked values have 23 bits for 100 clients (and keys and shares), plain ones 16.
TEST(Systems, SecureAggregationCostsBytesAndTime) {
  const Json masked = with("federated", {});
  const Json plain =
      with("federated", {"strategy.federated.secure_aggregation=false", "strategy.compression.method=fp16"});
  EXPECT_GT(plain["samples_per_s"], masked["samples_per_s"]);
  EXPECT_EQ(masked["updates"]["steps_per_exchange"], 300);
}

TEST(Systems, OtherUpdatesThanAFrameworksAreFaults) {
  const Finished run = stepcast_run({"run", scenario_file("systems/pytorch-ddp"), "--set", "strategy.update=gossip"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("pytorch-gossip"));
  EXPECT_EQ(stepcast_run({"run", scenario_file("systems/pytorch-ddp"), "--set", "strategy.staleness_bound=2"}).code, 2);
}

// Of updates beside collectives there is no one step's timeline, and another job's is not written in its place.
TEST(Systems, OfOtherUpdatesNoTimelineIsWritten) {
  const ScratchFolder folder;
  const std::string out = (folder / "out").string();
  const std::vector<std::pair<std::string, std::string>> cases{{"gossip-ring", "/strategy/update: "},
                                                               {"tensorflow-ps-sync", "/strategy/parameter_servers: "},
                                                               {"rl-actors-learners", "/strategy/actors: "}};
  for (const auto& [name, pointer] : cases) {
    const std::string file = scenario_file("systems/" + name);
    for (const char* option : {"--trace", "--export-graph", "--export-chakra"}) {
      const Finished run = stepcast_run({"run", file, option, out});
      EXPECT_EQ(run.code, 2) << name << option;
      EXPECT_THAT(run.err, HasSubstr(pointer)) << name << option;
      EXPECT_FALSE(std::filesystem::exists(out)) << name << option;
    }
    const Finished shared = stepcast_run({"share", file, file});
    EXPECT_EQ(shared.code, 2) << name;
    EXPECT_THAT(shared.err, HasSubstr("/jobs/0" + pointer)) << name;
  }
}

TEST(Systems, TheReportPrintsTheDistribution) {
  const Finished run = stepcast_run({"run", scenario_file("systems/tensorflow-ps-async")});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Updates: asynchronous"));
  EXPECT_THAT(run.out, HasSubstr("updates missed on average"));
}

}  // namespace
}  // namespace stepcast::systems_test
