#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/shell_arithmetic.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::import_megatron_script_test {
namespace {

using test::catalog;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSmall =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 ";

ImportedScenario of(const std::string& script, const ImportTarget& target = {}) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder / "train.sh";
  std::ofstream(file) << script;
  return import_megatron(file, target, catalog());
}

std::string faults_of(const std::string& script) {
  try {
    of(script);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(MegatronScript, DefaultsOfVariablesLoseTheirQuotes) {
  const Json batch = of("B=${BATCH:-\"128\"}\nNNODES=${SLURM_NNODES:-'2'}\n" + std::string(kSmall) +
                        "--vocab-size 32000 --global-batch-size $B")
                         .scenario;
  EXPECT_EQ(batch["workload"]["global_batch"], 128);
  EXPECT_EQ(batch["cluster"]["nodes"], 2);
}

TEST(MegatronScript, ArithmeticIsDone) {
  const Json scenario =
      of("TP=2\nPP=\"4\"\nREPLICAS=$(( 8 / (TP * ${PP}) ))\nGBS=$((REPLICAS*32))\n" + std::string(kSmall) +
         "--vocab-size 32000 --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} "
         "--global-batch-size $GBS")
          .scenario;
  EXPECT_EQ(scenario["workload"]["global_batch"], 32);
  EXPECT_THAT(faults_of("A=$((A+1))\n" + std::string(kSmall) + "--vocab-size $A"), HasSubstr("--vocab-size"));
}

// Eight ways of tensor parallelism would be lost with a letter, and a note on it be easily passed over.
TEST(MegatronScript, AMisspeltOptionIsOneFault) {
  const std::string slip = faults_of(std::string(kSmall) + "--vocab-size 32000 --tensor-model-paralel-size 8");
  EXPECT_THAT(slip, HasSubstr("--tensor-model-paralel-size: unknown option; did you mean "
                              "--tensor-model-parallel-size?"));
  std::string lacks = std::string(kSmall) + "--vocab-size 32000";
  lacks.replace(lacks.find("--num-layers"), 12, "--num-layesr");
  EXPECT_THAT(faults_of(lacks), AllOf(HasSubstr("--num-layesr: unknown option"), testing::Not(HasSubstr("missing"))));
  EXPECT_EQ(faults_of(std::string(kSmall) + "--vocab-size 32000 --num-layers-of-mine 8"), "");
}

// A word that Megatron-LM does not know would count as another: no recomputation, LayerNorm, plain fp8, a ring.
TEST(MegatronScript, AMisspeltWordIsOneFault) {
  const std::string list = std::string(kSmall) + "--vocab-size 32000 ";
  for (const auto& [wrong, right] :
       {std::pair{"--recompute-granularity selectiv", "did you mean \"selective\""},
        std::pair{"--recompute-granularity full --recompute-method unifrom", "uniform"},
        std::pair{"--normalization RMSNrom", "rmsnorm"}, std::pair{"--fp8-format hybird", "hybrid"},
        std::pair{"--fp8-format e4m3 --fp8-recipe mxfp", "mxfp8"}, std::pair{"--cp-comm-type alltoall", "a2a"},
        std::pair{"--tensor_model_parallel_size 8", "--tensor-model-parallel-size"}})
    EXPECT_THAT(faults_of(list + wrong), HasSubstr(right)) << wrong;
  std::string swapped = list;
  swapped.replace(swapped.find("--bf16"), 6, "--bf61");
  EXPECT_THAT(faults_of(swapped), HasSubstr("--bf61: unknown option; did you mean --bf16?"));
  EXPECT_EQ(of(list + "--fp8-e4m3").scenario["workload"]["precision"], "fp8");
  EXPECT_EQ(faults_of(list + "--recompute-granularity $GRANULARITY"), "");
}

// Megatron-FSDP cuts what it says that it cuts, and without a flag nothing is cut.
TEST(MegatronScript, ShardingIsThatOfItsFlags) {
  const auto sharding = [](const std::string& flags) {
    return of(std::string(kSmall) + "--vocab-size 32000 " + flags).scenario["strategy"].value("sharding", "");
  };
  EXPECT_EQ(sharding(""), "none");
  EXPECT_EQ(sharding("--use-distributed-optimizer"), "zero-1");
  const std::string fsdp = "--use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy ";
  EXPECT_EQ(sharding(fsdp + "optim"), "zero-1");
  EXPECT_EQ(sharding(fsdp + "optim_grads"), "zero-2");
  EXPECT_EQ(sharding(fsdp + "optim_grads_params"), "fsdp");
  EXPECT_EQ(sharding(fsdp + "optim_grads_params --num-distributed-optimizer-instances 2"), "hsdp");
  EXPECT_THAT(faults_of(std::string(kSmall) + "--vocab-size 32000 " + fsdp + "gradients"),
              HasSubstr("optim_grads_params"));
}

TEST(ShellArithmetic, FollowsTheShell) {
  const auto value = [](const char* text) {
    return shell_arithmetic(text, [](const std::string& name) { return name == "N" ? "8" : ""; });
  };
  EXPECT_EQ(value("1 + 2 * N"), 17);
  EXPECT_EQ(value("(1+2)*N % 5"), 4);
  EXPECT_EQ(value("20 / 3 - 1"), 5);
  for (const char* none : {"", "1 +", "N / 0", "M", "(1", "2000000000*2000000000*4", "1 2", "a=b"})
    EXPECT_EQ(value(none), std::nullopt) << none;
}

TEST(MegatronScript, ProgramsBringTheirTokenizer) {
  const ImportedScenario gpt = of("torchrun pretrain_gpt.py " + std::string(kSmall));
  EXPECT_EQ(gpt.scenario["workload"]["model"]["transformer"]["vocab"], 50304);  // 50257 up to a multiple of 128
  EXPECT_THAT(gpt.notes, testing::Contains(HasSubstr("GPT2BPETokenizer, which pretrain_gpt.py uses")));
  const Json bert = of("torchrun pretrain_bert.py " + std::string(kSmall)).scenario["workload"]["model"];
  EXPECT_EQ(bert["transformer"]["vocab"], 30592);
  EXPECT_EQ(bert["family"], "encoder");
  EXPECT_EQ(bert["transformer"]["token_types"], 2);
  EXPECT_THAT(faults_of("torchrun pretrain_gpt.py --tokenizer-type HuggingFaceTokenizer " + std::string(kSmall)),
              HasSubstr("missing: --vocab-size"));
}

// examples/gpt3/train_gpt3_175b_distributed.sh: NUM_NODES=1 beside 8 × 16.
TEST(MegatronScript, NodesTooFewForTheDegreesAreNoted) {
  const std::string script =
      "NUM_NODES=1\n--num-layers 16 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 "
      "--vocab-size 32000 " +
      std::string(kSmall) + "--num-layers 16 --nnodes $NUM_NODES";
  const ImportedScenario out = of(script);
  EXPECT_EQ(out.scenario["cluster"]["nodes"], 16);
  EXPECT_THAT(out.notes, testing::Contains(HasSubstr("which need 128 devices")));
}

TEST(MegatronScript, EndsOfAPipelineMayHaveOtherLayers) {
  const auto stages = [](const std::string& options) {
    return of("--vocab-size 32000 --pipeline-model-parallel-size 4 " + std::string(kSmall) + options)
        .scenario["strategy"];
  };
  EXPECT_EQ(stages("--decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 3")["stage_layers"],
            Json({1, 2, 2, 3}));
  EXPECT_EQ(stages("--num-layers 7 --decoder-first-pipeline-num-layers 1")["stage_layers"], Json({1, 2, 2, 2}));
  EXPECT_EQ(stages("--num-layers 14 --num-virtual-stages-per-pipeline-rank 2 --account-for-embedding-in-pipeline-split "
                   "--account-for-loss-in-pipeline-split")["stage_layers"],
            Json({1, 2, 2, 2, 2, 2, 2, 1}));
  EXPECT_THAT(faults_of("--vocab-size 32000 --pipeline-model-parallel-size 4 " + std::string(kSmall) +
                        "--decoder-first-pipeline-num-layers 1"),
              HasSubstr("7 layers left for 3 stages"));
}

TEST(MegatronScript, ALayoutNamesTheLayersOfEachChunk) {
  const Json strategy = of("--vocab-size 32000 --pipeline-model-parallel-size 4 " + std::string(kSmall) +
                           "--num-layers 11 --pipeline-model-parallel-layout \"Et*2|(tt|)*4,(t|)*1|L\"")
                            .scenario["strategy"];
  EXPECT_EQ(strategy["stage_layers"], Json({2, 2, 2, 2, 2, 1, 0, 0}));
  EXPECT_EQ(strategy["virtual_pipeline"], 2);
  EXPECT_THAT(faults_of("--vocab-size 32000 --pipeline-model-parallel-size 4 " + std::string(kSmall) +
                        "--pipeline-model-parallel-layout \"Etx|L\""),
              HasSubstr("\"Etx|L\""));
}

TEST(MegatronScript, OptionsRightBehindAQuoteCount) {
  const Json scenario = of("ARGS=\"" + std::string(kSmall) +
                           "\"\nPARALLEL=\"--tensor-model-parallel-size 4 \\\n --sequence-parallel\"\nP='--fp16'\n"
                           "torchrun pretrain_gpt.py $ARGS $PARALLEL\n")
                            .scenario;
  EXPECT_EQ(scenario["strategy"]["tensor_parallel"], 4);
  EXPECT_EQ(scenario["strategy"]["sequence_parallel"], true);
  EXPECT_EQ(scenario["workload"]["precision"], "bf16");  // the command does not get $P
}

TEST(MegatronScript, BranchesAreChosenAsTheShellDoes) {
  const std::string run = "torchrun pretrain_gpt.py " + std::string(kSmall) + "--num-layers $L $MORE\n";
  const auto layers = [&](const std::string& script) {
    return of(script + run).scenario["workload"]["model"]["transformer"]["layers"];
  };
  EXPECT_EQ(layers("M=7B\nif [ $M = 7B ]; then\n L=32\nelif [ $M = 13B ]; then L=40; else L=80; fi\n"), 32);
  EXPECT_EQ(layers("M=13B\nif [[ $M == \"7B\" ]]; then\n L=32\nelif [[ $M == 13* ]]; then L=40; else L=80; fi\n"), 40);
  EXPECT_EQ(layers("M=9\nif (( M > 8 )) && ! [ $M -lt 2 ]; then L=16; else L=80; fi\n[ -z \"$M\" ] && L=4\n"), 16);
  EXPECT_EQ(layers("M=${1:-175B}\ncase ${M} in\n \"7B\"|8B) L=32;;\n 17?B)\n L=96\n ;;\n *) L=1; exit 1;;\nesac\n"),
            96);
  EXPECT_EQ(layers("f() {\n  L=$1\n}\nf 12\nL2=7\n"), 12);
  EXPECT_EQ(layers("cat > x <<EOF\n L=5 \" (\nEOF\nexport K=1 L=10\n"), 10);
}

TEST(MegatronScript, WhatIsAssignedBehindTheCommandDoesNotCount) {
  const Json strategy =
      of("TP=4\ntorchrun pretrain_gpt.py " + std::string(kSmall) + "--tensor-model-parallel-size $TP\nTP=8\nX=--fp16\n")
          .scenario["strategy"];
  EXPECT_EQ(strategy["tensor_parallel"], 4);
}

TEST(MegatronScript, WhatAScriptDoesNotDecideIsNoted) {
  const ImportedScenario out =
      of("if [ -f here ]; then\n L=8\nelse\n L=16\nfi\nS=\"--swiglu\"\ntorchrun pretrain_gpt.py " +
         std::string(kSmall) + "--num-layers $L $NOWHERE\n");
  EXPECT_THAT(out.notes, testing::Contains(AllOf(HasSubstr("line 1"), HasSubstr("of L, set in several branches"))));
  EXPECT_THAT(out.notes, testing::Contains(HasSubstr("$NOWHERE")));
  EXPECT_THAT(out.notes, testing::Contains(HasSubstr("no part of the command, not used: --swiglu")));
}

TEST(MegatronScript, OfALoopTheFirstRoundCounts) {
  const ImportedScenario out = of("run() {\n  torchrun pretrain_gpt.py " + std::string(kSmall) +
                                  " \"$@\" 2>&1 | tee log\n}\nfor B in 128 256; do run --global-batch-size $B; done\n");
  EXPECT_EQ(out.scenario["workload"]["global_batch"], 128);
  EXPECT_THAT(out.notes, testing::Contains(HasSubstr("line 4: of \"for B in 128 256\" the first round counts")));
}

TEST(MegatronScript, NodesComeFromTheHeadOfABatchScript) {
  const std::string run = "torchrun --nnodes $SLURM_NNODES pretrain_gpt.py " + std::string(kSmall);
  EXPECT_EQ(of("#!/bin/bash\n#SBATCH --nodes=4\n" + run).scenario["cluster"]["nodes"], 4);
  EXPECT_THAT(faults_of(run), AllOf(HasSubstr("found \"$SLURM_NNODES\""), HasSubstr("--nodes says it")));
}

// Slurm tells a job the same in several variables (sbatch(1)).
TEST(MegatronScript, VariablesOfSlurmAreWhatTheHeadAsksFor) {
  const auto nodes = [](const std::string& head, const std::string& expression) {
    return of("#!/bin/bash\n" + head + "\ntorchrun --nnodes " + expression + " pretrain_gpt.py " + kSmall)
        .scenario["cluster"]["nodes"];
  };
  EXPECT_EQ(nodes("#SBATCH --nodes=4", "$SLURM_JOB_NUM_NODES"), 4);
  EXPECT_EQ(nodes("#SBATCH -N 4", "${SLURM_JOB_NUM_NODES}"), 4);
  EXPECT_EQ(nodes("#SBATCH -n 32\n#SBATCH --ntasks-per-node=8", "$((SLURM_NTASKS / SLURM_NTASKS_PER_NODE))"), 4);
  EXPECT_EQ(nodes("#SBATCH --ntasks 32 --gpus-per-node 8", "$((SLURM_NPROCS / SLURM_GPUS_ON_NODE))"), 4);
}

TEST(MegatronScript, ProcessesOfANodeAreItsDevices) {
  const std::string run = "pretrain_gpt.py " + std::string(kSmall);
  const ImportedScenario half = of("torchrun --nnodes 8 --nproc_per_node 4 " + run);
  EXPECT_EQ(half.scenario["cluster"]["node"], "dgx-h100-4-of-8");
  EXPECT_EQ(half.scenario["cluster"]["nodes"], 8);
  EXPECT_THAT(half.notes, testing::Contains(HasSubstr("dgx-h100 has 8 devices: dgx-h100-4-of-8")));
  ImportTarget target;
  target.node = "juwels-booster";
  EXPECT_EQ(of("torchrun --nnodes 8 --nproc-per-node=4 " + run, target).scenario["cluster"]["nodes"], 8);
  const ImportedScenario wide = of("torchrun --nnodes 1 --nproc_per_node 16 " + run);
  EXPECT_EQ(wide.scenario["cluster"]["node"], "dgx-h100");
  EXPECT_EQ(wide.scenario["cluster"]["nodes"], 2);
  EXPECT_THAT(faults_of("torchrun --nnodes 3 --nproc_per_node 12 " + run), HasSubstr("36 fill no whole number"));
  // One process beside degrees that need two.
  EXPECT_THAT(faults_of("torchrun --nnodes 1 --nproc_per_node 1 " + run + " --tensor-model-parallel-size 2"),
              HasSubstr("1 fill no whole number"));
}

TEST(MegatronScript, WithoutAGlobalBatchEachReplicaTakesAMicroBatch) {
  const Json scenario = of("torchrun --nnodes 2 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
                           "--num-attention-heads 8 --seq-length 1024 --micro-batch-size 4 --fp16 --train-iters 10 "
                           "--tensor-model-parallel-size 2")
                            .scenario;
  EXPECT_EQ(scenario["workload"]["global_batch"], 32);
  EXPECT_EQ(scenario["workload"]["samples"], 320);
}

// pretrain_t5.py of Megatron-LM before core 0.5: as many layers on either side.
TEST(MegatronScript, OneNumberOfLayersIsOfBothSides) {
  const Json shape =
      of("torchrun pretrain_t5.py " + std::string(kSmall) + "--encoder-seq-length 512 --decoder-seq-length 128")
          .scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["layers"], 16);
  EXPECT_EQ(shape["encoder_layers"], 8);
  EXPECT_EQ(shape["target_share"], 0.25);
}

// BLOOM's script: bigscience-workshop/bigscience, train/tr11-176B-ml.
TEST(MegatronScript, OptionsOfMegatronDeepSpeed) {
  const ImportedScenario out = of(
      "SAMPLES=220_000_000 # of which\nCMD=\" `pwd`/pretrain_gpt.py --pp-partition-method 'type:transformer|embedding' "
      "--train-samples $SAMPLES --checkpoint-activations --pad-vocab-size-to 250880 --num-experts 1 \\\n " +
      std::string(kSmall) + " --num-layers 6 --pipeline-model-parallel-size 4 \"\n");
  const Json& shape = out.scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["vocab"], 250880);
  EXPECT_FALSE(shape.contains("experts"));
  EXPECT_EQ(out.scenario["strategy"]["stage_layers"], Json({1, 2, 2, 1}));
  EXPECT_EQ(out.scenario["strategy"]["recompute"], "full");
  EXPECT_EQ(out.scenario["workload"]["samples"], 220000000.0);
}

