#include "calibration/importers/models/megatron_names.hpp"

#include <algorithm>
#include <array>

#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// How such options begin.
constexpr auto kHarmlessOptions = std::to_array<std::string_view>({"--lr",
                                                                   "--min-lr",
                                                                   "--weight-decay",
                                                                   "--clip-grad",
                                                                   "--adam-",
                                                                   "--muon-coefficient",
                                                                   "--muon-extra-scale",
                                                                   "--muon-fp32",
                                                                   "--muon-momentum",
                                                                   "--muon-nesterov",
                                                                   "--muon-no-split",
                                                                   "--muon-scal",
                                                                   "--muon-split",
                                                                   "--muon-use-nesterov",
                                                                   "--log-",
                                                                   "--save",
                                                                   "--load",
                                                                   "--data-path",
                                                                   "--data-cache",
                                                                   "--data-args",
                                                                   "--data-impl",
                                                                   "--data-parallel-random",
                                                                   "--eval-interval",
                                                                   "--tensorboard-",
                                                                   "--wandb-",
                                                                   "--init-method",
                                                                   "--seed",
                                                                   "--split",
                                                                   "--vocab-file",
                                                                   "--merge-file",
                                                                   "--tokenizer-",
                                                                   "--exit-",
                                                                   "--distributed-",
                                                                   "--norm-epsilon",
                                                                   "--rotary-",
                                                                   "--no-position",
                                                                   "--ckpt-",
                                                                   "--dist-ckpt",
                                                                   "--async-save",
                                                                   "--timing-",
                                                                   "--master",
                                                                   "--rdzv",
                                                                   "--node_rank",
                                                                   "--node-rank",
                                                                   "--max_restarts",
                                                                   "--mock-data",
                                                                   "--num-workers",
                                                                   "--no-load-",
                                                                   "--no-save-",
                                                                   "--use-mcore",
                                                                   "--transformer-impl",
                                                                   "--attention-softmax",
                                                                   "--train-data",
                                                                   "--valid-data",
                                                                   "--test-data",
                                                                   "--use-checkpoint",
                                                                   "--override-opt",
                                                                   "--finetune",
                                                                   "--moe-aux-loss",
                                                                   "--moe-router-",
                                                                   "--moe-z-loss",
                                                                   "--moe-token-",
                                                                   "--moe-flex-",
                                                                   "--moe-permute",
                                                                   "--moe-grouped",
                                                                   "--use-mcore-models",
                                                                   "--loss-scale",
                                                                   "--initial-loss",
                                                                   "--hysteresis",
                                                                   "--no-masked",
                                                                   "--apply-query",
                                                                   "--ddp-",
                                                                   "--abort-on-unmet",
                                                                   "--deepspeed",
                                                                   "--embed-layernorm",
                                                                   "--jobid",
                                                                   "--kill-",
                                                                   "--tee",
                                                                   "--train-weighted",
                                                                   "--valid-",
                                                                   "--wait",
                                                                   "--nnodes",
                                                                   "--nproc",
                                                                   "--num_nodes",
                                                                   "--override-",
                                                                   "--moe-train-capacity",
                                                                   "--moe-eval-capacity",
                                                                   "--moe-min-capacity",
                                                                   "--moe-loss",
                                                                   "--create-moe",
                                                                   "--no-pipeline-parallel",
                                                                   "--train-tokens",
                                                                   "--train-mode",
                                                                   "--dataset",
                                                                   "--dataloader",
                                                                   "--max-padding",
                                                                   "--extra-vocab",
                                                                   "--patch-tokenizer",
                                                                   "--mscale",
                                                                   "--no-rope-fusion",
                                                                   "--no-persist",
                                                                   "--no-mmap",
                                                                   "--no-create-attention",
                                                                   "--manual-gc",
                                                                   "--empty-unused",
                                                                   "--calculate-per-token",
                                                                   "--decoupled-",
                                                                   "--apply-layernorm-1p",
                                                                   "--squared-relu",
                                                                   "--use-rope-scaling",
                                                                   "--use-flash-attn",
                                                                   "--eod-mask",
                                                                   "--use-multi-token",
                                                                   "--attention-sink",
                                                                   "--moe-use-legacy",
                                                                   "--disable-moe-token",
                                                                   "--reset-",
                                                                   "--use_wandb",
                                                                   "--profile",
                                                                   "--bert-",
                                                                   "--vision-",
                                                                   "--cpus-per",
                                                                   "--ntasks",
                                                                   "--gres",
                                                                   "--container",
                                                                   "--export",
                                                                   "--job-name",
                                                                   "--partition",
                                                                   "--output",
                                                                   "--error",
                                                                   "--local_rank",
                                                                   "--hostfile",
                                                                   "--include",
                                                                   "--exclude",
                                                                   "--launcher",
                                                                   "--ds_",
                                                                   "--no-ssh",
                                                                   "--local-rank",
                                                                   "--module",
                                                                   "--standalone",
                                                                   "--redirects",
                                                                   "--rope-",
                                                                   "--auto-detect-ckpt-format",
                                                                   "--mtp-loss-scaling-factor",
                                                                   "--enable-experimental",
                                                                   "--cross-entropy-fusion-impl",
                                                                   "--glu-linear-offset",
                                                                   "--mem",
                                                                   "--mpi",
                                                                   "--verbose"});

