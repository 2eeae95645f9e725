#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/process.hpp"

namespace stepcast::shell_and_scripts_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// What a command of the system prints, its errors included; none of its words come from outside the tests.
struct Printed {
  int code = -1;
  std::string text;
};
Printed system_run(const std::string& command) {
  const ScratchFolder folder;
  const std::string file = (folder / "out").string();
  const int status =
      std::system(("PATH=" STEPCAST_BUILD_DIR "/bin:$PATH; (" + command + ") >" + file + " 2>&1").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(file)};
}
bool has_program(const std::string& name) { return system_run("command -v " + name).code == 0; }

/// What bash offers after `words`, the last of which is being typed.
std::vector<std::string> offered(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += " '" + word + "'";
  const Printed run = system_run(
      "bash -c 'source <(stepcast completion bash); COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _stepcast; "
      "printf \"%s\\n\" \"${COMPREPLY[@]}\"' bash" +
      list);
  EXPECT_EQ(run.code, 0) << run.text;
  std::vector<std::string> out;
  std::istringstream lines(run.text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) out.push_back(line);
  return out;
}

TEST(Completion, BashOffersCommandsOptionsAndChoicesOfTheProgram) {
  EXPECT_THAT(offered({"stepcast", "sca"}), ElementsAre("scale"));
  EXPECT_THAT(offered({"stepcast", "fabric", ""}), testing::IsSupersetOf({"show", "check", "export"}));
  EXPECT_THAT(offered({"stepcast", "run", "--fi"}), ElementsAre("--fidelity"));
  EXPECT_THAT(offered({"stepcast", "run", "my.json", "--fidelity", ""}), ElementsAre("simulated", "analytic"));
  EXPECT_THAT(offered({"stepcast", "run", "--js"}), ElementsAre("--json"));
  // A file name is the shell's to complete.
  EXPECT_THAT(offered({"stepcast", "run", "--trace", "x"}), IsEmpty());
}

/// The names that a help lists under a title, the first word of each line.
std::vector<std::string> listed(const std::string& help, const std::string& title) {
  std::vector<std::string> out;
  const std::size_t from = help.find("\n" + title + ":\n");
  if (from == std::string::npos) return out;
  std::istringstream lines(help.substr(from + title.size() + 3));
  for (std::string line; std::getline(lines, line) && line.starts_with("  ");)
    if (line[2] != ' ') out.push_back(line.substr(2, line.find(' ', 2) - 2));
  return out;
}

/// Every command that does something says how it is typed, with options that it has.
void expect_examples(const std::vector<std::string>& path) {
  std::vector<std::string> asked = path;
  asked.emplace_back("--help");
  const std::string help = stepcast_run(asked).out;
  std::string typed = "stepcast";
  for (const std::string& word : path) typed += " " + word;
  const std::vector<std::string> below = listed(help, "Subcommands");
  const std::size_t examples = help.find("Examples:\n");
  EXPECT_TRUE(!below.empty() || examples != std::string::npos) << typed;
  if (examples != std::string::npos) {
    std::istringstream lines(help.substr(examples));
    std::string line;
    std::getline(lines, line);
    for (; std::getline(lines, line) && line.starts_with("  ");) {
      EXPECT_THAT(line, StartsWith("  stepcast ")) << typed;
      if (path.empty()) continue;
      EXPECT_THAT(line, StartsWith("  " + typed)) << typed;
      std::istringstream words(line);
      for (std::string word; words >> word;)
        EXPECT_TRUE(!word.starts_with("-") || help.substr(0, examples).find(word) != std::string::npos)
            << typed << " has no " << word;
    }
  }
  for (const std::string& name : below) {
    std::vector<std::string> deeper = path;
    deeper.push_back(name);
    expect_examples(deeper);
  }
}

TEST(Help, EveryCommandShowsHowItIsTyped) { expect_examples({}); }

TEST(Completion, ZshAcceptsItsScript) {
  if (!has_program("zsh")) GTEST_SKIP() << "zsh is not installed";
  const Printed run = system_run("stepcast completion zsh | zsh -n /dev/stdin");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_EQ(run.text, "");
}

TEST(Completion, AShellItDoesNotKnowIsRefused) { EXPECT_EQ(stepcast_run({"completion", "fish"}).code, 2); }

