#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/known_tables.hpp"
#include "calibration/validation/machines.hpp"
#include "calibration/validation/prediction_of_run.hpp"
#include "calibration/validation/statistics.hpp"
#include "calibration/validation/unstated.hpp"
#include "fields/data_directory.hpp"

namespace stepcast::validation_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts(const std::vector<CsvField>& fields) {
  std::vector<std::string> out;
  for (const CsvField& field : fields) out.push_back(field.text);
  return out;
}

/// Faults of an action that must have some, one a line.
template <class Action>
std::string faults_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(CsvTable, ReadsWhatRfc4180Allows) {
  const CsvTable table = parse_csv("\xEF\xBB\xBFid,note\r\n1,\"a, \"\"b\"\"\nc\"\r\n\r\n2,\n3,last", "t.csv");
  EXPECT_THAT(texts(table.header), ElementsAre("id", "note"));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_THAT(texts(table.rows[0]), ElementsAre("1", "a, \"b\"\nc"));
  EXPECT_THAT(texts(table.rows[1]), ElementsAre("2", ""));
  EXPECT_THAT(texts(table.rows[2]), ElementsAre("3", "last"));
  // The quoted line break counts for the places behind it.
  EXPECT_EQ(table.rows[2][1].line, 6);
  EXPECT_EQ(table.rows[2][1].column, 3);
}

TEST(CsvTable, SkipsLinesOfBlanks) {
  const CsvTable table = parse_csv("a,b\n  \n1,2\n\t\n", "t.csv");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_THAT(texts(table.rows[0]), ElementsAre("1", "2"));
}

TEST(KnownTables, NameTheNearestKindOfEverySort) {
  const auto fault = [](const char* header) {
    return faults_of([&] { check_measurements(parse_csv(header, "t.csv")); });
  };
  EXPECT_THAT(fault("accelerator_id,precision,batch,m,n,k,layout,time_us,libary,source\nx,x,x,x,x,x,x,x,x,x\n"),
              HasSubstr("timed products would also need library (is it \"libary\"?)"));
  EXPECT_THAT(fault("system,gpu,ranks,nodes,size_bytes,dtype,time_us_out_of_place\nx,x,x,x,x,x,x\n"),
              HasSubstr("collectives in one node would also need collective"));
  EXPECT_THAT(fault("gpu,ranks,nodes,collective,size_bytes,dtype,time_us_out_of_place\n"), HasSubstr("no rows"));
}

TEST(KnownTables, NameColumnsThatNobodyReads) {
  const auto note = [](const std::string& more) {
    return unread_columns(
        parse_csv("gpu,ranks,nodes,collective,size_bytes,dtype,time_us_out_of_place" + more + "\n", "t.csv"));
  };
  EXPECT_EQ(note(""), "");
  EXPECT_EQ(note(",system,source"), "");
  EXPECT_EQ(note(",colour,sytem"),
            "t.csv: columns that are not read: \"colour\", \"sytem\" (did you mean \"system\"?)");
}

TEST(KnownTables, ShippedOnesHaveNoOthers) {
  std::vector<std::string> names = run_set_names();
  names.insert(names.end(), operator_set_names().begin(), operator_set_names().end());
  names.insert(names.end(), collective_set_names().begin(), collective_set_names().end());
  for (const std::string& name : names) EXPECT_EQ(unread_columns(read_csv(run_set_file(name))), "") << name;
}

TEST(CsvTable, NamesThePlaceOfEveryFault) {
  const std::string faults = faults_of([] { parse_csv("a,b\n1,\"x\"y\n1,2,3\n4,5\"6\n7,\"8", "t.csv"); });
  EXPECT_THAT(faults, HasSubstr("t.csv:2:6: found text behind a closing quote"));
  EXPECT_THAT(faults, HasSubstr("t.csv:3:5: found 3 fields, expected 2"));
  EXPECT_THAT(faults, HasSubstr("t.csv:4:4: found a quote inside a field"));
  EXPECT_THAT(faults, HasSubstr("t.csv:5:3: found a quoted field that does not end"));
}

TEST(CsvTable, WantsAHeaderOfDifferentNames) {
  EXPECT_THAT(faults_of([] { parse_csv("", "t.csv"); }), HasSubstr("t.csv:1:1: found no header"));
  EXPECT_THAT(faults_of([] { parse_csv("a,b,a\n", "t.csv"); }), HasSubstr("t.csv:1:5: column \"a\" is there twice"));
  EXPECT_THAT(faults_of([] { read_csv("no/such.csv"); }), HasSubstr("no/such.csv: cannot be read"));
}

