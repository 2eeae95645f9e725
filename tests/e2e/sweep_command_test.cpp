// `stepcast sweep` and `stepcast check` through the real program: killed, resumed, stopped, refused, on Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/e2e/process.hpp"

namespace stepcast::sweep_command_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

/// A program that runs while the test goes on.
class Running {
 public:
  explicit Running(std::vector<std::string> words) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int stream : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
    if (posix_spawnp(&child_, argv[0], &actions, nullptr, argv.data(), environ) != 0) throw std::runtime_error(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
  }
  void send(int signal) const { kill(child_, signal); }
  /// Exit code, or 128 + signal.
  int wait() const {
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t child_ = 0;
};

std::vector<std::string> program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), STEPCAST_BUILD_DIR "/bin/stepcast");
  return arguments;
}

/// 8,000 configurations in closed form: a second or so on any machine.
std::vector<std::string> short_sweep(const std::filesystem::path& store, const std::vector<std::string>& more = {}) {
  std::vector<std::string> out{"sweep",      scenario_file("bert-large-16nodes"),
                               "--fidelity", "analytic",
                               "--set",      "cluster.nodes=1..40",
                               "--set",      "workload.global_batch=1024..4096+1024",
                               "--set",      "cluster.fabric.nic_bandwidth_Gbps=25..1250+25",
                               "--store",    store.string()};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::string exported(const std::filesystem::path& store, const std::string& format = "--csv") {
  const Finished run = stepcast_run({"sweep", "export", store.string(), format});
  EXPECT_EQ(run.code, 0) << run.err;
  return run.out;
}

TEST(Sweep, SimulatedAndAnalyticRowsAreWhatRunPrints) {
  const ScratchFolder folder;
  const std::string file = scenario_file("bert-large-16nodes"), store = (folder / "s.sqlite").string();
  const Finished run = stepcast_run({"sweep", file, "--set", "cluster.nodes=1,2,3", "--set",
                                     "run.fidelity=simulated,analytic", "--store", store, "--jobs", "2", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.json().at("done"), 6);
  std::istringstream lines(exported(store, "--jsonl"));
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const Json row = Json::parse(line);
    const Finished alone =
        stepcast_run({"run", file, "--json", "--set", "cluster.nodes=" + row.at("cluster.nodes").dump(), "--fidelity",
                      row.at("run.fidelity").get<std::string>()});
    if (alone.code != 0) {
      EXPECT_EQ(row.at("status"), "invalid");
      continue;
    }
    const Json report = alone.json();
    EXPECT_EQ(row.at("step_time_s"), report.at("step_time_s"));
    EXPECT_EQ(row.at("memory.peak_GiB"), report.at("memory").at("peak_GiB"));
    EXPECT_EQ(row.at("energy.per_step_J"), report.at("energy").at("per_step_J"));
    EXPECT_EQ(row.at("evidence.grade"), report.at("evidence").at("grade"));
  }
  EXPECT_EQ(rows, 6);
}

TEST(Sweep, AnalyticRowsCountPhasesAsRunDoes) {
  const ScratchFolder folder;
  const std::string file = scenario_file("llama3-405b-run"), store = (folder / "s.sqlite").string();
  const std::vector<std::string> how{"--set", "strategy.virtual_pipeline=8", "--fidelity", "analytic"};
  std::vector<std::string> sweep{"sweep", file, "--store", store}, alone{"run", file, "--json"};
  sweep.insert(sweep.end(), how.begin(), how.end());
  alone.insert(alone.end(), how.begin(), how.end());
  const Finished swept = stepcast_run(sweep);
  ASSERT_EQ(swept.code, 0) << swept.err;
  const Json row = Json::parse(exported(store, "--jsonl")), report = stepcast_run(alone).json();
  EXPECT_EQ(row.at("step_time_s"), report.at("step_time_s"));
  EXPECT_EQ(row.at("memory.peak_GiB"), report.at("memory").at("peak_GiB"));
  // A sweep takes goodput from its formula, a run from trials.
  EXPECT_NEAR(row.at("time_to_train_s").get<double>() / report.at("time_to_train_s").get<double>(), 1, 0.01);
}

TEST(Sweep, KilledFiftyTimesItLosesNothing) {
  const ScratchFolder folder;
  ASSERT_EQ(stepcast_run(short_sweep(folder / "whole.sqlite")).code, 0);
  const std::string whole = exported(folder / "whole.sqlite");
  std::uint32_t state = 1;
  int killed = 0, finished = 0;
  for (int store = 0; killed < 50; ++store) {
    const auto file = folder / ("killed" + std::to_string(store) + ".sqlite");
    // At random moments, until the sweep gets through.
    while (true) {
      const Running run(program(short_sweep(file, {"--resume", "--jobs", "1"})));
      state = state * 1664525U + 1013904223U;
      std::this_thread::sleep_for(milliseconds(5 + (state >> 8) % 300));
      if (killed < 50) run.send(SIGKILL);
      if (run.wait() == 0) break;
      ++killed;
    }
    ++finished;
    EXPECT_EQ(exported(file), whole);
  }
  RecordProperty("killed", killed);
  EXPECT_GE(finished, 1);
}

TEST(Sweep, CtrlCStopsCleanlyAndResumeGoesOn) {
  const ScratchFolder folder;
  const auto file = folder / "s.sqlite";
  const std::vector<std::string> arguments{"sweep",   scenario_file("gpt3-175b-a100-1024"),
                                           "--set",   "workload.global_batch=1536..153600+1536",
                                           "--store", file.string()};
  const Running run(program(arguments));
  std::this_thread::sleep_for(milliseconds(1500));
  run.send(SIGINT);
  EXPECT_EQ(run.wait(), 130);
  const Finished counts = stepcast_run({"sweep", "show", file.string(), "--json"});
  ASSERT_EQ(counts.code, 0) << counts.err;
  EXPECT_LT(counts.json().at("done").get<int>(), 100);
  EXPECT_EQ(counts.json().at("failed"), 0) << "what the signal ended is no result";
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".lock"));
}