// slime's scripts: scripts/models/glm4.5-355B-A32B.sh and its kin.
TEST(MegatronScript, LoopsThatCountRunToTheirEnd) {
  const auto dense = [](const std::string& loop) {
    const ImportedScenario out =
        of("N=8\nDENSE=3\narr=()\n" + loop +
           "\nprintf -v FREQ \"[%s]\" \"$(IFS=', '; echo \"${arr[*]}\")\"\nARGS=(--num-experts 8 --moe-router-topk 2 "
           "--moe-ffn-hidden-size 512 --vocab-size 32000 --moe-layer-freq $FREQ)\n" +
           std::string(kSmall));
    EXPECT_THAT(out.notes, testing::Each(testing::Not(HasSubstr("not set")))) << loop;
    return out.scenario["workload"]["model"]["transformer"].value("dense_layers", 0);
  };
  EXPECT_EQ(dense("for ((i=0; i<N; i++)); do\n  if (( i < DENSE )); then\n    arr+=(0)\n  else\n    arr+=(1)\n  "
                  "fi\ndone"),
            3);
  EXPECT_EQ(dense("for (( i = N ; i > 0 ; i -= 2 )); do arr+=(1 1); done"), 0);
  EXPECT_EQ(dense("k=0; for ((i=0; i<2; ++i)); do for ((j=0; j<4; j++)); do ((k += 1)); (( k > 2 )) && arr+=(1) || "
                  "arr+=(0); done; done"),
            2);
  // No round at all.
  EXPECT_EQ(dense("for ((i=5; i<5; i++)); do arr=(9); done; for ((i=0; i<N; i++)); do arr+=(1); done"), 0);
}

