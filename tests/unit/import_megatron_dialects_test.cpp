#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/megatron_experts.hpp"
#include "calibration/importers/models/shell_arithmetic.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::import_megatron_dialects_test {
namespace {

using test::catalog;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

ImportedScenario of(const std::string& text, const ImportTarget& target = {}) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder / "train.sh";
  std::ofstream(file) << text;
  return import_megatron(file, target, catalog());
}

std::string faults_of(const std::string& text) {
  try {
    of(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const std::string kSmall =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --micro-batch-size 1 "
    "--global-batch-size 64 --bf16 ";

const std::string kGatedDelta =
    "--vocab-size 32000 --attention-output-gate --experimental-attention-variant gated_delta_net "
    "--linear-conv-kernel-dim 4 --linear-key-head-dim 128 --linear-value-head-dim 128 --linear-num-key-heads 4 "
    "--linear-num-value-heads 8 ";

// What changes time or memory and is not read is named, with what it does.
TEST(MegatronDialects, OptionsThatAreNotModelledAreNamed) {
  const std::string text = kSmall + "--vocab-size 32000 ";
  for (const auto& [options, words] : std::vector<std::pair<const char*, const char*>>{
           {"--rampup-batch-size 16 16 5859375",
            "--rampup-batch-size 16 16 5859375: the run begins with smaller batches"},
           {"--eval-interval 100 --eval-iters 10", "--eval-iters 10: evaluations take time"},
           {"--moe-shared-expert-overlap", "--moe-shared-expert-overlap: the shared expert runs beside"},
           {"--no-gradient-accumulation-fusion", "the step is underestimated"},
           {"--reset-attention-mask", "attention ends at documents"},
           {"--deterministic-mode", "deterministic kernels"},
           {"--optimizer-cpu-offload --optimizer-offload-fraction 0.25", "forecast as all of them"}})
    EXPECT_THAT(of(text + options).notes, Contains(HasSubstr(words))) << options;
  EXPECT_THAT(of(text + "--eval-iters 0").notes, Not(Contains(HasSubstr("eval"))));
  EXPECT_FALSE(of(text + "--optimizer-cpu-offload --optimizer-offload-fraction 0.0")
                   .scenario["strategy"]
                   .contains("offload_optimizer"));
}

TEST(MegatronDialects, AVocabularyBesideAnotherTokenizersIsNoted) {
  const std::string text =
      kSmall + "--tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V2-Lite ";
  EXPECT_THAT(of(text + "--vocab-size 128256").notes, Contains(HasSubstr("Megatron-LM takes the tokenizer's size")));
  EXPECT_THAT(of(text).notes, Not(Contains(HasSubstr("--vocab-size"))));
}

// The block method recomputes some layers of each stage or chunk, the uniform one all.
TEST(MegatronDialects, SomeLayersMayRecompute) {
  const auto strategy = [](const std::string& rest) {
    return of(kSmall + "--vocab-size 32000 --recompute-granularity full " + rest).scenario["strategy"];
  };
  EXPECT_EQ(strategy("--recompute-method block --recompute-num-layers 3")["recompute_layers"], 3);
  EXPECT_EQ(strategy("--recompute-method block --recompute-num-layers 0").value("recompute", "none"), "none");
  EXPECT_FALSE(strategy("--recompute-method block --recompute-num-layers 8").contains("recompute_layers"));
  EXPECT_FALSE(strategy("--recompute-method uniform --recompute-num-layers 2").contains("recompute_layers"));
  // Scripts of 2021 name the method alone.
  const auto older = [](const std::string& rest) {
    return of(kSmall + "--vocab-size 32000 --activations-checkpoint-method " + rest).scenario["strategy"];
  };
  EXPECT_EQ(older("uniform")["recompute"], "full");
  EXPECT_EQ(older("block --activations-checkpoint-num-layers 3")["recompute_layers"], 3);
}

// NeMo's and Bridge's YAML: no key that the reader asks for is passed over, however it begins.
TEST(MegatronDialects, YamlLosesNothingThatCounts) {
  const std::string yaml = R"(model:
  num_layers: 8
  hidden_size: 1024
  num_attention_heads: 8
  seq_length: 1024
  vocab_size: 50000
  num_moe_experts: 16
  moe_router_topk: 8
  moe_router_num_groups: 4
  moe_router_group_topk: 2
  moe_router_dtype: fp32
  qk_layernorm: true
  attention_backend: AttnBackend.unfused
  cpu_offloading: true
  init_method: |
    of several
    lines
optimizer:
  optimizer_cpu_offload: true
train:
  micro_batch_size: 1
  global_batch_size: ${GBS}
dist:
  use_megatron_fsdp: true
ddp:
  data_parallel_sharding_strategy: optim_grads_params
  overlap_grad_reduce: true
tokenizer:
  vocab_size: 32000
)";
  ImportTarget target;
  target.call = "GBS=64";
  const ImportedScenario imported = of(yaml, target);
  const Json& shape = imported.scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["top_k"], 8);
  EXPECT_EQ(shape["expert_groups"], 4);
  EXPECT_EQ(shape["groups_per_token"], 2);
  EXPECT_EQ(shape["qk_norm"], true);
  EXPECT_EQ(shape["vocab"], 50048);  // the model's own, padded
  const Json& strategy = imported.scenario["strategy"];
  EXPECT_EQ(strategy["attention_kernel"], "unfused");
  EXPECT_EQ(strategy["offload_optimizer"], true);
  EXPECT_EQ(strategy["sharding"], "fsdp");
  EXPECT_EQ(imported.scenario["workload"]["global_batch"], 64);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("cpu_offloading: not used")));
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("unknown keys"))));
}