TEST(Manual, HasAPageOfEveryCommandWithoutWarnings) {
  const ScratchFolder folder;
  const std::string pages = (folder / "man").string();
  std::filesystem::create_directory(pages);
  ASSERT_EQ(stepcast_run({"manual", pages}).code, 0);
  const std::vector<std::string> commands = offered({"stepcast", ""});
  ASSERT_THAT(commands, Contains("run"));
  for (const std::string& command : commands)
    EXPECT_THAT(read_text(pages + "/stepcast-" + command + ".1"), StartsWith(".TH STEPCAST-")) << command;
  EXPECT_THAT(read_text(pages + "/stepcast-run.1"), HasSubstr("\\-\\-fidelity"));
  EXPECT_THAT(read_text(pages + "/stepcast-fabric.1"), HasSubstr(".SS stepcast fabric show"));
  if (!has_program("groff")) GTEST_SKIP() << "groff is not installed: the pages' syntax was not checked";
  const Printed run = system_run("for page in " + pages + "/*.1; do groff -K utf8 -man -Tutf8 -ww -z $page; done");
  EXPECT_EQ(run.text, "");
}

/// A script beside the client of Python.
Printed python(const std::string& script) {
  const ScratchFolder folder;
  const std::string file = (folder / "script.py").string();
  write_file(file, script);
  return system_run("PYTHONPATH=" STEPCAST_SOURCE_DIR "/clients/python python3 -B " + file);
}

class PythonClient : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_program("python3")) GTEST_SKIP() << "python3 is not installed";
  }
};

TEST_F(PythonClient, PredictsWhatTheCommandLinePredicts) {
  const std::string file = scenario_file("resnet50-v100-8gpus");
  const Printed run = python(
      "import stepcast\n"
      "with stepcast.Stepcast() as forecast:\n"
      "    scenario = stepcast.load('" +
      file +
      "')\n"
      "    print(forecast.predict(scenario)['step_time_s'])\n"
      "    print(forecast.predict(scenario, {'run.fidelity': 'analytic'})['step_time_s'])\n");
  ASSERT_EQ(run.code, 0) << run.text;
  const auto time = [&](const std::string& fidelity) {
    return stepcast_run({"run", file, "--fidelity", fidelity, "--json"}).json().at("step_time_s").get<double>();
  };
  std::istringstream lines(run.text);
  double simulated = 0, analytic = 0;
  lines >> simulated >> analytic;
  EXPECT_DOUBLE_EQ(simulated, time("simulated"));
  EXPECT_DOUBLE_EQ(analytic, time("analytic"));
}

TEST_F(PythonClient, SaysEveryFaultOfAScenario) {
  const Printed run = python(
      "import stepcast\n"
      "with stepcast.Stepcast() as forecast:\n"
      "    scenario = stepcast.load('" +
      scenario_file("resnet50-v100-8gpus") +
      "')\n"
      "    try:\n"
      "        forecast.predict(scenario, {'cluster.node': 'dgx-1-v10', 'workload.batch': 3})\n"
      "    except stepcast.ScenarioError as error:\n"
      "        print(sorted(fault['pointer'] for fault in error.faults))\n");
  EXPECT_EQ(run.text, "['/cluster/node', '/workload/batch']\n");
}

/// More text than two pipes hold, in both directions.
TEST_F(PythonClient, AnswersManyInTheirOrder) {
  const Printed run = python(
      "import stepcast\n"
      "scenario = stepcast.load('" +
      scenario_file("resnet50-v100-8gpus") +
      "')\n"
      "scenario = stepcast.changed(scenario, {'run.fidelity': 'analytic', 'description': 'x' * 5000})\n"
      "with stepcast.Stepcast(jobs=2) as forecast:\n"
      "    many = [stepcast.changed(scenario, {'workload.global_batch': 8 * i if i != 7 else 0}) for i in range(1, "
      "41)]\n"
      "    answers = forecast.predict_many(many)\n"
      "    print(isinstance(answers[6], stepcast.ScenarioError), answers[0]['step_time_s'] < "
      "answers[39]['step_time_s'])\n");
  EXPECT_EQ(run.text, "True True\n");
}

TEST_F(PythonClient, AMissingProgramIsSaid) {
  const Printed run = python(
      "import stepcast\ntry:\n    stepcast.Stepcast('/no/such/stepcast')\nexcept stepcast.StepcastError as error:\n    "
      "print(error)\n");
  EXPECT_THAT(run.text, StartsWith("cannot start /no/such/stepcast"));
}

}  // namespace
}  // namespace stepcast::shell_and_scripts_test
