// Scripts that start a plan: by the framework's own means, with the settings that the forecast rests on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/launch/launch.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::launch_start_test {
namespace {

using test::catalog;
using testing::HasSubstr;
using testing::Not;

std::vector<NamedText> files_of(const char* node, const char* framework, const Json& cluster = Json::object()) {
  Json document{{"cluster", {{"node", node}, {"nodes", 2}}},
                {"workload", {{"model", "resnet50"}, {"global_batch", 2048}}},
                {"strategy", {{"framework", framework}}}};
  document["cluster"].update(cluster);
  return launch_files(resolve(document, "launched", {}, catalog()));
}

std::string script_of(const char* node, const char* framework, const Json& cluster = Json::object()) {
  return files_of(node, framework, cluster).at(1).text;
}

TEST(LaunchScripts, StartEachFrameworkByItsOwnMeans) {
  EXPECT_THAT(script_of("dgx-a100-80gb", "pytorch-ddp"), HasSubstr("exec torchrun --nnodes 2 --nproc-per-node 8 "));
  EXPECT_THAT(script_of("dgx-a100-80gb", "horovod"),
              HasSubstr("exec horovodrun -np 16 -H \"${HOSTS:?}\" python3 \"${TRAIN_SCRIPT:-train.py}\" --config "));
  EXPECT_THAT(files_of("dgx-a100-80gb", "horovod").at(2).text, HasSubstr("sed 's/$/:8/' | paste -sd,"));
  const std::string jax = script_of("dgx-a100-80gb", "jax");
  EXPECT_THAT(jax, HasSubstr("exec python3 \"${TRAIN_SCRIPT:-train.py}\" --config \"$HERE/settings.json\""));
  EXPECT_THAT(jax, Not(HasSubstr("torchrun")));
}

// A worker of torch-neuronx is a NeuronCore: 32 of an instance of Trn1, and 64 logical ones of Trn2.
TEST(LaunchScripts, StartAWorkerForEachNeuronCore) {
  EXPECT_THAT(script_of("aws-trn1.32xlarge", "neuronx"), HasSubstr("torchrun --nnodes 2 --nproc-per-node 32 "));
  EXPECT_THAT(script_of("aws-trn2.48xlarge", "neuronx"), HasSubstr("torchrun --nnodes 2 --nproc-per-node 64 "));
  // As AWS' tutorial states it: tensor 8 and data 16 on the 128 cores of four instances, each with 16 GB.
  const Scenario tutorial =
      resolve({{"cluster", {{"node", "aws-trn1.32xlarge"}, {"nodes", 4}}},
               {"workload", {{"model", "llama2-7b"}, {"global_batch", 256}}},
               {"strategy", {{"framework", "neuronx"}, {"tensor_parallel", 8}, {"data_parallel", 16}}}},
              "launched", {}, catalog());
  EXPECT_EQ(tutorial.devices(), 128);
  EXPECT_DOUBLE_EQ(tutorial.accelerator->memory.in(1_GB), 16);
}

TEST(LaunchScripts, AreNotWrittenForProgramsOfTheirOwn) {
  const std::vector<NamedText> files = files_of("dgx-a100-80gb", "parameter-server");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "settings.json");
  EXPECT_EQ(files[1].name, "launch.txt");
  EXPECT_THAT(files[1].text, HasSubstr("starts its processes by programs of its own"));
}

// One queue of kernels is Megatron-LM's wish; streams of FSDP would wait for each other in it.
TEST(LaunchScripts, LeaveTheQueuesOfOthersAlone) {
  EXPECT_THAT(script_of("dgx-a100-80gb", "pytorch-ddp"), Not(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS")));
  EXPECT_THAT(script_of("dgx-a100-80gb", "deepspeed"), Not(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS")));
}

TEST(LaunchScripts, SetThePowerAndTheClockThatThePlanRestsOn) {
  EXPECT_THAT(script_of("dgx-a100-80gb", "pytorch-ddp", {{"power_cap_W", 300}}),
              HasSubstr("\n(nvidia-smi --power-limit=300) >/dev/null || echo"));
  const Json both{{"power_cap_W", 300}, {"clock_MHz", 1200}};
  EXPECT_THAT(script_of("dgx-a100-80gb", "jax", both),
              HasSubstr("\n(nvidia-smi --power-limit=300 && nvidia-smi --lock-gpu-clocks=0,1200) >/dev/null"));
  // It runs on the first server alone, and would hold that one's devices alone.
  EXPECT_THAT(script_of("dgx-a100-80gb", "horovod", both),
              HasSubstr("\n# The plan holds each device to 300 W and to 1200 MHz: set that before, on all servers: "
                        "nvidia-smi --power-limit=300 && "));
  EXPECT_THAT(script_of("mi300x-platform-8", "pytorch-ddp", {{"nodes", 1}, {"power_cap_W", 600}}),
              HasSubstr("rocm-smi --setpoweroverdrive 600"));
  EXPECT_THAT(script_of("mi300x-platform-8", "pytorch-ddp", {{"nodes", 1}, {"clock_MHz", 1500}}),
              HasSubstr("# The plan holds each device to 1500 MHz: set that before."));
  EXPECT_THAT(script_of("dgx-a100-80gb", "pytorch-ddp"), Not(HasSubstr("The plan holds")));
}

}  // namespace
}  // namespace stepcast::launch_start_test