// NeMo's launcher names the tokenizer's model as its type; recipes of NeMo 2 name the model itself by a class.
TEST(MegatronDialects, YamlNamesVocabulariesAndModels) {
  const std::string sizes =
      "  num_layers: 8\n  hidden_size: 1024\n  num_attention_heads: 8\n  encoder_seq_length: 1024\n";
  const std::string batch = "  micro_batch_size: 1\n  global_batch_size: 64\n";
  const ImportedScenario launcher = of("model:\n" + sizes + batch +
                                       "  tokenizer:\n    library: huggingface\n    type: "
                                       "meta-llama/Meta-Llama-3-70B\n");
  EXPECT_EQ(launcher.scenario["workload"]["model"]["transformer"]["vocab"], 128256);
  const std::string recipe =
      "data:\n  seq_length: 1024\n" + batch + "model:\n  _target_: llama.LlamaModel\n  config:\n    _target_: ";
  const std::string said = faults_of(recipe + "llama.Llama3Config8B\n");
  EXPECT_THAT(said, HasSubstr("/model/config/_target_: the model is named by a class, \"llama.Llama3Config8B\""));
  EXPECT_THAT(said, Not(HasSubstr("--num-layers")));
}

// Shares of a hybrid's layers: attention between equal stretches of scans, MLPs behind every second.
TEST(MegatronDialects, SharesOfAHybridMakeItsPattern) {
  EXPECT_EQ(megatron_hybrid_layers(9, 2.0 / 9, 0), "MM*MMM*MM");
  EXPECT_EQ(megatron_hybrid_layers(6, 0, 0.5), "M-M-M-");
  EXPECT_EQ(megatron_hybrid_layers(4, 0, 0), "MMMM");
  const std::string hybrid = kSmall + "--vocab-size 32000 --hybrid-mlp-ratio 0.5 --hybrid-attention-ratio ";
  const Json pattern = of(hybrid + "0.125").scenario["workload"]["model"]["transformer"]["layer_pattern"];
  EXPECT_EQ(std::count(pattern.get_ref<const std::string&>().begin(), pattern.get_ref<const std::string&>().end(), '*'),
            1);
  EXPECT_THAT(faults_of(hybrid + "0.75"), HasSubstr("no shares of the layers"));
}

// Experts whose number differs by layer: their mean, in whole multiples of the ranks that they are dealt out to.
TEST(MegatronDialects, NumbersOfExpertsMayDiffer) {
  const ImportedScenario imported =
      of(kSmall + "--vocab-size 32000 --num-experts 4 4 8 8 --moe-expert-parallel-size 8 --topk 1");
  EXPECT_EQ(imported.scenario["workload"]["model"]["transformer"]["experts"], 8);
  EXPECT_EQ(imported.scenario["strategy"]["expert_parallel"], 4);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("differs by layer, 4 to 8")));
}

