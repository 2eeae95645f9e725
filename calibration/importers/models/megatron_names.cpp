#include "calibration/importers/models/megatron_names.hpp"

#include <algorithm>
#include <array>

namespace stepcast {

namespace {

/// How such options begin.
constexpr auto kHarmless = std::to_array<std::string_view>({"--lr",
                                                            "--min-lr",
                                                            "--weight-decay",
                                                            "--clip-grad",
                                                            "--adam-",
                                                            "--log-",
                                                            "--save",
                                                            "--load",
                                                            "--data-path",
                                                            "--data-cache",
                                                            "--data-args",
                                                            "--data-impl",
                                                            "--data-parallel-random",
                                                            "--eval-",
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
                                                            "--attention-backend",
                                                            "--ddp-"});

constexpr std::array kPrograms{MegatronProgram{"pretrain_gpt.py", "GPT2BPETokenizer"},
                               MegatronProgram{"pretrain_bert.py", "BertWordPieceLowerCase"},
                               MegatronProgram{"pretrain_t5.py", "BertWordPieceLowerCase"}};

struct Tokenizer {
  std::string_view begins;
  int vocabulary;
};
// GPT-2's, BERT's uncased and cased, Llama 2's.
constexpr std::array kTokenizers{Tokenizer{"GPT2BPETokenizer", 50257}, Tokenizer{"BertWordPieceLowerCase", 30522},
                                 Tokenizer{"BertWordPieceCase", 28996}, Tokenizer{"Llama2Tokenizer", 32000}};

}  // namespace

bool is_harmless_megatron_option(std::string_view option) {
  return std::any_of(kHarmless.begin(), kHarmless.end(),
                     [&](std::string_view begins) { return option.starts_with(begins); });
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

}  // namespace stepcast
