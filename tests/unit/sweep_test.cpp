// The value language, the points of a sweep, and the result store.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "models/convergence/target.hpp"
#include "models/scenario/scenario.hpp"
#include "report/predict.hpp"
#include "sim/protocol/environment_error.hpp"
#include "sweeps/closed_form.hpp"
#include "sweeps/export.hpp"
#include "sweeps/run_sweep.hpp"
#include "sweeps/slurm/row_file.hpp"
#include "sweeps/values.hpp"
#include "tests/e2e/process.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::sweep_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string listed(const std::string& list) {
  Diagnostics diagnostics("--set");
  const std::vector<Json> values = parse_values(list, "x", diagnostics);
  if (!diagnostics.ok()) return "fault: " + diagnostics.faults().front().message;
  return Json(values).dump();
}

struct ListCase {
  const char* written;
  const char* meant;
};

TEST(Values, ListsRangesTextsAndJsonAreReadAsDocumented) {
  const ListCase cases[]{
      {"1,2,4..64*2", "[1,2,4,8,16,32,64]"},
      {"1..4", "[1,2,3,4]"},
      {"1..10+4", "[1,5,9]"},
      {"9..1-4", "[9,5,1]"},
      {"0.1..0.5+0.1", "[0.1,0.2,0.3,0.4,0.5]"},
      {"-2..2+2", "[-2,0,2]"},
      {"1e-3..1*10", "[0.001,0.01,0.1,1]"},
      {"ring, tree", R"(["ring","tree"])"},
      {"true,false,null", "[true,false,null]"},
      {R"("a,b","1..2")", R"(["a,b","1..2"])"},
      {R"([1,2],[3])", "[[1,2],[3]]"},
      {R"({"a":[1,2]})", R"([{"a":[1,2]}])"},
      {"fat-tree", R"(["fat-tree"])"},
      {"../x,a..b", R"(["../x","a..b"])"},
      {"\"\"", R"([""])"},
  };
  for (const ListCase& one : cases) EXPECT_EQ(listed(one.written), one.meant) << one.written;
}

TEST(Values, WhatCannotBeMeantIsAFault) {
  const ListCase cases[]{
      {"1,,2", "empty item"},         {"", "empty item"},
      {"4..1", "goes down"},          {"1..4-1", "goes up"},
      {"1..4*1", "above 1"},          {"0..4*2", "above 0"},
      {"1..4+0", "step above 0"},     {"1..x", "expected a range"},
      {"1..4/2", "expected a range"}, {"1,2,1", "given twice"},
      {"1..3,1..3+1", "given twice"}, {"[1,", "not valid JSON"},
      {"32,64..512", "one by one"},   {"1..3,5..7", "one by one"},
      {"1..1e12", "more than"},       {"@/does/not/exist", "exist"},
      {"64,64.0", "given twice"},     {"1000,1e3", "given twice"},
  };
  for (const ListCase& one : cases) {
    EXPECT_THAT(listed(one.written), HasSubstr("fault:")) << one.written;
    EXPECT_THAT(listed(one.written), HasSubstr(one.meant)) << one.written;
  }
}

TEST(Values, NoTextCrashesTheReader) {
  const std::string seed = R"(1,2,4..64*2,"a,b",[1,{"x":2}],0.1..0.5+0.1,@f,true)";
  std::uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525U + 1013904223U; };
  for (int i = 0; i < 20'000; ++i) {
    std::string text = seed;
    for (int k = 0; k < 4; ++k) text[(next() >> 8) % text.size()] = static_cast<char>(next() >> 24);
    text.resize((next() >> 8) % (text.size() + 1));
    EXPECT_NO_THROW((void)listed(text));
  }
}

SweepPoints points(SweepRequest request) { return read_points(request); }

std::string values_at(const SweepPoints& points, std::int64_t point) {
  std::vector<const Json*> values;
  points.values(point, values);
  Json out = Json::array();
  for (const Json* value : values) out.push_back(*value);
  return out.dump();
}

