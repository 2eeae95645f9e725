#include "calibration/importers/models/megatron_unread.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Words of an option that speaks of the model's size.
constexpr auto kSizeWords = std::to_array<std::string_view>({"moe", "expert", "experts", "dense", "noop"});
constexpr auto kSizeParts = std::to_array<std::string_view>({"lora-rank", "head-dim"});

/// Read where the model has experts, latents, an indexer, scans or linear attention; programs pass over them elsewhere.
constexpr auto kReadElsewhere = std::to_array<std::string_view>({"moe-router-topk",
                                                                 "moe-ffn-hidden-size",
                                                                 "moe-intermediate-size",
                                                                 "moe-latent-size",
                                                                 "moe-layer-freq",
                                                                 "moe-shared-expert-intermediate-size",
                                                                 "shared-moe-ffn-hidden-size",
                                                                 "n-shared-experts",
                                                                 "num-shared-experts",
                                                                 "enable-shared-expert",
                                                                 "first-k-dense-replace",
                                                                 "expert-interval",
                                                                 "q-lora-rank",
                                                                 "kv-lora-rank",
                                                                 "o-lora-rank",
                                                                 "output-projection-lora-rank",
                                                                 "qk-head-dim",
                                                                 "qk-nope-head-dim",
                                                                 "qk-pos-emb-head-dim",
                                                                 "qk-rope-head-dim",
                                                                 "v-head-dim",
                                                                 "dsa-indexer-head-dim",
                                                                 "index-head-dim",
                                                                 "mamba-head-dim",
                                                                 "linear-key-head-dim",
                                                                 "linear-value-head-dim"});

/// Parts of names of what routes, deals out, computes and watches experts (Megatron-LM's and MindSpeed's arguments).
constexpr auto kOptionsWithoutShape = std::to_array<std::string_view>(
    {"loss",       "coeff",   "capacity", "jitter",   "num-sms", "overlap",  "comm",   "alltoall",   "allgather",
     "dispatch",   "backend", "fusion",   "graph",    "logging", "dtype",    "gemm",   "bmm",        "bias",
     "upcycling",  "memory",  "mem-",     "pad",      "deepep",  "hybridep", "permut", "interleave", "extended-tp",
     "recompute",  "gate",    "gating",   "drop",     "probs",   "router",   "fp8",    "fp32",       "quant",
     "offload",    "swap",    "parallel", "pipeline", "revert",  "legacy",   "metric", "stream",     "force",
     "activation", "norm",    "balanc",   "init",     "grouped", "stash",    "tuning", "check",      "debug"});

std::string bare_name(std::string_view option) {
  return with_dashes(std::string(option.substr(std::min(option.find_first_not_of('-'), option.size()))));
}

bool has_size_word(std::string_view name, std::string_view word) {
  return contains("-" + std::string(name) + "-", "-" + std::string(word) + "-");
}

bool speaks_of_size(std::string_view name) {
  return std::any_of(kSizeWords.begin(), kSizeWords.end(),
                     [&](std::string_view word) { return has_size_word(name, word); }) ||
         std::any_of(kSizeParts.begin(), kSizeParts.end(), [&](std::string_view part) { return contains(name, part); });
}

bool is_without_size(std::string_view name) {
  return std::find(kReadElsewhere.begin(), kReadElsewhere.end(), name) != kReadElsewhere.end() ||
         std::any_of(kOptionsWithoutShape.begin(), kOptionsWithoutShape.end(),
                     [&](std::string_view part) { return contains(name, part); });
}

bool says_no_size(const std::vector<std::string>& values) {
  if (values.size() != 1) return false;
  const std::string value = lower_case(values[0]);
  return value.empty() || value == "0" || value == "false" || value == "none" || value == "null";
}

}  // namespace

void refuse_unread_sizes(MegatronArguments& in, const std::vector<std::string>& unread) {
  for (const std::string& option : unread) {
    const std::string name = bare_name(option);
    if (!speaks_of_size(name) || is_without_size(name)) continue;
    const std::vector<std::string> values = in.list.values(option);
    if (says_no_size(values)) continue;
    const std::string found =
        values.empty() ? std::string("no value") : shown(fmt::format("{}", fmt::join(values, " ")));
    in.diagnostics.error("",
                         fmt::format("{}: found {}: the option speaks of the model's size and is not read here, so "
                                     "that the model would be another one",
                                     option, found),
                         "experts are read from --num-experts, --moe-router-topk, --moe-ffn-hidden-size, "
                         "--moe-shared-expert-intermediate-size and --moe-layer-freq, latent attention from "
                         "--multi-latent-attention, --q-lora-rank, --kv-lora-rank, --qk-head-dim and --v-head-dim");
  }
}

}  // namespace stepcast
