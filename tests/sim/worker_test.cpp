#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include "sim/protocol/worker_client.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast::worker_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace fs = std::filesystem;

/// The real worker of this build, and a small scenario.
struct Worker : testing::Test {
  Worker() { ::setenv("STEPCAST_WORKER", STEPCAST_BUILD_DIR "/bin/stepcast-worker", 1); }
  ~Worker() override { ::unsetenv("STEPCAST_WORKER"); }

  static Json scenario() {
    Diagnostics diagnostics("scenario");
    Json out = read_json(STEPCAST_SOURCE_DIR "/scenarios/gpt3-175b-a100-1024.json", diagnostics);
    diagnostics.throw_if_faulty();
    return out;
  }
  static Request request(int id) {
    Request out;
    out.id = id;
    out.scenario = scenario();
    out.file = "gpt3.json";
    return out;
  }
  /// What the worker says to raw lines.
  static std::string said(const std::string& lines, const std::string& arguments = "") {
    const ScratchFolder folder;
    const fs::path input = folder / "in", output = folder / "out";
    std::ofstream(input) << lines;
    const std::string command = "\"$STEPCAST_WORKER\" " + arguments + " < " + input.string() + " > " + output.string();
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ifstream file(output);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(Worker, RunsOneRequest) {
  const Reply reply = WorkerClient::run_once(request(7));
  EXPECT_EQ(reply.error, "");
  EXPECT_THAT(reply.faults, IsEmpty());
  ASSERT_TRUE(reply.prediction);
  EXPECT_EQ(reply.id, 7);
  EXPECT_GT(reply.prediction->at("step_time_s").get<double>(), 0);
}

TEST_F(Worker, SaysHowFarItIs) {
  Request asked = request(1);
  const ScratchFolder folder;
  const fs::path file = folder / "progress";
  asked.progress = file.string();
  const Reply watched = WorkerClient::run_once(asked);
  ASSERT_TRUE(watched.prediction) << watched.error;
  std::size_t done = 0, all = 0;
  std::ifstream(file) >> done >> all;
  EXPECT_GT(all, 1000U);
  EXPECT_EQ(done, all);
  EXPECT_EQ(watched.prediction->dump(), WorkerClient::run_once(request(1)).prediction->dump());

  asked.progress = "/nowhere/progress";
  const Reply refused = WorkerClient::run_once(asked);
  ASSERT_EQ(refused.faults.size(), 1U);
  EXPECT_EQ(refused.faults[0].file, "/nowhere/progress");
}

TEST_F(Worker, AnswersAreTheSameHoweverManyRunAtOnce) {
  std::map<int, std::string> alone, together;
  for (const auto& [jobs, replies] : {std::pair{1, &alone}, std::pair{4, &together}}) {
    WorkerClient client(jobs);
    for (int id = 0; id < 12; ++id) {
      Request asked = request(id);
      asked.scenario["workload"]["global_batch"] = 768 * (1 + id % 3);
      client.submit(asked);
    }
    while (const auto reply = client.next()) {
      ASSERT_TRUE(reply->prediction) << reply->error;
      (*replies)[reply->id.get<int>()] = reply->prediction->dump();
    }
  }
  EXPECT_EQ(alone.size(), 12u);
  EXPECT_EQ(alone, together);
}

TEST_F(Worker, TellsEveryFaultOfAScenario) {
  Request asked = request(1);
  asked.scenario["cluster"]["node"] = "dgx-a100-80";
  asked.scenario["strategy"]["tensor_paralel"] = 8;
  const Reply reply = WorkerClient::run_once(asked);
  EXPECT_FALSE(reply.prediction);
  ASSERT_GE(reply.faults.size(), 2u);
  EXPECT_EQ(reply.faults.front().file, "gpt3.json");
}

TEST_F(Worker, ALineThatIsNoRequestIsAnsweredAndSurvived) {
  const std::string text =
      said("garbage\n{\"id\":4,\"command\":\"fly\"}\n{\"id\":\"x\",\"command\":\"ping\"}\n[1]\n\n{\"id\":5}");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_THAT(text, HasSubstr("\"id\":4,\"error\""));
  EXPECT_THAT(text, HasSubstr("{\"id\":\"x\",\"version\":"));
  EXPECT_THAT(said("garbage\n", "--once"), HasSubstr("\"error\""));
}

// What never ends is refused as soon as it is too long, not kept until memory does.
TEST_F(Worker, ALineWithoutEndIsRefusedOnceAndTheNextIsRead) {
  std::string text = said(std::string((130 << 20), 'a') + "\n{\"id\":1,\"command\":\"ping\"}\n");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text.substr(0, 1000);
  EXPECT_THAT(text, HasSubstr("larger than 64 MiB"));
  EXPECT_THAT(text, HasSubstr("{\"id\":1,\"version\":"));
}

TEST_F(Worker, ADeadWorkerIsAnErrorThatSaysHow) {
  WorkerClient client;
  ::kill(client.pid(), SIGKILL);
  client.submit(request(1));
  try {
    client.next();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("signal 9"));
  }
}

/// The worker's only child is killed while it runs; the worker says so and goes on with the next request.
TEST_F(Worker, AKilledChildIsAnErrorReplyAndTheWorkerLives) {
  WorkerClient client;
  Request slow = request(1);
  slow.scenario["run"]["granularity"] = "operator";
  client.submit(slow);
  const std::string children =
      "/proc/" + std::to_string(client.pid()) + "/task/" + std::to_string(client.pid()) + "/children";
  pid_t child = 0;
  for (int i = 0; i < 5000 && child == 0; ++i) {
    std::ifstream(children) >> child;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ASSERT_GT(child, 0);
  ::kill(child, SIGKILL);
  client.submit(request(2));
  const auto first = client.next(), second = client.next();
  EXPECT_EQ(first->id, 1);
  EXPECT_THAT(first->error, HasSubstr("signal 9"));
  EXPECT_EQ(second->id, 2);
  EXPECT_TRUE(second->prediction);
}

TEST_F(Worker, AMissingWorkerIsAnEnvironmentError) {
  ::setenv("STEPCAST_WORKER", "/nonexistent/stepcast-worker", 1);
  EXPECT_THROW(WorkerClient client, EnvironmentError);
}

/// The loader leaves with 127 when a library is missing.
TEST_F(Worker, AWorkerThatCannotLoadIsAnEnvironmentError) {
  const ScratchFolder folder;
  const fs::path script = folder / "unloadable";
  std::ofstream(script) << "#!/bin/sh\necho 'error while loading shared libraries: libsimgrid.so' >&2\nexit 127\n";
  fs::permissions(script, fs::perms::owner_all);
  ::setenv("STEPCAST_WORKER", script.c_str(), 1);
  try {
    WorkerClient::run_once(request(1));
    ADD_FAILURE();
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("libsimgrid"));
  }
}

}  // namespace
}  // namespace stepcast::worker_test
