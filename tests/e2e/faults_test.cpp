#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "tests/e2e/process.hpp"

namespace stepcast::faults_test {
namespace {

using testing::HasSubstr;

constexpr const char* kThreeFaults = R"({
  "format_version": 1,
  "name": "three faults",
  "cluster": {"node": "dgx-a100-80", "nodes": 2},
  "workload": {"model": "gpt3-175", "global_batch": 16},
  "strategy": {"framework": "megatron-lm", "tensor_paralel": 8}
})";

TEST(Faults, ThreeFaultsAreThreeErrors) {
  const ScratchFolder folder;
  const std::string file = (folder / "faulty.json").string();
  write_file(file, kThreeFaults);
  const Finished run = stepcast_run({"run", file});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 3) << run.err;
  EXPECT_THAT(run.err, HasSubstr(file + ": /cluster/node: "));
  EXPECT_THAT(run.err, HasSubstr(file + ": /workload/model: "));
  EXPECT_THAT(run.err, HasSubstr(file + ": /strategy/tensor_paralel: "));
}

TEST(Faults, AreJsonWhenJsonIsAskedFor) {
  const ScratchFolder folder;
  const std::string file = (folder / "faulty.json").string();
  write_file(file, kThreeFaults);
  const Finished run = stepcast_run({"run", file, "--json"});
  EXPECT_EQ(run.code, 2);
  const Json errors = run.json()["errors"];
  ASSERT_EQ(errors.size(), 3u);
  for (const Json& error : errors)
    for (const char* key : {"file", "pointer", "message", "suggestion"}) EXPECT_TRUE(error.contains(key)) << key;
}

TEST(Faults, AnIllegalDegreeExplainsItself) {
  const Finished run =
      stepcast_run({"run", scenario_file("gpt3-175b-a100-1024"), "--set", "strategy.tensor_parallel=7"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("/strategy"));
  EXPECT_THAT(run.err, HasSubstr("7"));
}

TEST(Faults, OneFormOfOutputIsAsked) {
  const std::string scenario = scenario_file("resnet50-v100-8nodes");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", scenario}, {"scale", scenario, "--nodes", "8"}}) {
    std::vector<std::string> both = arguments;
    both.insert(both.end(), {"--csv", "--json"});
    const Finished run = stepcast_run(both);
    EXPECT_EQ(run.code, 2) << arguments[0];
    EXPECT_THAT(run.json()["errors"][0]["suggestion"].get<std::string>(), HasSubstr("--csv")) << arguments[0];
  }
}

TEST(Faults, OfTheCommandLineAreBadInput) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"rum"},
        {},
        {"run", "--no-such-option"},
        {"run", "no-such-file.json"},
        {"run"},
        {"run", "x.json", "--fidelity", "guessed"},
        {"scale", scenario_file("gpt3-175b-a100-1024"), "--nodes", "4,2"},
        {"run", "--model", "gpt2", "--node", "dgx-a100-80gb", "--nodes", "0"},
        {"run", scenario_file("gpt3-175b-a100-1024"), "--set", "nonsense"}}) {
    const Finished run = stepcast_run(arguments);
    EXPECT_EQ(run.code, 2) << testing::PrintToString(arguments);
    EXPECT_NE(run.err, "") << testing::PrintToString(arguments);
  }
  EXPECT_THAT(stepcast_run({"rum"}).err, HasSubstr("did you mean \"run\"?"));
}

TEST(Faults, OfACheckAreItsResult) {
  const ScratchFolder folder;
  const std::string file = (folder / "faulty.json").string();
  write_file(file, kThreeFaults);
  const Finished bad = stepcast_run({"scenario", "check", file, scenario_file("workstation-single-gpu")});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("/cluster/node"));
  EXPECT_THAT(bad.out, HasSubstr("workstation-single-gpu.json: good"));
  EXPECT_EQ(stepcast_run({"scenario", "check", scenario_file("workstation-single-gpu")}).code, 0);
}

TEST(Faults, AFullDiskIsAnErrorOfTheSurroundings) {
  const Finished run = stepcast_run({"models", "list"}, "/dev/full");
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("cannot write to standard output"));
  EXPECT_EQ(stepcast_run({"--version"}, "/dev/full").code, 3);
}