TEST(MegatronDialects, OtherNamesOfOptions) {
  const Json shape = of(kSmall +
                        "--vocab-size 32000 --normalization rmsnorm --num-key-value-heads 2 --quick-geglu "
                        "--enable-gpt-oss --cpu-optimizer --use-distributed-optimizer")
                         .scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["norm"], "rms_norm");
  EXPECT_EQ(shape["kv_heads"], 2);
  EXPECT_EQ(shape["gated_mlp"], true);
  EXPECT_EQ(shape["positions"], "rotary");
  EXPECT_EQ(of(kSmall + "--vocab-file v.json --merge-file m.txt").scenario["workload"]["model"]["transformer"]["vocab"],
            50304);
  EXPECT_THAT(faults_of(kSmall + "--vocab-size 32000 --vision-model-type clip"), HasSubstr("images and text"));
  ImportTarget target;
  target.seq_len = 512;
  EXPECT_EQ(
      of("--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --global-batch-size 8 --vocab-size 32000", target)
          .scenario["workload"]["seq_len"],
      512);
}

// Every fourth layer has full attention, and every second experts: halves that alternate, and stages of twice as many.
TEST(MegatronDialects, LinearAttentionMakesEveryHalfALayer) {
  const ImportedScenario imported = of(kSmall + kGatedDelta +
                                       "--linear-attention-freq 4 --num-experts 8 --moe-layer-freq ([0]*1+[1]*1)*4 "
                                       "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 3");
  EXPECT_THAT(imported.notes, Contains(HasSubstr("layers of their own, 16 in all")));
  const Json& scenario = imported.scenario;
  const Json& shape = scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["layer_pattern"], "G-GEG-*EG-GEG-*E");
  EXPECT_EQ(shape["layers"], 16);
  EXPECT_FALSE(shape.contains("moe_every"));
  EXPECT_EQ(shape["attention_output_gate"], true);
  EXPECT_EQ(shape["linear_attention"]["value_heads"], 8);
  EXPECT_EQ(scenario["strategy"]["stage_layers"], (Json{6, 10}));
}

TEST(MegatronDialects, LinearAttentionByAList) {
  const auto pattern = [](const std::string& frequency) {
    return of(kSmall + kGatedDelta + frequency).scenario["workload"]["model"]["transformer"]["layer_pattern"];
  };
  EXPECT_EQ(pattern("--linear-attention-freq [1,1,1,0]*2"), "G-G-G-*-G-G-G-*-");
  EXPECT_EQ(pattern("--hybrid-layer-pattern G-G-*-G-"), "G-G-*-G-");
  EXPECT_THAT(faults_of(kSmall + kGatedDelta + "--linear-attention-freq [1,0]"),
              HasSubstr("with 1 for each of the 8 layers"));
  EXPECT_THAT(faults_of(kSmall + kGatedDelta), HasSubstr("--linear-attention-freq: missing"));
}

TEST(MegatronDialects, LinearAttentionOfNoLayerIsNone) {
  for (const char* frequency : {"--linear-attention-freq 1", "--linear-attention-freq [0]*8"}) {
    const Json scenario = of(kSmall + kGatedDelta + frequency).scenario;
    const Json& shape = scenario["workload"]["model"]["transformer"];
    EXPECT_EQ(shape["layers"], 8) << frequency;
    EXPECT_FALSE(shape.contains("layer_pattern") || shape.contains("linear_attention")) << frequency;
  }
}

TEST(MegatronDialects, OtherVariantsOfAttentionAreSaid) {
  EXPECT_THAT(of(kSmall + "--vocab-size 32000 --experimental-attention-variant dsa").notes,
              Contains("--experimental-attention-variant dsa: forecast as attention that sees all"));
}

// Not after a letter has been written for each of them.
TEST(MegatronDialects, LayersThatNoModelHasAreAFault) {
  EXPECT_THAT(faults_of(kSmall + kGatedDelta + "--linear-attention-freq 4 --num-layers 2000000000"),
              HasSubstr("/layers: found 2000000000"));
}

