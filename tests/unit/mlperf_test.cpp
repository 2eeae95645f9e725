#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/mlperf/convergence_points.hpp"
#include "calibration/validation/mlperf/evaluations.hpp"
#include "calibration/validation/mlperf/mlperf_run.hpp"
#include "calibration/validation/prediction_of_run.hpp"

namespace stepcast::mlperf_test {
namespace {

using testing::HasSubstr;

TEST(ConvergencePoints, LieBetweenTheirNeighbours) {
  const ConvergencePoints points(
      parse_csv("benchmark,global_batch,samples_to_target\na,100,1000\na,300,2000\nb,8,50\n", "t.csv"));
  EXPECT_DOUBLE_EQ(*points.samples("a", 100), 1000);
  EXPECT_DOUBLE_EQ(*points.samples("a", 200), 1500);
  EXPECT_DOUBLE_EQ(*points.samples("a", 10), 1000);
  EXPECT_EQ(points.samples("a", 301), std::nullopt);
  EXPECT_EQ(points.samples("c", 10), std::nullopt);
  EXPECT_TRUE(points.has("b"));
}

TEST(ConvergencePoints, ShippedOnesNeedMoreSamplesAtLargerBatches) {
  const ConvergencePoints& points = ConvergencePoints::shipped();
  EXPECT_NEAR(*points.samples("resnet", 3264) / 1281167, 35.2, 0.1);  // epochs of ImageNet
  EXPECT_GT(*points.samples("bert", 12288), *points.samples("bert", 1536));
  EXPECT_GT(*points.samples("llama2_70b_lora", 64), *points.samples("llama2_70b_lora", 8));
}

TEST(MlperfAccelerator, IsFoundInTheWordsOfSubmissions) {
  EXPECT_EQ(mlperf_accelerator("NVIDIA A100-SXM4-80GB (400W)"), "a100-sxm-80gb");
  EXPECT_EQ(mlperf_accelerator("NVIDIA A100-PCIE-40GB (250W)"), "a100-pcie-40gb");
  EXPECT_EQ(mlperf_accelerator("NVIDIA Blackwell GPU (GB200)"), "gb200");
  EXPECT_EQ(mlperf_accelerator("NVIDIA Blackwell GPU (B200-SXM-180GB)"), "b200-sxm-180gb");
  EXPECT_EQ(mlperf_accelerator("NVIDIA L40S"), "l40s");
  EXPECT_EQ(mlperf_accelerator("NVIDIA L4"), "l4");
  EXPECT_EQ(mlperf_accelerator("AMD Instinct MI325X 256GB HBM3E"), "mi325x");
  EXPECT_EQ(mlperf_accelerator("NVIDIA H100 PCIe 80GB"), "h100-pcie-80gb");
  EXPECT_EQ(mlperf_accelerator("NVIDIA H200"), "h200-sxm-141gb");
  EXPECT_EQ(mlperf_accelerator("NVIDIA GH200 Grace Hopper Superchip 96GB"), "gh200-96gb");
  EXPECT_EQ(mlperf_accelerator("NVIDIA H20"), "h20-sxm-96gb");
  EXPECT_EQ(mlperf_accelerator("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(mlperf_accelerator("NVIDIA RTX 6000 Ada Generation"), "rtx-6000-ada");
  // What the catalogue has is read by the catalogue's own words.
  for (const auto& [text, id] :
       {std::pair{"NVIDIA T4", "t4"}, std::pair{"NVIDIA A10", "a10"}, std::pair{"NVIDIA H800", "h800-sxm-80gb"},
        std::pair{"NVIDIA L20", "l20"}, std::pair{"Intel Gaudi 2", "gaudi2"}, std::pair{"TPU-v6e", "tpu-v6e"},
        std::pair{"TPU v5e", "tpu-v5e"}, std::pair{"NVIDIA Tesla V100", "v100-sxm2-32gb"},
        std::pair{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-blackwell-server"},
        std::pair{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-blackwell-ws"}})
    EXPECT_EQ(mlperf_accelerator(text), id) << text;
  EXPECT_EQ(mlperf_accelerator("NVIDIA RTX A4000"), "");  // no A40
  EXPECT_EQ(mlperf_accelerator("Graphcore Bow IPU"), "");
}

const std::string kHeader =
    "benchmark,round,division,submitter,system,accelerator,accelerators,nodes,minutes,global_batch_size,framework\n";

MeasuredRun run_of(const std::string& row) { return read_runs(parse_csv(kHeader + row + "\n", "t.csv"), "t").runs[0]; }

TEST(MlperfRun, SaysWhyItCannotBePredicted) {
  EXPECT_THAT(run_of("minigo,v1.0,closed,a,s,NVIDIA A100-SXM-80GB,8,1,10,256,x").refusal,
              HasSubstr("of minigo are known"));
  EXPECT_THAT(run_of("gpt3,v3.0,open,a,s,NVIDIA H100-SXM5-80GB,512,64,64,2048,x").refusal, HasSubstr("closed"));
  EXPECT_THAT(run_of("gpt3,v3.0,closed,a,s,Abacus,512,64,64,2048,x").refusal, HasSubstr("\"Abacus\""));
  EXPECT_THAT(run_of("gpt3,v3.0,closed,a,s,NVIDIA H100-SXM5-80GB,,64,64,2048,x").refusal, HasSubstr("accelerators"));
  EXPECT_THAT(run_of("gpt3,v3.0,closed,a,s,NVIDIA H100-SXM5-80GB,512,64,64,,x").refusal, HasSubstr("batch"));
  EXPECT_THAT(run_of("gpt3,v3.0,closed,a,s,NVIDIA H100-SXM5-80GB,512,64,64,99999,x").refusal,
              HasSubstr("large a batch"));
  EXPECT_THAT(run_of("maskrcnn,v2.0,closed,a,s,NVIDIA A100-SXM-80GB,384,48,3.1,256,x").refusal,
              HasSubstr("cut each sample"));
  EXPECT_THAT(run_of("dlrm,v2.0,closed,a,s,NVIDIA A100-SXM-80GB,8,1,1.6,55296,x").refusal, HasSubstr("HugeCTR"));
}

// 4 epochs of OpenImages' 1,170,301 images, 50 of COCO's 117,266.
TEST(MlperfRun, SsdIsAnotherNetworkFromTheSecondRoundsOn) {
  const MeasuredRun first = run_of("ssd,v1.1,closed,a,s,NVIDIA A100-SXM4-80GB,8,1,8,1024,PyTorch");
  const MeasuredRun later = run_of("ssd,v2.0,closed,a,s,NVIDIA A100-SXM4-80GB,8,1,84,256,PyTorch");
  ASSERT_FALSE(first.scenario.is_null()) << first.refusal;
  ASSERT_FALSE(later.scenario.is_null()) << later.refusal;
  EXPECT_EQ(first.scenario["workload"]["model"], "ssd300-rn34");
  EXPECT_EQ(later.scenario["workload"]["model"], "retinanet-rx50-fpn");
  EXPECT_EQ(first.steps_to_target, std::ceil(50 * 117266.0 / 1024));
  EXPECT_EQ(later.steps_to_target, std::ceil(4 * 1170301.0 / 256));
  EXPECT_EQ(later.scenario, run_of("retinanet,v5.0,closed,a,s,NVIDIA A100-SXM4-80GB,8,1,84,256,PyTorch").scenario);
  EXPECT_THAT(run_of("ssd,v0.7,closed,a,s,NVIDIA A100-SXM4-80GB,8,1,8,1024,PyTorch").refusal, HasSubstr("v1.0"));
}

TEST(MlperfRun, TakesTheStepsOfTheReference) {
  const MeasuredRun run =
      run_of("gpt3,v3.0,closed,NVIDIA,dgxh100_n64_nemo,NVIDIA H100-SXM5-80GB,512,64,64.269,2048,NeMo");
  EXPECT_EQ(run.metric, Metric::minutes_to_target);
  EXPECT_DOUBLE_EQ(run.measured, 64.269);
  EXPECT_EQ(run.steps_to_target, 282);
  EXPECT_EQ(run.accelerator, "h100-sxm-80gb");
  EXPECT_EQ(run.gpus, 512);
}

// 3,187 samples at a batch of 8 hold 8 evaluations of every 384, of which the first 3 are skipped; batches of 2,048 are
// not whole in 24,576 + 1: 577,536 / 24,576 = 23.5. 3D U-Net's 2,000 epochs of 168 volumes hold 100 evaluations of
// every 20, of which the first 49 are skipped. BERT at 448: a twentieth of 3,103,143 in whole 25,000 is 150,000, and
// 335 batches of it are 150,080.
TEST(MlperfEvaluations, FollowTheRulesOfEachReference) {
  EXPECT_EQ(mlperf_evaluations("llama2_70b_lora", 8, 3187).times, 5);
  EXPECT_EQ(mlperf_evaluations("llama2_70b_lora", 8, 3187).samples, 173);
  EXPECT_EQ(mlperf_evaluations("gpt3", 2048, 577536).times, 23);
  EXPECT_EQ(mlperf_evaluations("bert", 448, 2410630).times, std::floor(2410630.0 / 150080));
  EXPECT_EQ(mlperf_evaluations("unet3d", 56, 2000 * 168).times, 51);
  EXPECT_EQ(mlperf_evaluations("minigo", 448, 1e6).times, 0);
}

// The published run of GPT-3 on TPU v5p cuts tensors over eight chips and parameters over the rest; of Gaudi 2 none
// states a mapping, so that one is searched.
TEST(MlperfRun, TakesTheMappingOfTheNearestPublishedRun) {
  const MeasuredRun pod = run_of("gpt3,v4.0,closed,Google,pod,TPU-v5p,512,128,115,2048,JAX");
  ASSERT_FALSE(pod.scenario.is_null()) << pod.refusal;
  EXPECT_EQ(pod.scenario["strategy"]["tensor_parallel"], 8);
  EXPECT_EQ(pod.scenario["strategy"]["pipeline_parallel"], 1);
  EXPECT_EQ(pod.scenario["strategy"]["sharding"], "fsdp");
  EXPECT_FALSE(pod.open.mapping);
  EXPECT_TRUE(run_of("gpt3,v3.1,closed,Intel,s,Intel Gaudi2,384,48,154,2048,x").open.mapping);
}

TEST(MlperfRun, TakesEverySampleOfABatchAtOnce) {
  const MeasuredRun run = run_of("resnet,v3.0,closed,a,s,NVIDIA A100-SXM4-80GB,8,1,27,3264,MXNet");
  ASSERT_FALSE(run.scenario.is_null()) << run.refusal;
  EXPECT_EQ(run.scenario["workload"]["global_batch"], 3264);
  EXPECT_EQ(run.scenario["strategy"]["micro_batch"], 408);
  EXPECT_EQ(run.scenario["strategy"]["framework"], "mxnet-mlperf");
  // 45.1 million images (35.2 epochs) in steps of 3,264.
  EXPECT_EQ(run.steps_to_target, std::ceil(45097078.0 / 3264));
}

TEST(MlperfRun, BertRunsUnpaddedInTheFormatOfItsTime) {
  const MeasuredRun hopper = run_of("bert,v3.0,closed,a,s,NVIDIA H100-SXM5-80GB,8,1,5.4,448,PyTorch");
  const MeasuredRun ampere = run_of("bert,v3.0,closed,a,s,NVIDIA A100-SXM4-80GB,8,1,16,448,PyTorch");
  EXPECT_EQ(hopper.scenario["workload"]["precision"], "fp8");
  EXPECT_EQ(ampere.scenario["workload"]["precision"], "fp16");
  EXPECT_EQ(hopper.scenario["workload"]["seq_len"], 256);
  EXPECT_EQ(hopper.scenario["strategy"]["framework"], "pytorch-mlperf");
  EXPECT_THAT(run_of("bert,v0.7,closed,a,s,NVIDIA A100-SXM4-80GB,8,1,49,448,PyTorch").refusal,
              HasSubstr("before v1.0"));
}

TEST(MlperfRun, ReadsTheGenerationFromTheSystemWhereTheAcceleratorIsOnlyATpu) {
  EXPECT_EQ(run_of("bert,v1.1,closed,Google,tpu-v4-128-TF,TPU,128,32,5,2048,TF").accelerator, "tpu-v4");
}

TEST(MlperfRun, BoardsWithoutEightBitProductsTrainBertInSixteen) {
  const MeasuredRun run = run_of("bert,v2.0,closed,a,s,NVIDIA RTX A5000,2,1,200,112,PyTorch");
  EXPECT_EQ(run.scenario["workload"]["precision"], "fp16");
}

TEST(MlperfRun, EveryShippedRowIsCountedWithAReasonOrPredicted) {
  const RunSet set = read_runs(read_csv(run_set_file("mlperf-training")), "mlperf-training");
  EXPECT_EQ(set.runs.size(), 1031u);
  for (const MeasuredRun& run : set.runs) {
    EXPECT_EQ(run.scenario.is_null(), !run.refusal.empty()) << run.id;
    EXPECT_GT(run.measured + (run.scenario.is_null() ? 1 : 0), 0) << run.id;
  }
}

TEST(PredictRun, MinutesToTheTargetAreStepsTimesTheStep) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  MeasuredRun run;
  for (MeasuredRun& one : read_runs(read_csv(run_set_file("megatron-published")), "megatron-published").runs)
    if (one.id == "sc21-1.7b") run = std::move(one);
  const double step_s = *predict_run(run, catalog).predicted;
  run.metric = Metric::minutes_to_target;
  run.steps_to_target = 120;
  run.measured = step_s;
  const PredictedRun predicted = predict_run(run, catalog);
  EXPECT_NEAR(*predicted.predicted, 2 * step_s, 1e-9);
  EXPECT_NEAR(predicted.time_ratio(), 2, 1e-9);
}

TEST(PredictRun, MinutesToTheTargetHoldTheEvaluations) {
  const Catalog catalog = Catalog::standard({run_catalog_directory()});
  MeasuredRun run = run_of("llama2_70b_lora,v5.0,closed,a,s,NVIDIA H100-SXM5-80GB,8,1,28,8,NeMo");
  const double with = *predict_run(run, catalog).predicted;
  run.evaluations = 0;
  const double without = *predict_run(run, catalog).predicted;
  // Five times 173 samples forward beside 3,187 forward and backward: a tenth more.
  EXPECT_GT(with / without, 1.05);
  EXPECT_LT(with / without, 1.15);
}

}  // namespace
}  // namespace stepcast::mlperf_test