TEST(Faults, AFileThatCannotBeWrittenIsBadInput) {
  const Finished run =
      stepcast_run({"run", scenario_file("workstation-single-gpu"), "--trace", "/no/such/folder/trace.json"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("cannot be written"));
  EXPECT_THAT(run.err, HasSubstr("directory /no does not exist"));
}

TEST(Faults, TwoOutputsAreTwoFiles) {
  const ScratchFolder folder;
  const std::string file = (folder / "out").string(), good = (folder / "good").string();
  const Finished same = stepcast_run({"run", scenario_file("workstation-single-gpu"), "--trace", file, "--html", file});
  EXPECT_EQ(same.code, 2);
  EXPECT_THAT(same.err, HasSubstr("--html: names the file of --trace"));
  // Nothing is written where a later file cannot be.
  const Finished bad = stepcast_run({"run", scenario_file("workstation-single-gpu"), "--write-scenario", good,
                                     "--prometheus", "/no/such/folder/p.prom"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_FALSE(std::filesystem::exists(good));
}

// What is read would be lost, whatever the command and the output.
TEST(Faults, NoOutputTakesThePlaceOfAnInput) {
  const ScratchFolder folder;
  const std::string scenario = (folder / "my.json").string(), other = (folder / "other.json").string(),
                    question = (folder / "plan.json").string(), baseline = (folder / "baseline.json").string(),
                    measured = (folder / "runs.csv").string();
  const std::string text = read_text(scenario_file("workstation-single-gpu"));
  write_file(scenario, text);
  write_file(other, text);
  write_file(question, read_text(scenario_file("plan-llama3-8b-deadline")));
  write_file(measured, "step_time_s\n1\n");
  ASSERT_EQ(stepcast_run({"check", scenario, "--baseline", baseline, "--update"}).code, 0);
  struct Case {
    std::vector<std::string> command;
    std::string option, file;
  };
  for (const auto& [command, option, file] : std::vector<Case>{
           {{"run", scenario}, "--trace", scenario},
           {{"run", scenario}, "--html", (folder / "." / "my.json").string()},
           {{"run", scenario}, "--prometheus", scenario},
           {{"run", scenario}, "--write-scenario", scenario},
           {{"run", scenario}, "--export-graph", scenario},
           {{"run", "--graph", scenario, "--node", "dgx-h100"}, "--trace", scenario},
           {{"scale", scenario, "--nodes", "1"}, "--svg", scenario},
           {{"compare", scenario, other}, "--html", other},
           {{"fabric", "export", scenario}, "--output", scenario},
           {{"collective", "--cluster", scenario, "--op", "all_reduce", "--sizes", "1M"}, "--plot", scenario},
           {{"check", scenario, "--baseline", baseline}, "--junit", scenario},
           {{"check", "--baseline", baseline}, "--markdown", scenario},
           {{"check", scenario, "--baseline", baseline}, "--prometheus", baseline},
           {{"check", scenario, "--measured", measured}, "--junit", measured},
           {{"check", scenario, "--update"}, "--baseline", scenario},
           {{"validate", "--file", measured}, "--record", measured},
           {{"sweep", scenario, "--set", "strategy.micro_batch=1"}, "--store", scenario},
       }) {
    const std::string before = read_text(file);
    std::vector<std::string> words = command;
    words.insert(words.end(), {option, file});
    const Finished run = stepcast_run(words);
    EXPECT_EQ(run.code, 2) << testing::PrintToString(words);
    EXPECT_THAT(run.err, HasSubstr(option + ": would overwrite ")) << testing::PrintToString(words);
    EXPECT_EQ(read_text(file), before) << testing::PrintToString(words);
  }
  const Finished plan = stepcast_run({"plan", question, "--output", folder.path().string()});
  EXPECT_EQ(plan.code, 2);
  EXPECT_THAT(plan.err, HasSubstr("--output: would overwrite " + question));
}

TEST(Faults, AFullDiskIsNoBadName) {
  const Finished run = stepcast_run(
      {"run", scenario_file("workstation-single-gpu"), "--fidelity", "analytic", "--prometheus", "/dev/full"});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("/dev/full: cannot be written"));
}

TEST(Faults, AnOptionBeforeAMisspeltCommandHidesNothing) {
  for (const std::vector<std::string>& before : {std::vector<std::string>{"--json"}, {"--catalog", "/tmp"}}) {
    std::vector<std::string> arguments = before;
    arguments.emplace_back("runn");
    EXPECT_THAT(stepcast_run(arguments).err, HasSubstr("there is no subcommand \"runn\"; did you mean \"run\"?"));
  }
}

TEST(Faults, AMissingWorkerIsNamed) {
  setenv("STEPCAST_WORKER", "/no/such/worker", 1);
  const Finished run = stepcast_run({"run", scenario_file("workstation-single-gpu")});
  unsetenv("STEPCAST_WORKER");
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("stepcast-worker"));
}

TEST(Help, SaysWhatEverySubcommandDoes) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"run", "--help"},
                                                    {"scale", "--help"},
                                                    {"scenario", "--help"},
                                                    {"catalog", "--help"},
                                                    {"models", "--help"},
                                                    {"frameworks", "--help"}}) {
    const Finished run = stepcast_run(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("Usage: "));
  }
}

TEST(Lists, NameModelsAndFrameworks) {
  EXPECT_THAT(stepcast_run({"models", "list"}).out, HasSubstr("gpt3-175b"));
  EXPECT_THAT(stepcast_run({"frameworks", "list"}).out, HasSubstr("megatron-lm"));
  EXPECT_EQ(stepcast_run({"models", "show", "gpt3-175b"}).json()["id"], "gpt3-175b");
  EXPECT_EQ(stepcast_run({"frameworks", "show", "megatron-lm", "--json"}).json()["id"], "megatron-lm");
  EXPECT_EQ(stepcast_run({"models", "show", "gpt3-175"}).code, 2);
}