TEST(Points, GridCombinesEveryValueWithTheLastFastest) {
  const SweepPoints grid = points({{"cluster.nodes=1,2", "strategy.micro_batch=1..3"}});
  ASSERT_EQ(grid.size(), 6);
  EXPECT_EQ(values_at(grid, 0), "[1,1]");
  EXPECT_EQ(values_at(grid, 1), "[1,2]");
  EXPECT_EQ(values_at(grid, 5), "[2,3]");
}

TEST(Points, ZipWalksListsTogether) {
  const SweepPoints zip = points({{"cluster.nodes=1,2,4", "workload.global_batch=8,16,32", "run.seed=3"}, {}, true});
  ASSERT_EQ(zip.size(), 3);
  EXPECT_EQ(values_at(zip, 2), "[4,32,3]");
  EXPECT_THROW(points({{"cluster.nodes=1,2,4", "workload.global_batch=8,16"}, {}, true}), InputError);
}

TEST(Points, FileOfCombinationsIsAnAxisOfItsOwn) {
  const ScratchFolder folder;
  std::ofstream(folder / "v.csv") << "cluster.nodes,strategy.framework\n1,pytorch-ddp\n2,horovod\n";
  std::ofstream(folder / "v.jsonl") << "{\"cluster.nodes\":1,\"strategy.framework\":\"a\"}\n"
                                       "{\"strategy.framework\":\"b\",\"cluster.nodes\":2}\n";
  const SweepPoints csv = points({{"workload.global_batch=8,16"}, folder / "v.csv"});
  ASSERT_EQ(csv.size(), 4);
  EXPECT_EQ(values_at(csv, 1), R"([8,2,"horovod"])");
  EXPECT_EQ(values_at(points({{}, folder / "v.jsonl"}), 1), R"([2,"b"])");
}