TEST(Sweep, TwoAtOnceAnExistingStoreAndAFolderThatIsNoneAreOneErrorEach) {
  const ScratchFolder folder;
  const auto file = folder / "s.sqlite";
  ASSERT_EQ(stepcast_run(short_sweep(file)).code, 0);
  const Finished again = stepcast_run(short_sweep(file));
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("is there already; --resume"));
  const Finished nowhere = stepcast_run(short_sweep(folder / "none" / "s.sqlite"));
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot be written"));
  const auto busy = folder / "busy.sqlite";
  const Running first(program(short_sweep(busy, {"--jobs", "1"})));
  // Held up while it has the store, which it makes once it holds the lock.
  while (!std::filesystem::exists(busy)) std::this_thread::sleep_for(milliseconds(1));
  first.send(SIGSTOP);
  const Finished second = stepcast_run(short_sweep(busy, {"--resume"}));
  first.send(SIGCONT);
  EXPECT_EQ(second.code, 3) << second.err;
  EXPECT_THAT(second.err, HasSubstr("another sweep is writing"));
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(exported(busy), exported(file));
}

// A store of points that none could be legal would stand in the way of the corrected command.
TEST(Sweep, AMisspeltKeyIsBadInputAndNothingIsWritten) {
  const ScratchFolder folder;
  const auto file = folder / "s.sqlite";
  const auto sweep = [&](const std::string& axis) {
    return stepcast_run({"sweep", scenario_file("bert-large-16nodes"), "--fidelity", "analytic", "--set", axis,
                         "--store", file.string()});
  };
  const Finished misspelt = sweep("cluster.nods=1,2");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("cluster has no key \"nods\"; did you mean \"node\"?"));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(sweep("cluster.nodes=1,2").code, 0);
}