/// A file of so many bytes that takes no space on the disk.
std::string sparse_file(const std::filesystem::path& file, std::uintmax_t bytes) {
  std::ofstream(file).put('{');
  std::filesystem::resize_file(file, bytes);
  return file.string();
}

// KiB of a process that refuses a file; sanitizers keep a multiple beside it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long kMostMemory = 1000 * 1024;
#else
constexpr long kMostMemory = 200 * 1024;
#endif

// Every program that reads a file refuses an absurd one, with one error, before it has spent memory on it.
TEST(Hostile, AFileOfAGibibyteIsRefusedAtOnce) {
  const ScratchFolder folder;
  const std::string file = sparse_file(folder / "big", std::uintmax_t{1} << 30), out = (folder / "out").string();
  const std::string scenario = STEPCAST_SOURCE_DIR "/scenarios/bert-large-16nodes.json";
  std::vector<std::vector<std::string>> commands{
      {"run", file},
      {"plan", file},
      {"validate", "--file", file},
      {"check", scenario, "--measured", file},
      {"check", scenario, "--baseline", file},
      {"check", "--timings", file, "--baseline", file},
      {"calibrate", "fit", file, "-o", out},
      {"run", scenario, "--calibration", file},
      {"run", scenario, "--graph", file},
      {"compare", scenario, file},
  };
  for (const char* kind : {"nccl-topology",
                           "nvidia-smi-topo",
                           "slurm-topology",
                           "astra-sim",
                           "chakra",
                           "huggingface",
                           "megatron",
                           "deepspeed",
                           "accelerate",
                           "torchtitan",
                           "kineto",
                           "nccl-tests",
                           "osu",
                           "imb",
                           "ucc",
                           "fio",
                           "nvidia-smi",
                           "dcgm",
                           "prometheus",
                           "ipmi"})
    commands.push_back({"import", kind, file, "-o", out});
  for (const std::vector<std::string>& command : commands) {
    const Finished run = stepcast_run(command);
    SCOPED_TRACE(fmt::format("{}: {}", fmt::join(command, " "), run.err));
    EXPECT_EQ(run.code, 2);
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, kMostMemory) << "KiB, the most of any command";
}

// The directory that the page's example names is not there yet.
TEST(Import, WritesAllFilesOrNone) {
  const ScratchFolder folder;
  const std::string network = (folder / "n.yml").string(), out = (folder / "new").string();
  write_file(network, "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 400.0 ]\nlatency: [ 936.25 ]\n");
  const Finished made = stepcast_run({"import", "astra-sim", network, "-o", out + "/"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(std::filesystem::exists(out + "/scenario.json"));
  EXPECT_TRUE(std::filesystem::exists(out + "/nodes/astra-n.json"));
  const std::string bare = (folder / "bare").string();
  EXPECT_EQ(stepcast_run({"import", "astra-sim", network, "-o", bare}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(bare + "/scenario.json"));
  EXPECT_TRUE(std::filesystem::exists(bare + "/nodes/astra-n.json"));
  EXPECT_EQ(stepcast_run({"import", "astra-sim", network, "-o", (folder / "s.json").string()}).code, 0);
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "s.json"));
  // A directory stands where the scenario would be written.
  std::filesystem::create_directories(folder / "full" / "scenario.json");
  const Finished failed = stepcast_run({"import", "astra-sim", network, "-o", (folder / "full").string()});
  EXPECT_EQ(failed.code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder / "full" / "nodes" / "astra-n.json"));
}

// Names of switches and devices go into JSON.
TEST(Hostile, NamesThatAreNoUtf8AreErrors) {
  const ScratchFolder folder;
  const std::string file = (folder / "topology.conf").string(), out = (folder / "out.json").string();
  write_file(file, "SwitchName=leaf0 Nodes=node0\nSwitchName=sp\x8d\x8dine Switches=leaf0\n");
  for (const char* kind : {"slurm-topology", "nvidia-smi-topo", "nccl-topology", "fio"}) {
    const Finished run = stepcast_run({"import", kind, file, "-o", out});
    EXPECT_EQ(run.code, 2) << kind << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr("no UTF-8")) << kind;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

TEST(Hostile, DeepNestingAndAbsurdNumbersAreErrors) {
  const ScratchFolder folder;
  const std::string deep = (folder / "deep.json").string();
  write_file(deep, std::string(5'000'000, '['));
  EXPECT_EQ(stepcast_run({"run", deep}).code, 2);
  const std::string scenario = STEPCAST_SOURCE_DIR "/scenarios/bert-large-16nodes.json";
  for (const char* absurd : {"cluster.nodes=1000000000", "workload.global_batch=1e300", "cluster.nodes=-1",
                             "strategy.tensor_parallel=99999999999999999999", "workload.seq_len=1e18"})
    EXPECT_EQ(stepcast_run({"run", scenario, "--set", absurd}).code, 2) << absurd;
  EXPECT_EQ(stepcast_run(
                {"collective", "--op", "all_reduce", "--sizes", "1K", "--ranks", "2000000000", "--cluster", "dgx-h100"})
                .code,
            2);
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, kMostMemory) << "KiB, the most of any command";
}

}  // namespace
}  // namespace stepcast::faults_test