TEST(Points, FaultsOfATableAreOfItsLines) {
  const ScratchFolder folder;
  const auto refusal = [&](const char* name, const std::string& text) -> std::string {
    write_file(folder / name, text);
    try {
      SweepRequest request;
      request.values_file = folder / name;
      (void)points(request);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("a.jsonl", "{\"cluster.nodes\": 1}\n\n{\"cluster.nodes\" 2}\n"), HasSubstr("line 3, column 18:"));
  for (const auto& [name, text] : {std::pair{"b.csv", "cluster.nodes\n1\n2\n1\n"},
                                   std::pair{"b.json", R"([{"cluster.nodes": 1}, {"cluster.nodes": 2},
                                                                             {"cluster.nodes": 1}])"}})
    EXPECT_THAT(refusal(name, text), HasSubstr("combination 3 is that of 1 once more"));
  EXPECT_THAT(refusal("c.csv", "cluster.nods\n1\n"), HasSubstr("c.csv: cluster.nods: cluster has no key"));
}

TEST(Points, SampleHasEachPointAtMostOnceAndFollowsItsSeed) {
  const std::vector<std::string> sets{"cluster.nodes=1..1000", "workload.global_batch=1..1000"};
  const SweepPoints one = points({sets, {}, false, RandomSample{500, 7}});
  const SweepPoints same = points({sets, {}, false, RandomSample{500, 7}});
  const SweepPoints other = points({sets, {}, false, RandomSample{500, 8}});
  std::set<std::string> seen;
  int different = 0;
  for (std::int64_t i = 0; i < 500; ++i) {
    EXPECT_TRUE(seen.insert(values_at(one, i)).second);
    EXPECT_EQ(values_at(one, i), values_at(same, i));
    different += values_at(one, i) != values_at(other, i) ? 1 : 0;
  }
  EXPECT_GT(different, 400);
  EXPECT_THROW(points({{"cluster.nodes=1..3"}, {}, false, RandomSample{4, 1}}), InputError);
  EXPECT_EQ(points({{"cluster.nodes=1..3"}, {}, false, RandomSample{3, 1}}).size(), 3);
}

TEST(Points, FaultsNameThePathAndTheNearestKey) {
  try {
    points({{"clutser.nodes=1,2", "cluster.nodes", "cluster.nodes=1,,2"}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 3U) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"cluster\"?"));
  }
  EXPECT_THROW(points({{"cluster.nodes=1", "cluster.nodes=2"}}), InputError);
  EXPECT_THROW(points({{}}), InputError);
}

// Rows would carry values that no scenario had.
TEST(Points, NoValueTakesThePlaceOfAnothers) {
  const std::string nodes = "cluster.nodes=32,64", whole = R"(cluster={"node":"dgx-a100-80gb","nodes":128})";
  const auto refusal = [](const SweepRequest& request) -> std::string {
    try {
      (void)points(request);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({{nodes, whole}}), HasSubstr("cluster: takes the place of cluster.nodes"));
  EXPECT_THAT(refusal({{whole, nodes}}), HasSubstr("cluster.nodes: takes the place of what values of cluster say"));
  EXPECT_EQ(refusal({{R"(cluster={"node":"dgx-a100-80gb"},{"node":"dgx-h100"})", nodes}}), "");
}

// A key that no scenario has, at whatever depth: no point could be legal. What a key may hold decides what is below it.
TEST(Points, PathsLeadToKeysThatAScenarioHas) {
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      (void)points({{path + "=1,2"}});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("cluster.nods"), "--set: cluster.nods: cluster has no key \"nods\"; did you mean \"node\"?");
  EXPECT_THAT(refusal("cluster.fabric.nics_per_nod"), HasSubstr("cluster.fabric has no key"));
  EXPECT_THAT(refusal("cluster.fabric.nics_per_nod"), HasSubstr("did you mean \"nics_per_node\"?"));
  EXPECT_THAT(refusal("cluster.nodes.count"), HasSubstr("cluster.nodes has no parts"));
  EXPECT_THAT(refusal("workload.model.transformer.hiden"), HasSubstr("did you mean \"hidden\"?"));
  for (const char* path : {"cluster.nodes", "cluster.fabric.nics_per_node", "workload.model.transformer.hidden",
                           "strategy.stage_layers.0", "cluster.fabric"})
    EXPECT_EQ(refusal(path), "") << path;
}

SweepDefinition small_sweep() {
  Diagnostics diagnostics("scenario");
  Json scenario = read_json(scenario_file("bert-large-16nodes"), diagnostics);
  scenario["run"]["fidelity"] = "analytic";
  return {
      "bert.json", std::move(scenario), points({{"cluster.nodes=1,2,3,4..16*2", "strategy.tensor_parallel=1,3"}}), {}};
}

/// Every row is that of the whole scenario; how many are predictions.
int rows_of_whole_scenarios(const SweepDefinition& sweep, const Catalog& catalog) {
  ClosedForm closed_form(sweep, catalog);
  int ok = 0;
  for (std::int64_t point = 0; point < sweep.points.size(); ++point) {
    const SweepRow quick = closed_form.row(point);
    SweepRow whole;
    try {
      Diagnostics faults(sweep.file);
      const Scenario resolved = resolve(sweep.document(point, faults), sweep.file, {}, catalog);
      whole = row_of(point, predict_analytic(resolved, catalog, MemoryAdvice::none, Extent::run_figures));
    } catch (const InputError& error) {
      whole = invalid_row(point, error.faults());
    }
    const std::string where = sweep.file + ' ' + values_at(sweep.points, point);
    EXPECT_EQ(quick.status, whole.status) << where;
    EXPECT_EQ(quick.error, whole.error) << where;
    EXPECT_EQ(quick.words, whole.words) << where;
    EXPECT_EQ(quick.figures.size(), whole.figures.size()) << where;
    for (std::size_t i = 0; i < std::min(quick.figures.size(), whole.figures.size()); ++i)
      EXPECT_TRUE(quick.figures[i] == whole.figures[i] || std::isnan(whole.figures[i]))
          << where << ' ' << figure_columns()[i].name << ' ' << quick.figures[i] << ' ' << whole.figures[i];
    ok += quick.status == PointStatus::ok ? 1 : 0;
  }
  return ok;
}

Json analytic_scenario(const std::string& name) {
  Diagnostics diagnostics(name);
  Json scenario = read_json(scenario_file(name), diagnostics);
  scenario["run"]["fidelity"] = "analytic";
  return scenario;
}

TEST(ClosedForm, RowsOfFamiliesAreThoseOfWholeScenarios) {
  // Legal and illegal strategies and batches, on clusters that differ, with and without a rule broken by the cluster.
  const Catalog& catalog = test::catalog();
  int ok = 0;
  for (const char* name : {"gpt3-175b-a100-1024", "llama3-70b-h100-512", "bert-large-16nodes", "resnet50-v100-8gpus"})
    ok += rows_of_whole_scenarios({name,
                                   analytic_scenario(name),
                                   points({{"cluster.nodes=16,3,64,128", "strategy.tensor_parallel=8,1,2,3",
                                            "workload.global_batch=1536,768,100,0",
                                            "strategy.recompute=none,full,partly", "strategy.sharding=none,zero-1",
                                            "cluster.fabric.oversubscription=1,2,0.5", "strategy.micro_batch=1,2"},
                                           {},
                                           false,
                                           RandomSample{400, 3}}),
                                   {}},
                                  catalog);
  EXPECT_GT(ok, 40);
}

// The work is stated of the scenario's batch of 1,024 samples, whichever a point has: at the critical batch of as many
// a batch of 2,048 takes (1 + 2)/(1 + 1) of it.
TEST(ClosedForm, TheWorkIsThatOfTheScenariosOwnBatch) {
  Json scenario = analytic_scenario("resnet50-v100-8gpus");
  scenario["workload"]["global_batch"] = 1024;
  scenario["workload"]["samples"] = 1e7;
  scenario["workload"].erase("epochs");
  scenario["workload"]["critical_batch"] = 1024;
  const SweepDefinition sweep{"resnet50", std::move(scenario), points({{"workload.global_batch=1024,2048"}}), {}};
  Diagnostics faults(sweep.file);
  const auto factor = [&](std::int64_t point) {
    return work_factor(resolve(sweep.document(point, faults), sweep.file, {}, test::catalog()));
  };
  EXPECT_DOUBLE_EQ(factor(0), 1);
  EXPECT_DOUBLE_EQ(factor(1), 1.5);
  EXPECT_EQ(rows_of_whole_scenarios(sweep, test::catalog()), 2);
}

TEST(ClosedForm, RowsOfUpdatesActorsAndSlowInputAreThoseOfWholeScenarios) {
  const Catalog& catalog = test::catalog();
  for (const char* name : {"systems/tensorflow-ps-async", "systems/parameter-server-ssp", "systems/local-sgd-diloco",
                           "systems/rl-actors-learners", "systems/dlrm"}) {
    const SweepDefinition sweep{name,
                                analytic_scenario(name),
                                points({{"strategy.update=synchronous,asynchronous", "cluster.nodes=8,16"}}),
                                {}};
    rows_of_whole_scenarios(sweep, catalog);
    const SweepDefinition own{name, analytic_scenario(name), points({{"strategy.micro_batch=1"}}), {}};
    rows_of_whole_scenarios(own, catalog);
  }
  // A hundred milliseconds of decoding starve the devices.
  const SweepDefinition slow{"slow input",
                             analytic_scenario("resnet50-v100-8nodes"),
                             points({{"workload.input.decode_ms=100,1", "workload.global_batch=16384,8192"}}),
                             {}};
  EXPECT_GT(rows_of_whole_scenarios(slow, catalog), 0);
}

// Phases of every kind and with every difference; one that differs has memory and a step of its own.
TEST(ClosedForm, RowsOfRunsOfPhasesAreThoseOfWholeScenarios) {
  for (const char* phases :
       {R"([{"name":"main"},{"tokens":1e9,"seq_len":16384,"global_batch":256}])",
        R"([{"tokens":1e9,"global_batch":256},{}])", R"([{"tokens":1e9,"global_batch_end":1024},{}])",
        R"([{"tokens":1e9,"set":["strategy.recompute=full"]},{}])",
        R"([{},{"kind":"evaluation","samples":512,"every_steps":100,"global_batch":256}])",
        R"([{},{"kind":"evaluation","samples":512,"times":4,"set":["cluster.clock_MHz=1200"]}])",
        R"([{},{"kind":"evaluation","samples":512},{"kind":"startup","time_s":600},{"kind":"compile","time_s":60}])"}) {
    Json scenario = analytic_scenario("llama3-70b-h100-512");
    scenario["workload"]["tokens"] = 1e11;
    scenario["run"]["phases"] = Json::parse(phases);
    const SweepDefinition sweep{
        phases, std::move(scenario), points({{"strategy.tensor_parallel=4,8", "workload.global_batch=512,1024"}}), {}};
    EXPECT_GT(rows_of_whole_scenarios(sweep, test::catalog()), 0) << phases;
  }
}

TEST(ClosedForm, RowsOfShippedScenariosAreThoseOfWholeScenarios) {
  for (const auto& entry : std::filesystem::directory_iterator(STEPCAST_SOURCE_DIR "/scenarios")) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() != ".json" || name.starts_with("plan-")) continue;
    const SweepDefinition sweep{name, analytic_scenario(name), points({{"run.seed=1,2"}}), {}};
    rows_of_whole_scenarios(sweep, test::catalog());
  }
}