TEST(Sweep, OptionsThatNothingHeedsAreRefused) {
  const ScratchFolder folder;
  for (const std::vector<std::string>& idle :
       {std::vector<std::string>{"--partition", "gpu"}, {"--tasks", "3"}, {"--sbatch=--x"}, {"--retry-failed"}}) {
    const Finished run = stepcast_run(short_sweep(folder / "s.sqlite", idle));
    EXPECT_EQ(run.code, 2) << Json(idle).dump();
    EXPECT_FALSE(std::filesystem::exists(folder / "s.sqlite"));
  }
}

TEST(Sweep, FullDiskIsOneErrorAndWhatWasStoredStays) {
  const ScratchFolder folder;
  const auto disk = folder / "disk";
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here (it takes root): a full disk was not tested";
  const Finished full = stepcast_run(short_sweep(disk / "s.sqlite"));
  const Finished counts = stepcast_run({"sweep", "show", (disk / "s.sqlite").string(), "--json"});
  const bool larger = mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0;
  const Finished resumed = stepcast_run(short_sweep(disk / "s.sqlite", {"--resume"}));
  const std::string rows = exported(disk / "s.sqlite");
  umount2(disk.c_str(), MNT_DETACH);
  EXPECT_EQ(full.code, 3) << full.err;
  EXPECT_THAT(full.err, HasSubstr("the disk is full"));
  EXPECT_EQ(std::count(full.err.begin(), full.err.end(), '\n'), 1) << full.err;
  EXPECT_EQ(counts.code, 0) << counts.err;
  ASSERT_TRUE(larger);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  ASSERT_EQ(stepcast_run(short_sweep(folder / "whole.sqlite")).code, 0);
  EXPECT_EQ(rows, exported(folder / "whole.sqlite"));
}

/// A Slurm of its own, if this machine can have one.
class SlurmNode {
 public:
  SlurmNode() { reason_ = run("start"); }
  ~SlurmNode() { (void)run("stop"); }
  SlurmNode(const SlurmNode&) = delete;
  SlurmNode& operator=(const SlurmNode&) = delete;
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::string run(const std::string& command) {
    const std::string words = "bash " STEPCAST_SOURCE_DIR "/tests/e2e/slurm_node.sh " + command + " " +
                              (folder_ / "slurm").string() + " >" + (folder_ / "said").string() + " 2>&1";
    const int status = std::system(words.c_str());
    if (command == "start") {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      setenv("SLURM_CONF", (folder_ / "slurm" / "slurm.conf").c_str(), 1);
    }
    return read_text(folder_ / "said");
  }
  ScratchFolder folder_;
  int code_ = 1;
  std::string reason_;
};

TEST(SlurmSweep, AnArrayWithOneTaskKilledIsResumedAndEqualsALocalSweep) {
  const SlurmNode node;
  if (node.code() == 77) GTEST_SKIP() << "NOT TESTED: " << node.reason();
  ASSERT_EQ(node.code(), 0) << node.reason();
  const ScratchFolder folder;
  const auto file = folder / "s.sqlite";
  // Large steps, so that a task lasts long enough to be killed.
  const auto arguments = [&](const std::filesystem::path& store, const std::vector<std::string>& more) {
    std::vector<std::string> out{"sweep",   scenario_file("gpt3-175b-a100-1024"),
                                 "--set",   "workload.global_batch=1536..30720+1536",
                                 "--set",   "cluster.nodes=128,256",
                                 "--store", store.string()};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  const std::vector<std::string> on_slurm{"--executor", "slurm", "--partition", "debug", "--tasks", "4",
                                          "--time",     "10",    "--mem",       "50",    "--resume"};
  const Running run(program(arguments(file, on_slurm)));
  // The first task that has written a row is killed.
  bool killed = false;
  for (int i = 0; i < 600 && !killed; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    const std::string job = read_text(file.string() + ".tasks/job");
    for (int task = 0; task < 4 && !killed && !job.empty(); ++task)
      if (!read_text(file.string() + ".tasks/rows/" + std::to_string(task) + ".jsonl").empty()) {
        const Running cancel({"scancel", job + "_" + std::to_string(task)});
        killed = cancel.wait() == 0;
      }
  }
  ASSERT_TRUE(killed);
  const int code = run.wait();
  if (code == 0) GTEST_SKIP() << "NOT TESTED: the task was done before it was killed";
  EXPECT_EQ(code, 3);
  const Finished between = stepcast_run({"sweep", "show", file.string(), "--json"});
  EXPECT_LT(between.json().at("done").get<int>(), 40);
  const Finished resumed = stepcast_run(arguments(file, on_slurm));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".tasks"));
  ASSERT_EQ(stepcast_run(arguments(folder / "local.sqlite", {})).code, 0);
  EXPECT_EQ(exported(file), exported(folder / "local.sqlite"));
}