// The functional tests of Megatron-LM keep their arguments like this.
TEST(MegatronDialects, OptionsOfYamlAreRead) {
  const Json scenario = of(R"(ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
MODEL_ARGS:
  # sizes
  --num-layers: 8
  --hidden-size: 1024
  --num-attention-heads: 8
  --seq-length: 1024
  --vocab-size: 32000
  --micro-batch-size: 2
  --global-batch-size: 64
  --tensor-model-parallel-size: 2
  --sequence-parallel: true #TODO: with a comment
  --untie-embeddings-and-output-weights: false
  --data-path: ${DATA_BLEND}
  --bf16: true
METRICS:
  - "iteration-time"
)")
                            .scenario;
  EXPECT_EQ(scenario["strategy"]["tensor_parallel"], 2);
  EXPECT_EQ(scenario["strategy"]["sequence_parallel"], true);
  EXPECT_EQ(scenario["workload"]["precision"], "bf16");
  EXPECT_EQ(scenario["workload"]["model"]["transformer"]["tied_embeddings"], true);
}

TEST(MegatronDialects, ListsSayWhichLayersHaveExperts) {
  const auto read = [](std::string_view text, int layers) {
    const auto found = megatron_expert_layers(text, layers);
    return found ? std::pair(found->dense, found->every) : std::pair(-1, -1);
  };
  EXPECT_EQ(read("([0]*3+[1]*58)", 61), std::pair(3, 1));
  EXPECT_EQ(read("([0]+[1]*15)", 16), std::pair(1, 1));
  EXPECT_EQ(read("0+1*15", 16), std::pair(1, 1));  // as a shell's reader leaves it
  EXPECT_EQ(read("([0]*1+[1]*1)*24", 48), std::pair(0, 2));
  EXPECT_EQ(read("[0,1]*4", 8), std::pair(0, 2));
  EXPECT_EQ(read("[0,1,1,1]", 4), std::pair(1, 1));
  EXPECT_EQ(read("[0,0,1,0,1]", 5), std::pair(1, 2));
  EXPECT_EQ(read("1", 8), std::pair(0, 1));
  EXPECT_EQ(read("2", 8), std::pair(0, 2));
  for (const char* wrong : {"[1,0,1]", "[0,1,1,0]", "[0]*3", "([0]", "[2]*4", "", "[0]*99999999", "((((((((((0"})
    EXPECT_EQ(read(wrong, 4), std::pair(-1, -1)) << wrong;
}

// 24 layers of 2048, every other with 128 experts: DeepSpeed's 1.3B+MoE-128 has 52 G parameters.
TEST(MegatronDialects, MegatronDeepSpeedsExpertsHaveTheirOwnNames) {
  const ImportedScenario out =
      of("deepspeed pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
         "--max-position-embeddings 2048 --micro-batch-size 8 --global-batch-size 512 --fp16 --deepspeed "
         "--moe-expert-parallel-size 64 --num-experts 128 --moe-loss-coeff 0.01");
  const Json& shape = out.scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["moe_every"], 2);
  EXPECT_EQ(shape["top_k"], 1);
  EXPECT_EQ(out.scenario["strategy"]["expert_parallel"], 64);
  EXPECT_EQ(out.scenario["strategy"]["framework"], "megatron-deepspeed");
  EXPECT_THAT(out.notes, Not(Contains(HasSubstr("unknown keys"))));
  const Json every = of(kSmall +
                        "--vocab-size 32000 --moe-expert-parallel-size 2 --num-experts 8 --expert-interval 1 "
                        "--topk 2 --mlp-type residual")
                         .scenario["workload"]["model"]["transformer"];
  EXPECT_FALSE(every.contains("moe_every"));
  EXPECT_EQ(every["top_k"], 2);
  EXPECT_EQ(every["shared_expert_ffn"], 4096);
}

