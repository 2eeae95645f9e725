#include "calibration/importers/models/megatron_noop.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibration/importers/models/megatron_compressed.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

std::set<int> megatron_noop_layers(MegatronArguments& in, int layers) {
  const std::string option = "--noop-layers";
  if (!in.list.has(option)) return {};
  const std::string text = fmt::format("{}", fmt::join(in.list.values(option), ","));
  const auto numbers = megatron_numbers(text);
  const auto beyond = [&](int layer) { return layer >= layers; };
  if (!numbers || std::any_of(numbers->begin(), numbers->end(), beyond)) {
    in.diagnostics.error("", fmt::format("{}: found {}", option, shown(text)),
                         is_unknown(text) ? kCallSaysIt : fmt::format("layers of 0 to {}, as 61,62,63", layers - 1));
    return {};
  }
  std::set<int> out(numbers->begin(), numbers->end());
  if (static_cast<int>(out.size()) < layers) return out;
  in.diagnostics.error("", fmt::format("{}: names all {} layers", option, layers), "a model has layers that compute");
  return {};
}

std::string without_noop_layers(const std::string& letters, const std::set<int>& noops) {
  std::string out;
  for (std::size_t layer = 0; layer < letters.size(); ++layer)
    if (!noops.contains(static_cast<int>(layer))) out += letters[layer];
  return out;
}

void leave_out_noop_layers(std::vector<int>& of_chunks, const std::set<int>& noops) {
  int begin = 0;
  for (int& layers : of_chunks) {
    const int end = begin + layers;
    layers -= static_cast<int>(std::distance(noops.lower_bound(begin), noops.lower_bound(end)));
    begin = end;
  }
}

}  // namespace stepcast