TEST(ClosedForm, TimeToTrainAndCostAreARunsWithinAPercent) {
  // A sweep takes goodput from its formula, a run from trials.
  const Catalog& catalog = test::catalog();
  for (const char* name : {"llama3-405b-run", "gpt3-175b-a100-1024", "bloom-176b-a100-384"}) {
    const Scenario scenario = resolve(analytic_scenario(name), name, {}, catalog);
    const Prediction run = predict_analytic(scenario, catalog, MemoryAdvice::none);
    const Prediction row = predict_analytic(scenario, catalog, MemoryAdvice::none, Extent::run_figures);
    ASSERT_TRUE(run.time_to_train && row.time_to_train) << name;
    EXPECT_NEAR(*row.time_to_train / *run.time_to_train, 1, 0.01) << name;
    ASSERT_EQ(run.run_cost.has_value(), row.run_cost.has_value()) << name;
    if (run.run_cost) {
      EXPECT_NEAR(*row.run_cost / *run.run_cost, 1, 0.01) << name;
    }
    EXPECT_EQ(row.average_power, run.average_power) << name;
    EXPECT_EQ(row.cost_rate, run.cost_rate) << name;
  }
}

std::string exported(const std::filesystem::path& file) {
  std::string out;
  const ResultStore store(file);
  export_store(store, ExportFormat::csv, [&](std::string_view text) { out += text; });
  return out;
}