TEST(MegatronDialects, ZeroStagesOfDeepSpeedShard) {
  const auto sharding = [](const std::string& flags) {
    return of(kSmall + "--vocab-size 32000 " + flags).scenario["strategy"]["sharding"];
  };
  EXPECT_EQ(sharding("--zero-stage 0"), "zero-1");  // bf16: its own optimizer shards
  EXPECT_EQ(sharding("--zero-stage 1"), "zero-1");
  EXPECT_EQ(sharding("--deepspeed --zero-stage 2"), "zero-2");
  EXPECT_EQ(sharding("--deepspeed --zero-stage 3"), "fsdp");
  EXPECT_THAT(faults_of(kSmall + "--vocab-size 32000 --zero-stage 4"), HasSubstr("expected 0 to 3"));
}

TEST(MegatronDialects, ACallSaysTheScriptsVariables) {
  const std::string script = R"(
TP=${10}
if [ $1 = large ]; then LAYERS=16; else LAYERS=4; fi
if [ -z ${VIRTUAL} ]; then more=""; else more="--num-layers-per-virtual-pipeline-stage ${VIRTUAL}"; fi
run="torchrun pretrain_gpt.py --num-layers $LAYERS --hidden-size 1024 --num-attention-heads 8 --seq-length ${SEQ-512} \
  --micro-batch-size $2 --global-batch-size 64 --bf16 --vocab-size 32000 --tensor-model-parallel-size $TP $more"
echo $run
eval $run
)";
  EXPECT_THAT(faults_of(script), HasSubstr("--call"));
  ImportTarget target;
  target.call = "large 2 c d e f g h i 4";
  const ImportedScenario out = of(script, target);
  EXPECT_EQ(out.scenario["workload"]["model"]["transformer"]["layers"], 16);
  EXPECT_EQ(out.scenario["workload"]["seq_len"], 512);
  EXPECT_EQ(out.scenario["strategy"]["micro_batch"], 2);
  EXPECT_EQ(out.scenario["strategy"]["tensor_parallel"], 4);
  EXPECT_THAT(out.notes, Not(Contains(HasSubstr("trainings"))));  // echo only shows
  target.call = "SEQ=2048 small 1 c d e f g h i 1";
  EXPECT_EQ(of(script, target).scenario["workload"]["seq_len"], 2048);
}

TEST(MegatronDialects, ALengthThatTheScriptLeavesOpenIsNoFault) {
  const ImportedScenario out = of(kSmall + "--vocab-size 32000 --train-iters $ITERS");
  EXPECT_FALSE(out.scenario["workload"].contains("samples"));
  EXPECT_THAT(out.notes, Contains(HasSubstr("--train-iters")));
}

TEST(MegatronDialects, VocabulariesOfKnownModelsAreTheirs) {
  const std::string script = kSmall + "--tokenizer-type HuggingFaceTokenizer --tokenizer-model ";
  const auto vocab = [](const ImportedScenario& out) {
    return out.scenario["workload"]["model"]["transformer"]["vocab"].get<int>();
  };
  EXPECT_EQ(vocab(of(script + "meta-llama/Meta-Llama-3-8B")), 128256);
  EXPECT_THAT(faults_of(script + "somewhere/own"), HasSubstr("--vocab-size says it"));
  ImportTarget target;
  target.vocab_size = 50000;
  EXPECT_EQ(vocab(of(script + "somewhere/own", target)), 50048);  // padded to 128
}

TEST(MegatronDialects, ArithmeticHasConditionsAndLargeNumbers) {
  const auto value = [](std::string_view text) {
    return shell_arithmetic(text, [](const std::string&) { return std::string("2"); });
  };
  EXPECT_EQ(value("300000000000 * 3 / 512 / 2048"), 858306);
  EXPECT_EQ(value("(TP > 1) ? 1 : 0"), 1);
  EXPECT_EQ(value("TP == 1 || TP <= 1 ? 5 : 6"), 6);
  EXPECT_EQ(value("TP != 1 && !(TP < 2)"), 1);
  EXPECT_EQ(value("-3 + 5"), 2);
  EXPECT_EQ(value("4000000000000 * 4000000000000"), std::nullopt);
  EXPECT_EQ(value("1 ? 2"), std::nullopt);
}

}  // namespace
}  // namespace stepcast::import_megatron_dialects_test