TEST(MegatronScript, LoopsWithoutAnEndAreDoubts) {
  const auto notes = [](const std::string& loop) {
    return of("B=0\n" + loop + "\n" + std::string(kSmall) + "--vocab-size 32000 --global-batch-size $B").notes;
  };
  EXPECT_THAT(notes("for ((i=0; i<$1; i++)); do B=64; done"),
              testing::Contains(HasSubstr("of \"for ((i=0; i<$1; i++))\" the first round counts")));
  EXPECT_THAT(notes("for ((;;)); do B=64; break; done"), testing::Contains(HasSubstr("the first round counts")));
  EXPECT_THAT(notes("for ((i=0; i>=0; i++)); do B=64; done"), testing::Contains(HasSubstr("the first 10000 rounds")));
}

TEST(MegatronScript, WhatIsLeftOpenIsNamedWhole) {
  EXPECT_THAT(of(std::string(kSmall) + "--vocab-size 32000 --bf16 x $(cut -d, -f 1 list)").notes,
              testing::Contains(HasSubstr("$(cut -d, -f 1 list)")));
  EXPECT_THAT(faults_of(std::string(kSmall) + "--vocab-size 32000 --num-experts 8 --moe-layer-freq $FREQ"),
              AllOf(HasSubstr("--moe-layer-freq: found"), HasSubstr("--call says")));
}

}  // namespace
}  // namespace stepcast::import_megatron_script_test