TEST(ResultStore, HoldsInputsFiguresErrorsAndWhereTheyComeFrom) {
  const ScratchFolder folder;
  const SweepOutcome outcome = run_sweep(small_sweep(), {.store = folder / "a.sqlite", .jobs = 2});
  EXPECT_EQ(outcome.progress.counts.done(), 12);
  EXPECT_GT(outcome.progress.counts.ok, 3);
  EXPECT_GT(outcome.progress.counts.invalid, 3) << "3 does not divide the devices";
  EXPECT_EQ(outcome.progress.counts.failed, 0);
  const ResultStore store(folder / "a.sqlite");
  const Json first = row_json(store, *store.row(0));
  EXPECT_EQ(first.at("cluster.nodes"), 1);
  EXPECT_GT(first.at("step_time_s").get<double>(), 0);
  EXPECT_EQ(first.at("catalog_hash"), store.identity().catalog_hash);
  EXPECT_THAT(store.row(1)->error, HasSubstr("/strategy"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.sqlite.lock"));
}

// What a store's rows rest on changes with a calibration, whoever names it: no row is computed with another one.
TEST(ResultStore, KnowsItsCalibrations) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder / "lab.calib.json";
  const auto calibrated = [&](double overhead_ms) {
    const Json constants{{"pytorch-ddp", {{"step_overhead_ms", overhead_ms}}}};
    write_file(file, Json{{"format_version", 1},
                          {"name", "lab"},
                          {"created", "2026-11-20"},
                          {"machine", Json::object()},
                          {"catalogue", {{"framework-constants", constants}}}}
                         .dump());
  };
  const auto identity = [&](bool given, bool named) {
    SweepDefinition sweep = small_sweep();
    if (given) sweep.catalog_directories.push_back(file);
    if (named) sweep.scenario["cluster"]["calibrations"] = {file.string()};
    return identity_of(sweep);
  };
  calibrated(5);
  const SweepIdentity plain = identity(false, false), given = identity(true, false), named = identity(false, true);
  EXPECT_NE(given.catalog_hash, plain.catalog_hash);
  EXPECT_EQ(named.catalog_hash, given.catalog_hash);
  EXPECT_EQ(given.models_hash, plain.models_hash);
  run_sweep(small_sweep(), {.store = folder / "a.sqlite", .jobs = 1});
  SweepDefinition again = small_sweep();
  again.catalog_directories.push_back(file);
  try {
    run_sweep(again, {.store = folder / "a.sqlite", .mode = StoreMode::resume, .jobs = 1});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("was computed with another catalogue or calibration"));
  }
  calibrated(6);
  EXPECT_NE(identity(true, false).catalog_hash, given.catalog_hash);
}