/// An option that changes time or memory and is not read: how it begins, and what that does to the forecast.
struct UnmodelledOption {
  std::string_view begins, effect;
};
constexpr std::array kUnmodelledOptions{
    UnmodelledOption{"--rampup-batch-size",
                     "the run begins with smaller batches and takes longer than forecast; run.phases with "
                     "global_batch_end says so"},
    UnmodelledOption{"--eval-iters", "evaluations take time between the steps; run.phases says how often"},
    UnmodelledOption{"--moe-shared-expert-overlap",
                     "the shared expert runs beside the exchange of tokens, so that the step is overestimated"},
    UnmodelledOption{"--no-gradient-accumulation-fusion",
                     "gradients are added up by kernels of their own, so that the step is underestimated"},
    UnmodelledOption{"--reset-attention-mask", "attention ends at documents, by other kernels than the causal ones"},
    UnmodelledOption{"--deterministic-mode", "deterministic kernels are slower than those of the forecast"}};

constexpr std::array kPrograms{MegatronProgram{"pretrain_gpt.py", "GPT2BPETokenizer"},
                               MegatronProgram{"pretrain_bert.py", "BertWordPieceLowerCase"},
                               MegatronProgram{"pretrain_t5.py", "BertWordPieceLowerCase"},
                               MegatronProgram{"pretrain_mamba.py", "GPT2BPETokenizer"}};

struct Tokenizer {
  std::string_view begins;
  int vocabulary;
};
// GPT-2's, BERT's uncased and cased, Llama 2's.
constexpr std::array kTokenizers{Tokenizer{"GPT2BPETokenizer", 50257}, Tokenizer{"BertWordPieceLowerCase", 30522},
                                 Tokenizer{"BertWordPieceCase", 28996}, Tokenizer{"Llama2Tokenizer", 32000}};

// Of tokenizers that checkpoints of these models hold, by a part of the path in lower case.
constexpr std::array kModels{
    Tokenizer{"llama-3", 128256},     Tokenizer{"llama3", 128256},  Tokenizer{"llama-2", 32000},
    Tokenizer{"llama2", 32000},       Tokenizer{"mixtral", 32000},  Tokenizer{"mistral-7b", 32000},
    Tokenizer{"qwen3", 151669},       Tokenizer{"qwen2", 151665},   Tokenizer{"deepseek-v3", 128815},
    Tokenizer{"deepseek-v2", 100002}, Tokenizer{"gpt-oss", 200019}, Tokenizer{"gpt-neox-20b", 50277},
    Tokenizer{"gpt2", 50257},         Tokenizer{"bloom", 250680},   Tokenizer{"nemotron_2_256k", 256000}};

}  // namespace

bool is_harmless_megatron_option(std::string_view option) {
  return std::any_of(kHarmlessOptions.begin(), kHarmlessOptions.end(),
                     [&](std::string_view begins) { return option.starts_with(begins); });
}

std::string_view effect_of_unmodelled_option(std::string_view option) {
  const auto named = [&](const UnmodelledOption& one) { return option.starts_with(one.begins); };
  const auto found = std::find_if(kUnmodelledOptions.begin(), kUnmodelledOptions.end(), named);
  return found == kUnmodelledOptions.end() ? std::string_view{} : found->effect;
}

const MegatronProgram* megatron_program_in(std::string_view script) {
  const auto named = [&](const MegatronProgram& one) { return script.find(one.file) != std::string_view::npos; };
  const auto found = std::find_if(kPrograms.begin(), kPrograms.end(), named);
  return found == kPrograms.end() ? nullptr : &*found;
}

int vocabulary_of_tokenizer(std::string_view tokenizer) {
  const auto named = [&](const Tokenizer& one) { return tokenizer.starts_with(one.begins); };
  const auto found = std::find_if(kTokenizers.begin(), kTokenizers.end(), named);
  return found == kTokenizers.end() ? 0 : found->vocabulary;
}

int vocabulary_by_name(std::string_view path) {
  const std::string low = lower_case(path);
  const auto found = std::find_if(kModels.begin(), kModels.end(),
                                  [&](const Tokenizer& one) { return low.find(one.begins) != std::string::npos; });
  return found == kModels.end() ? 0 : found->vocabulary;
}

}  // namespace stepcast