TEST(SlurmSweep, WithoutSlurmItSaysSo) {
  const ScratchFolder folder;
  const char* before = std::getenv("PATH");
  ASSERT_NE(before, nullptr);
  const std::string path = before;
  setenv("PATH", "/nowhere", 1);
  const Finished run = stepcast_run(short_sweep(folder / "s.sqlite", {"--executor", "slurm"}));
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("cannot start sbatch"));
}

/// A repository whose baseline has been accepted.
class Check : public testing::Test {
 protected:
  Check() {
    std::filesystem::copy_file(scenario_file("bert-large-16nodes"), scenario_);
    const Finished update = check({"--baseline", baseline_, "--update", scenario_});
    EXPECT_EQ(update.code, 0) << update.err;
  }
  static Finished check(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"check", "--fidelity", "analytic"});
    return stepcast_run(arguments);
  }
  [[nodiscard]] double step_time() const {
    return stepcast_run({"run", scenario_, "--fidelity", "analytic", "--json"}).json().at("step_time_s").get<double>();
  }
  ScratchFolder folder_;
  std::string scenario_ = (folder_ / "job.json").string(), baseline_ = (folder_ / "baseline.json").string();
};

TEST_F(Check, PassesWhatDidNotChangeAndFailsWhatBecameSlower) {
  EXPECT_EQ(check({"--baseline", baseline_}).code, 0);
  const std::string junit = (folder_ / "junit.xml").string(), markdown = (folder_ / "summary.md").string();
  const Finished slower = check({"--baseline", baseline_, "--set", "cluster.fabric.nic_bandwidth_Gbps=1", "--junit",
                                 junit, "--markdown", markdown});
  EXPECT_EQ(slower.code, 1) << slower.err;
  EXPECT_THAT(slower.out, HasSubstr("regression"));
  EXPECT_THAT(read_text(junit), HasSubstr("<failure type=\"regression\""));
  EXPECT_THAT(read_text(junit), StartsWith("<?xml"));
  EXPECT_THAT(read_text(markdown), HasSubstr("| tokens\\_per\\_s |"));
  EXPECT_EQ(check({"--baseline", baseline_, "--set", "cluster.fabric.nic_bandwidth_Gbps=1", "--tolerance",
                   "tokens_per_s=99%", "--tolerance", "energy.per_sample_J=9999", "--tolerance", "time_to_train_s=9999",
                   "--tolerance", "cost.run_usd=9999"})
                .code,
            0);
}