// What broke is told beside what is not legal, however many that are, and messages that differ in numbers are one.
TEST(ResultStore, ReasonsAreOfBothKindsAndWithoutTheirNumbers) {
  const ScratchFolder folder;
  const Executor one_breaks = [](const SweepDefinition& sweep, PendingPoints& pending, int, const RowSink& sink,
                                 const std::stop_token&) {
    for (const std::int64_t point : pending.take(static_cast<std::size_t>(sweep.points.size()))) {
      SweepRow row = invalid_row(point, {{"", "", fmt::format("{} does not divide node h100", point), ""}});
      if (point == 7) row = failed_row(point, "broke");
      sink({std::move(row)});
    }
  };
  run_sweep(small_sweep(), {.store = folder / "a.sqlite", .jobs = 1}, one_breaks);
  const std::vector<StoreReason> reasons = ResultStore(folder / "a.sqlite").reasons(1);
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].status, PointStatus::failed);
  EXPECT_EQ(reasons[0].error, "broke");
  EXPECT_FALSE(reasons[0].alike);
  EXPECT_EQ(reasons[1].count, 11);
  EXPECT_TRUE(reasons[1].alike);
  EXPECT_THAT(reasons[1].error, HasSubstr("does not divide node h100"));
}

TEST(ResultStore, StoppedAndResumedItIsTheSameAndNothingIsComputedTwice) {
  const ScratchFolder folder;
  run_sweep(small_sweep(), {.store = folder / "whole.sqlite", .jobs = 1});
  const SweepOptions resume{.store = folder / "parts.sqlite", .mode = StoreMode::resume, .jobs = 1};
  std::int64_t computed = 0;
  // An executor that evaluates four points and dies.
  const Executor dying = [](const SweepDefinition& sweep, PendingPoints& pending, int, const RowSink& sink,
                            const std::stop_token& stop) {
    std::vector<bool> rest(static_cast<std::size_t>(sweep.points.size()), true);
    for (const std::int64_t point : pending.take(4)) rest[static_cast<std::size_t>(point)] = false;
    PendingPoints some(std::move(rest));
    evaluate_here(sweep, some, 1, sink, stop);
    throw std::runtime_error("killed");
  };
  EXPECT_THROW(run_sweep(small_sweep(), resume, dying), std::runtime_error);
  EXPECT_THROW(run_sweep(small_sweep(), resume, dying), std::runtime_error);
  EXPECT_EQ(ResultStore(resume.store).counts().done(), 8);
  computed = run_sweep(small_sweep(), resume).progress.computed;
  EXPECT_EQ(computed, 4);
  EXPECT_EQ(run_sweep(small_sweep(), resume).progress.computed, 0);
  EXPECT_EQ(exported(folder / "parts.sqlite"), exported(folder / "whole.sqlite"));
}