TEST(CsvTable, SaysWhereBytesAreNoText) {
  EXPECT_THAT(faults_of([] { parse_csv("a,b\n1,x\xF2\n", "t.csv"); }),
              HasSubstr("t.csv:2:3: found bytes that are no UTF-8"));
}

TEST(CsvRow, ReadsPositiveNumbersAndTellsBlankFromWrong) {
  const CsvTable table = parse_csv("a,b,c,d,e\n1.5e3,,x,-2,2.5\n", "t.csv");
  std::vector<Fault> faults;
  const CsvRow row(table, 0, faults);
  EXPECT_EQ(row.number("a"), 1500);
  EXPECT_EQ(row.whole("a"), 1500);
  EXPECT_EQ(row.number("b"), std::nullopt);
  EXPECT_EQ(row.number("absent"), std::nullopt);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(row.number("c"), std::nullopt);
  EXPECT_EQ(row.number("d"), std::nullopt);
  EXPECT_EQ(row.whole("e"), std::nullopt);
  EXPECT_EQ(row.required_whole("b"), 1);
  ASSERT_EQ(faults.size(), 4u);
  EXPECT_EQ(faults[0].text(), "t.csv:2:8: c: found \"x\", expected a number above 0");
  EXPECT_THAT(faults[3].text(), HasSubstr("t.csv:2:7: b: found nothing"));
}

TEST(CsvRow, TakesWordsForNotKnownAndZeroForNoDegree) {
  const CsvTable table = parse_csv("a,vpp, gpus ,dp\nN/A,0, 8 ,0\n", "t.csv");
  std::vector<Fault> faults;
  const CsvRow row(table, 0, faults);
  EXPECT_EQ(row.number("a"), std::nullopt);
  EXPECT_EQ(row.whole("vpp"), std::nullopt);
  EXPECT_EQ(row.whole("gpus"), 8);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(row.whole("dp"), std::nullopt);
  EXPECT_EQ(row.required_number("a"), 1);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_THAT(faults[1].text(), HasSubstr("a: found \"N/A\", expected a number"));
}