TEST_F(Check, ScenariosThatBrokeOrAreNewFail) {
  const std::string junit = (folder_ / "junit.xml").string();
  const std::string gone = (folder_ / "gone.json").string();
  for (const Finished& broken : {check({"--baseline", baseline_, "--set", "strategy.tensor_parallel=3", "--set",
                                        "strategy.pipeline_parallel=5"}),
                                 check({"--baseline", baseline_, scenario_, gone, "--junit", junit})}) {
    EXPECT_EQ(broken.code, 2) << "a scenario that is none is bad input";
    EXPECT_THAT(broken.out, HasSubstr("FAILED"));
  }
  EXPECT_THAT(read_text(junit), HasSubstr("job.json")) << "the others are checked all the same";
  EXPECT_THAT(read_text(junit), HasSubstr("name=\"comparison 1\""));
  EXPECT_THAT(read_text(junit), HasSubstr("name=\"comparison 2\""));
  const Finished fresh = check({"--baseline", baseline_, scenario_file("gpt3-175b-a100-1024")});
  EXPECT_EQ(fresh.code, 1);
  EXPECT_THAT(fresh.out, HasSubstr("is not in the baseline"));
}

TEST_F(Check, AScenarioThatDoesNotFitIsAcceptedInSoManyWords) {
  const Finished update = check({"--baseline", (folder_ / "b.json").string(), "--update", scenario_, "--set",
                                 "strategy.micro_batch=2048", "--set", "workload.global_batch=262144"});
  EXPECT_EQ(update.code, 0) << update.err;
  EXPECT_THAT(update.out, HasSubstr("does not fit memory, and was accepted all the same"));
}

TEST_F(Check, StepsOfAnotherBatchAreRefused) {
  const std::string log = STEPCAST_SOURCE_DIR "/tests/data/measured/megatron.log";
  const std::string scenario = scenario_file("gpt3-175b-a100-1024");
  const std::string said = "its steps have a global batch of 1536, and that of " + scenario + " is 3072; --set ";
  const Finished checked = check({scenario, "--measured", log, "--set", "workload.global_batch=3072"});
  EXPECT_EQ(checked.code, 2);
  EXPECT_THAT(checked.err, HasSubstr(said));
  const Finished fitted =
      stepcast_run({"calibrate", "step", scenario, "--log", log, "--set", "workload.global_batch=3072"});
  EXPECT_EQ(fitted.code, 2);
  EXPECT_THAT(fitted.err, HasSubstr(said));
  EXPECT_NE(check({scenario, "--measured", log}).code, 2);
}

TEST_F(Check, MeasuredThroughputThatFellAwayFails) {
  const std::string csv = (folder_ / "run.csv").string();
  const auto write_run = [&](double factor) {
    std::string text = "step,step_time_s\n1,99\n";
    for (int step = 2; step < 20; ++step)
      text += std::to_string(step) + "," + std::to_string(step_time() * factor) + "\n";
    write_file(csv, text);
  };
  write_run(1.01);
  EXPECT_EQ(check({scenario_, "--measured", csv}).code, 0);
  EXPECT_EQ(check({scenario_, "--measured", csv, "--tolerance", "step_time_s=0.5%"}).code, 1);
  write_run(4);
  const Finished slow = check({scenario_, "--measured", csv, "--prometheus", (folder_ / "p.prom").string()});
  EXPECT_EQ(slow.code, 1);
  EXPECT_THAT(read_text(folder_ / "p.prom"), HasSubstr("stepcast_forecast_step_time_seconds{scenario=\""));
}

TEST_F(Check, NonsenseIsBadInput) {
  write_file((folder_ / "x.log").string(), "nothing to see\n");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--baseline", (folder_ / "none.json").string()},
        {scenario_},
        {"--baseline", baseline_, "--tolerance", "tokens_per_sec=2%"},
        {"--measured", (folder_ / "x.log").string(), scenario_},
        {"--measured", (folder_ / "none.csv").string(), scenario_},
        {"--measured", (folder_ / "x.log").string()},
        {"--baseline", baseline_, "--series", "step_time_s=x"}})
    EXPECT_EQ(check(arguments).code, 2) << Json(arguments).dump();
}

}  // namespace
}  // namespace stepcast::sweep_command_test