TEST(ResultStore, StopRequestEndsASweepWithWhatItHas) {
  const ScratchFolder folder;
  std::stop_source stop;
  stop.request_stop();
  const SweepOutcome outcome =
      run_sweep(small_sweep(), {.store = folder / "a.sqlite", .jobs = 1, .stop = stop.get_token()});
  EXPECT_TRUE(outcome.stopped);
  EXPECT_LT(outcome.progress.counts.done(), 12);
}

std::string fault_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  } catch (const EnvironmentError& error) {
    return std::string("environment: ") + error.what();
  }
  return "no fault";
}

TEST(ResultStore, OtherSweepsVersionsAndFilesAreRefusedWithOneError) {
  const ScratchFolder folder;
  const auto file = folder / "a.sqlite";
  run_sweep(small_sweep(), {.store = file});
  const std::string before = exported(file);
  EXPECT_THAT(fault_of([&] { run_sweep(small_sweep(), {.store = file}); }), HasSubstr("is there already"));
  SweepDefinition other = small_sweep();
  other.scenario["cluster"]["nodes"] = 7;
  EXPECT_THAT(fault_of([&] { run_sweep(other, {.store = file, .mode = StoreMode::resume}); }),
              HasSubstr("another scenario"));
  SweepDefinition values = small_sweep();
  values.points = points({{"cluster.nodes=1,2"}});
  EXPECT_THAT(fault_of([&] { run_sweep(values, {.store = file, .mode = StoreMode::resume}); }),
              HasSubstr("other values"));
  SweepIdentity version = identity_of(small_sweep());
  version.version = "0.0.1";
  EXPECT_THAT(fault_of([&] { StoreWriter(file, version, 12, StoreMode::resume); }), HasSubstr("version"));
  EXPECT_EQ(exported(file), before) << "a refusal changes nothing";

  std::ofstream(folder / "text.sqlite") << "This is no database but a text of some length, as long as a header is.";
  EXPECT_THAT(fault_of([&] { ResultStore(folder / "text.sqlite"); }), HasSubstr("is no result store"));
  EXPECT_THAT(fault_of([&] { ResultStore(folder / "none.sqlite"); }), HasSubstr("there is no such store"));
  EXPECT_THAT(fault_of([&] { run_sweep(small_sweep(), {.store = folder / "no" / "a.sqlite"}); }),
              HasSubstr("cannot be written"));
}