TEST(KendallTau, IsWhatHandsCount) {
  // Ranks 1 2 3 4 against 1 3 2 4: five of six pairs agree, one does not.
  EXPECT_DOUBLE_EQ(*kendall_tau({1, 2, 3, 4}, {1, 3, 2, 4}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(*kendall_tau({1, 2, 3}, {6, 5, 4}), -1);
  // One tie among the predictions: 3 of 3 measured pairs differ, 2 of 3 predicted ones, both agree.
  EXPECT_DOUBLE_EQ(*kendall_tau({1, 1, 2}, {1, 2, 3}), 2 / std::sqrt(6.0));
  EXPECT_EQ(kendall_tau({1, 1}, {1, 2}), std::nullopt);
  EXPECT_EQ(kendall_tau({}, {}), std::nullopt);
}

TEST(Statistics, AreWhatHandsCount) {
  EXPECT_NEAR(absolute_error(110, 100), 0.1, 1e-12);
  EXPECT_NEAR(absolute_error(80, 100), 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(*quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(*quantile({0, 10}, 0.9), 9);
  EXPECT_DOUBLE_EQ(*quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(*geometric_mean({0.5, 2}), 1);
  EXPECT_EQ(mean({}), std::nullopt);
  EXPECT_EQ(quantile({}, 0.5), std::nullopt);
}

RunSet shipped_set(const std::string& name) { return read_runs(read_csv(run_set_file(name)), name); }

MeasuredRun run_of(const RunSet& set, const std::string& id) {
  for (const MeasuredRun& run : set.runs)
    if (run.id == id) return run;
  throw std::out_of_range(id);
}

TEST(ColumnSets, MegatronRunsAreGptRecomputedOverSeveralNodesOnly) {
  const RunSet set = shipped_set("megatron-a100-single-node");
  EXPECT_EQ(set.runs.size(), 720u);
  const MeasuredRun run = run_of(set, "single-0001");  // 8 GPUs, hidden 1024, TP 2, DP 2, PP 2
  EXPECT_EQ(run.scenario["cluster"], Json::parse(R"({"node": "dgx-a100-80gb", "nodes": 1})"));
  EXPECT_EQ(run.scenario["workload"]["global_batch"], 32);
  EXPECT_EQ(run.scenario["workload"]["precision"], "fp16");
  EXPECT_EQ(run.scenario["workload"]["model"]["transformer"]["ffn_hidden"], 4096);
  EXPECT_EQ(run.scenario["workload"]["model"]["transformer"]["vocab"], 2 * 25128);  // 50,257 cut without padding
  EXPECT_EQ(run.scenario["strategy"]["framework"], "vtrain-gpt");
  EXPECT_EQ(run.scenario["strategy"]["recompute"], "none");
  EXPECT_TRUE(run.open.recompute);
  EXPECT_DOUBLE_EQ(run.measured, 0.219732754);
  EXPECT_EQ(run_of(set, "single-0000").scenario["cluster"]["node"], "dgx-a100-80gb-2-of-8");
  const MeasuredRun large = run_of(shipped_set("megatron-a100-multi-node"), "multi-0000");
  EXPECT_EQ(large.scenario["cluster"]["nodes"], 8);
  EXPECT_EQ(large.scenario["cluster"]["fabric"]["nics_per_node"], 4);
  EXPECT_EQ(large.scenario["workload"]["model"]["transformer"]["vocab"], 393 * 128);
  EXPECT_EQ(large.scenario["strategy"]["framework"], "megatron-lm-2021");
  EXPECT_EQ(large.scenario["strategy"]["recompute"], "full");
}

TEST(ColumnSets, PublishedTflopsBecomeStepTimesByTheFormulaOfTheirSource) {
  const RunSet set = shipped_set("megatron-published");
  const MeasuredRun run = run_of(set, "sc21-145.6b");
  const double b = 2304, s = 2048, l = 80, h = 12288, v = 51200;
  const double flops = 96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
  EXPECT_NEAR(run.measured, flops / (148e12 * 1536), 1e-9);
  EXPECT_EQ(run.scenario["strategy"]["virtual_pipeline"], 2);
  EXPECT_EQ(run.scenario["strategy"]["framework"], "megatron-lm-2021");
  const MeasuredRun timed = run_of(set, "seqpar-22b-selective");
  EXPECT_DOUBLE_EQ(timed.measured, 1.1);
  EXPECT_EQ(timed.scenario["strategy"]["sequence_parallel"], true);
  EXPECT_EQ(timed.scenario["strategy"]["recompute"], "selective");
  EXPECT_EQ(timed.scenario["strategy"]["framework"], "megatron-lm-2022");
}

TEST(ColumnSets, FsdpRunsKeepTheirRate) {
  const MeasuredRun run = run_of(shipped_set("fsdp-runs"), "llmf-002");
  EXPECT_EQ(run.metric, Metric::tokens_per_s_per_gpu);
  EXPECT_DOUBLE_EQ(run.measured, 1058);
  EXPECT_EQ(run.scenario["cluster"], Json::parse(R"({"node": "dgx-h100", "nodes": 16})"));
  EXPECT_EQ(run.scenario["strategy"]["sharding"], "fsdp");
  EXPECT_EQ(run.scenario["strategy"]["recompute"], "full");
}

TEST(ColumnSets, CutModelsHaveThePresetsShapeWithFewerLayers) {
  const RunSet set = shipped_set("b200-single-node");
  const MeasuredRun run = run_of(set, "llama3_70b_l12_tp1_pp2_dp4_mbc4_cef");
  EXPECT_EQ(run.scenario["workload"]["model"]["transformer"]["layers"], 12);
  EXPECT_EQ(run.scenario["workload"]["model"]["transformer"]["hidden"], 8192);
  EXPECT_EQ(run.scenario["workload"]["global_batch"], 16);
  EXPECT_EQ(run.scenario["workload"]["seq_len"], 4096);
  EXPECT_DOUBLE_EQ(run.measured_memory->in(1_GiB), 66.55);
  const Json latent = run_of(set, "deepseekv2_tp1_ep4_pp2_dp4_l4_mbc4_cef").scenario["workload"]["model"];
  EXPECT_EQ(latent["transformer"]["kv_lora_rank"], 512);
  EXPECT_EQ(latent["transformer"]["dense_layers"], 1);
}

TEST(ColumnSets, PublishedRunsTakeShapesFromTheTableOfModels) {
  const RunSet set = shipped_set("llm-runs-published");
  EXPECT_EQ(set.runs.size(), 788u);
  const auto first = std::find_if(set.runs.begin(), set.runs.end(), [](const MeasuredRun& run) {
    return !run.scenario.is_null() && run.scenario["workload"]["model"]["id"] == "llama3.1-405b";
  });
  ASSERT_NE(first, set.runs.end());
  const Json& shape = first->scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["kv_heads"], 8);
  EXPECT_EQ(shape["gated_mlp"], true);
  for (const MeasuredRun& run : set.runs) EXPECT_NE(run.scenario.is_null(), run.refusal.empty()) << run.id;
}

TEST(Machines, RacksAreOneDomainWhateverTheirHostsHold) {
  EXPECT_EQ(cluster_of("gb200", 144, 4), Json::parse(R"({"node": "gb200-nvl72", "nodes": 2})"));
  EXPECT_EQ(cluster_of("gb200", 256, 4), Json::parse(R"({"node": "gb200-nvl72-64-of-72", "nodes": 4})"));
  EXPECT_EQ(cluster_of("gb200", 36, 4), Json::parse(R"({"node": "gb200-nvl72-36-of-72", "nodes": 1})"));
  EXPECT_TRUE(cluster_of("gb200", 37, 4).is_null());
}

TEST(ColumnSets, UnknownHeadersAndBadFiguresAreFaults) {
  EXPECT_THAT(faults_of([] { read_runs(parse_csv("a,b\n1,2\n", "t.csv"), "t"); }),
              HasSubstr("t.csv:1:1: found the columns of no known set"));
  const std::string header =
      "gpus,global_batch,micro_batch,hidden,heads,layers,seq_len,tensor_parallel,data_parallel,pipeline_parallel,"
      "measured_step_time_ms\n";
  const std::string faults =
      faults_of([&] { read_runs(parse_csv(header + "8,16,8,ten,16,24,1024,1,1,2,-3\n", "t.csv"), "t"); });
  EXPECT_THAT(faults, HasSubstr("t.csv:2:8: hidden: found \"ten\""));
  EXPECT_THAT(faults, HasSubstr("t.csv:2:29: measured_step_time_ms: found \"-3\""));
  EXPECT_EQ(std::count(faults.begin(), faults.end(), '\n'), 1);  // two faults, each once
  // Three GPUs are no node that the catalogue has: a reason, not a fault.
  const RunSet odd = read_runs(parse_csv(header + "3,6,1,1024,16,24,1024,1,3,1,100\n", "t.csv"), "t");
  EXPECT_THAT(odd.runs.front().refusal, HasSubstr("has 3 of a100-sxm-80gb, there are ones of 1, 2, 4, 8"));
}

TEST(Machines, StandForServersByTheirGpus) {
  EXPECT_EQ(cluster_of("h100-sxm-80gb", 64, 8), Json::parse(R"({"node": "dgx-h100", "nodes": 8})"));
  EXPECT_TRUE(cluster_of("h100-sxm-80gb", 12, 8).is_null());
  EXPECT_TRUE(cluster_of("abacus", 8, 8).is_null());
}

// But boards and chips of several devices, which software counts apart, what is announced only, and what single
// operators alone were measured on.
TEST(Machines, EveryAcceleratorOfTheCatalogueHasAServer) {
  const std::set<std::string> none{"k80", "mi250x", "rubin-sxm", "trainium3", "mi25", "arc-pro-b60", "knl-7250"};
  for (const auto& entry : std::filesystem::directory_iterator(data_directory("hardware-catalog/accelerators"))) {
    const std::string id = entry.path().stem().string();
    const auto serves = [&](long gpus) { return !cluster_of(id, gpus, gpus).is_null(); };
    EXPECT_EQ(serves(1) || serves(2) || serves(4) || serves(8) || serves(16) || serves(32) || serves(64),
              !none.contains(id))
        << id;
  }
}

TEST(Machines, ServersOfUnusualCountsAreThoseOfPublishedSystems) {
  EXPECT_EQ(cluster_of("a40", 24, 24)["node"], "pcie-server-a40-24");
  EXPECT_EQ(cluster_of("l4", 6, 6)["node"], "pcie-server-l4-6");
  EXPECT_EQ(cluster_of("l40s", 14, 14)["node"], "pcie-server-l40s-14");
  EXPECT_EQ(cluster_of("h200-nvl-141gb", 8, 8)["node"], "server-8xh200-nvl");
  EXPECT_EQ(cluster_of("a100-pcie-40gb", 16, 16)["node"], "pcie-server-a100-40gb-16");
  EXPECT_EQ(cluster_of("gh200-96gb", 64, 4), Json::parse(R"({"node": "alps-gh200-4", "nodes": 16})"));
  EXPECT_EQ(cluster_of("rtx-3090", 2, 2)["node"], "pcie-server-rtx-3090-2");
}

TEST(Unstated, AMicroBatchThatNobodyNamedDividesTheBatchAndFits) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  MeasuredRun run = run_of(shipped_set("megatron-published"), "sc21-1.7b");
  run.scenario["strategy"].erase("micro_batch");
  run.open.micro_batch = true;
  const PredictedRun predicted = predict_run(run, catalog);
  ASSERT_TRUE(predicted.covered()) << predicted.reason;
  const int chosen = predicted.run.scenario["strategy"]["micro_batch"];
  EXPECT_EQ(16 % chosen, 0);
  MeasuredRun at_one = run;
  at_one.open.micro_batch = false;
  at_one.scenario["strategy"]["micro_batch"] = 1;
  EXPECT_LE(*predicted.predicted, *predict_run(at_one, catalog).predicted);
}

TEST(PredictRun, GivesAReasonForAScenarioThatIsRefused) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  MeasuredRun run = run_of(shipped_set("megatron-published"), "sc21-1.7b");
  run.scenario["strategy"]["tensor_parallel"] = 7;
  const PredictedRun predicted = predict_run(run, catalog);
  EXPECT_FALSE(predicted.covered());
  EXPECT_THAT(predicted.reason, HasSubstr("/strategy/"));
}

/// timm's networks on an RTX 3090 in both orders of images: how much longer a sample takes channels first, predicted
/// over measured. Conversions and batch norms were timed on an H100.
TEST(PredictRun, OrdersOfImagesDifferAsMeasured) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  std::map<std::string, std::map<std::string, double>> predicted_over_measured;
  for (MeasuredRun& run : shipped_set("dl-runs-published").runs) {
    if (!run.id.starts_with("tim-") || !run.refusal.empty()) continue;
    const PredictedRun predicted = predict_run(run, catalog);
    ASSERT_TRUE(predicted.covered()) << run.id << ": " << predicted.reason;
    const std::string order = run.scenario["strategy"].value("memory_format", "");
    predicted_over_measured[run.scenario["workload"]["model"].dump()][order] = *predicted.predicted / run.measured;
  }
  double sum = 0;
  int networks = 0;
  for (const auto& [model, orders] : predicted_over_measured) {
    if (!orders.contains("channels_first") || !orders.contains("channels_last")) continue;
    const double off = std::abs(orders.at("channels_last") / orders.at("channels_first") - 1);
    EXPECT_LT(off, 0.25) << model;
    sum += off;
    ++networks;
  }
  EXPECT_EQ(networks, 12);
  EXPECT_LT(sum / networks, 0.08);
}

TEST(PredictRun, SharesOfTheStepAddUp) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  for (MeasuredRun& run : shipped_set("megatron-a100-multi-node").runs) {
    const PredictedRun predicted = predict_run(run, catalog);
    ASSERT_TRUE(predicted.covered()) << run.id << ": " << predicted.reason;
    double sum = 0;
    for (const auto& [name, share] : predicted.parts) sum += share;
    EXPECT_NEAR(sum, 1, 1e-9) << run.id;
  }
}

/// Plain PyTorch with automatic mixed precision on one device, every tensor counted (docs/models/memory.md): nothing
/// was fitted. The rows of 2 and 6 GiB hold workspaces that are not counted; of what is compiled a part is not known.
/// Under XLA what is kept was read off four of these rows.
TEST(PredictRun, PeaksOfPlainPyTorchAreWhatItsTensorsSay) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  std::vector<double> eager;
  for (MeasuredRun& run : shipped_set("own-runs").runs) {
    if (!run.measured_memory) continue;
    const bool eager_run = run.framework == "PyTorch" && !run.scenario["strategy"].value("torch_compile", false);
    const PredictedRun predicted = predict_run(run, catalog);
    ASSERT_TRUE(predicted.memory) << run.id << ": " << predicted.reason;
    const double error = absolute_error(predicted.memory->value(), run.measured_memory->value());
    EXPECT_LT(error, eager_run ? 0.025 : run.framework == "PyTorch" ? 0.1 : 0.16) << run.id;
    if (eager_run) eager.push_back(error);
  }
  EXPECT_LT(*mean(eager), 0.01);
}

}  // namespace
}  // namespace stepcast::validation_test
