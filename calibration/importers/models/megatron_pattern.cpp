#include "calibration/importers/models/megatron_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/importers/text_file.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

namespace {

constexpr auto kPatternOptions = std::to_array<const char*>({"--hybrid-override-pattern", "--hybrid-layer-pattern"});
constexpr std::string_view kDescribed = "MG*-E";

struct LayerLetter {
  char letter;
  std::string_view kind;
};
// hybrid_layer_allocation.py and the README of Megatron-LM's examples/hybrid.
constexpr std::array kOtherLetters{
    LayerLetter{'D', "attention to tokens that an indexer picks (DeepSeek Sparse Attention)"},
    LayerLetter{'C', "attention to entries that stand for several tokens (CSA)"},
    LayerLetter{'H', "attention to entries that stand for many tokens (HCA)"},
    LayerLetter{'+', "multi-latent attention"}};

/// The one that is given; of both the newer name.
std::string given_option(MegatronArguments& in) {
  std::string out;
  for (const char* option : kPatternOptions)
    if (in.list.has(option)) out = option;
  return out;
}

void refuse_letters(MegatronArguments& in, const std::string& option, const std::string& pattern) {
  std::string told;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char letter = pattern[at];
    if (kDescribed.find(letter) != std::string_view::npos || told.find(letter) != std::string::npos) continue;
    told += letter;
    const auto other = std::find_if(kOtherLetters.begin(), kOtherLetters.end(),
                                    [&](const LayerLetter& one) { return one.letter == letter; });
    in.diagnostics.error(
        "",
        fmt::format("{}: found {} as layer {}{}", option, shown(std::string(1, letter)), at + 1,
                    other == kOtherLetters.end() ? "" : fmt::format(": {} is not described in a pattern", other->kind)),
        "expected M (Mamba-2), G (gated delta rule), * (attention), - (MLP) or E (experts)");
  }
}

}  // namespace

std::string megatron_layer_pattern(MegatronArguments& in) {
  const std::string option = given_option(in);
  std::string pattern = option.empty() ? std::string() : in.list.text(option);
  if (is_unknown(pattern)) {
    in.diagnostics.error("", fmt::format("{}: found {}, which the script does not set", option, shown(pattern)),
                         kCallSaysIt);
    return pattern;
  }
  pattern.erase(std::min(pattern.find('/'), pattern.size()));
  std::erase(pattern, '|');
  refuse_letters(in, option, pattern);
  return pattern;
}

int megatron_layers(MegatronArguments& in, const std::string& pattern) {
  const std::string number = "--num-layers";
  if (pattern.empty()) return in.required(number);
  const int named = static_cast<int>(std::min<std::size_t>(pattern.size(), kMostLayers + 1));
  if (!in.list.has(number)) return named;
  if (const auto stated = in.list.whole(number); stated && *stated != named)
    in.diagnostics.error("",
                         fmt::format("{}: names {} layers, but {} says {}", given_option(in), named, number, *stated),
                         fmt::format("leave {} out, or correct either", number));
  return named;
}

}  // namespace stepcast
