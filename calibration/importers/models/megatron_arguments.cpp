#include "calibration/importers/models/megatron_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepcast {

MegatronArguments::MegatronArguments(std::string_view text, const ImportTarget& given, Diagnostics& faults)
    : target(given),
      list(text, given.call, "--hidden-size", faults),
      program(megatron_program_in(text)),
      diagnostics(faults) {
  degrees.tp = first_of({"--tensor-model-parallel-size", "--model-parallel-size"}).value_or(1);
  degrees.pp = list.whole("--pipeline-model-parallel-size").value_or(1);
  degrees.cp = list.whole("--context-parallel-size").value_or(1);
  degrees.ep = first_of({"--expert-model-parallel-size", "--moe-expert-parallel-size"}).value_or(1);
  // MindSpeed-LLM deals experts out to the tensor-parallel ranks instead of cutting them.
  if (list.has("--moe-tp-extend-ep"))
    degrees.ep = static_cast<int>(std::min(static_cast<long>(degrees.ep) * degrees.tp, 1L << 30));
}

int MegatronArguments::required(const std::string& option) {
  if (!list.has(option) && !list.refuse_as(option)) diagnostics.error("", fmt::format("missing: {}", option));
  return list.whole(option).value_or(0);
}

std::optional<int> MegatronArguments::first_of(std::initializer_list<const char*> options, int least) {
  std::optional<int> out;
  std::string_view name;
  for (const char* option : options) {
    const auto value = list.whole(option, least);
    if (!value) continue;
    if (out && *out != *value)
      diagnostics.error("", fmt::format("{}: found {}, but {}, which says the same, is {}", option, *value, name, *out),
                        "keep one of them");
    if (out) continue;
    out = value;
    name = option;
  }
  return out;
}

std::string MegatronArguments::choice(const std::string& option, std::initializer_list<const char*> words) {
  if (!list.has(option)) return {};
  std::string found = lower_case(list.text(option));
  if (found.empty() || is_unknown(found)) return {};
  const std::vector<std::string> known(words.begin(), words.end());
  if (std::find(known.begin(), known.end(), found) != known.end()) return found;
  diagnostics.error("", fmt::format("{}: found {}", option, shown(found)), nearest_choice(found, known));
  return {};
}

void MegatronArguments::copy(Json& to, const char* key, const std::string& option, int least) {
  if (const auto value = list.whole(option, least)) to[key] = *value;
}

void MegatronArguments::copy_flag(Json& to, const char* key, const std::string& option) {
  if (list.has(option)) to[key] = true;
}

}  // namespace stepcast