TEST(ResultStore, SecondSweepIsKeptOff) {
  const ScratchFolder folder;
  const int lock = open((folder / "a.sqlite.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_THAT(fault_of([&] { run_sweep(small_sweep(), {.store = folder / "a.sqlite"}); }),
              HasSubstr("environment: " + (folder / "a.sqlite").string() + ": another sweep"));
  close(lock);
  EXPECT_EQ(run_sweep(small_sweep(), {.store = folder / "a.sqlite"}).progress.computed, 12);
}

TEST(ResultStore, DamagedFilesAreAnErrorAndNeverACrash) {
  const ScratchFolder folder;
  const auto file = folder / "a.sqlite";
  run_sweep(small_sweep(), {.store = file});
  const std::string sound = read_text(file);
  std::uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525U + 1013904223U; };
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    std::string bytes = sound;
    for (int k = 0; k < 40; ++k) bytes[(next() >> 4) % bytes.size()] = static_cast<char>(next() >> 24);
    if (i % 3 == 0) bytes.resize((next() >> 4) % bytes.size());
    std::ofstream(folder / "b.sqlite", std::ios::binary | std::ios::trunc) << bytes;
    const std::string said = fault_of([&] { (void)exported(folder / "b.sqlite"); });
    refused += said != "no fault" ? 1 : 0;
    EXPECT_THAT(said, testing::Not(HasSubstr("environment: "))) << "the file is at fault, not the machine";
    (void)fault_of([&] { run_sweep(small_sweep(), {.store = folder / "b.sqlite", .mode = StoreMode::resume}); });
  }
  EXPECT_GT(refused, 33);
}

TEST(ResultStore, TablesOfOtherColumnsAreDamage) {
  const ScratchFolder folder;
  const auto file = folder / "a.sqlite";
  run_sweep(small_sweep(), {.store = file});
  std::string bytes = read_text(file);
  const std::size_t column = bytes.find("(key TEXT");
  ASSERT_NE(column, std::string::npos);
  bytes[column + 1] = 'y';
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  EXPECT_THAT(fault_of([&] { (void)exported(file); }), HasSubstr("is damaged: no such column: key"));
}

// Found by a fuzzer: a length in it that SQLite cannot get memory for.
TEST(ResultStore, AbsurdLengthsAreDamage) {
  const auto file = std::filesystem::path(STEPCAST_SOURCE_DIR) / "tests/fuzz/corpus/store/absurd-length.sqlite";
  EXPECT_THAT(fault_of([&] { (void)exported(file); }), HasSubstr("is damaged"));
}

// Found by a fuzzer: -1.3e117 where a whole number belongs.
TEST(ResultStore, FiguresOfAnotherKindAreDamage) {
  const auto file = std::filesystem::path(STEPCAST_SOURCE_DIR) / "tests/fuzz/corpus/store/absurd-figure.sqlite";
  EXPECT_THAT(fault_of([&] { (void)exported(file); }), HasSubstr("is damaged: "));
}

TEST(ResultStore, AStatusOfAnotherNameIsDamage) {
  const ScratchFolder folder;
  const auto file = folder / "a.sqlite";
  run_sweep(small_sweep(), {.store = file});
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("UPDATE points SET status = 'fine' WHERE point = 0");
  EXPECT_THAT(fault_of([&] { (void)exported(file); }), HasSubstr("status of point 0 is no status of a point"));
}

TEST(RowFile, WholeLinesAreRowsAndHalfALineIsNone) {
  const ScratchFolder folder;
  const auto file = folder / "0.jsonl";
  SweepRow row = failed_row(3, "why");
  RowWriter(file).add({row, invalid_row(4, {{"f", "/a", "no", ""}})});
  std::ofstream(file, std::ios::app) << R"({"point":5,"sta)";
  std::vector<std::int64_t> seen;
  std::uintmax_t offset = 0;
  const auto read = [&] { read_rows(file, offset, [&](const SweepRow& r) { seen.push_back(r.point); }); };
  read();
  EXPECT_THAT(seen, ElementsAre(3, 4));
  RowWriter(file).add({failed_row(5, "again")});
  read();
  EXPECT_THAT(seen, ElementsAre(3, 4, 5));
}

}  // namespace
}  // namespace stepcast::sweep_test
