#include "calibration/importers/models/megatron_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "calibration/importers/models/megatron_compressed.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kLongestLayout = 100000;

/// The number behind a `*` at `at`, and `at` behind it; 1 where there is none, nothing where it is no number.
std::optional<std::size_t> repetitions(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '*') return 1;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
  if (error != std::errc() || value > kLongestLayout) return std::nullopt;
  at = static_cast<std::size_t>(end - text.data());
  return value;
}

/// A layout without its repetitions; nothing where it is none.
std::optional<std::string> unrolled(std::string_view text, bool within = false) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::string unit;
    if (text[at] == '(') {
      const auto close = text.find(')', at);
      if (within || close == std::string_view::npos) return std::nullopt;
      const auto inner = unrolled(text.substr(at + 1, close - at - 1), true);
      if (!inner) return std::nullopt;
      unit = *inner;
      at = close + 1;
    } else {
      if (std::string_view("EtmL|").find(text[at]) == std::string_view::npos) return std::nullopt;
      unit = text[at++];
    }
    const auto times = repetitions(text, at);
    if (!times || out.size() + *times * unit.size() > kLongestLayout) return std::nullopt;
    for (std::size_t i = 0; i < *times; ++i) out += unit;
  }
  return out;
}

std::vector<int> over_chunks(const std::vector<int>& of_stage, int chunks) {
  std::vector<int> out;
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (const int layers : of_stage) out.push_back(layers / chunks);
  return out;
}

}  // namespace

std::vector<int> megatron_stage_layers(const MegatronStages& how, Diagnostics& diagnostics) {
  const bool ends = how.first || how.last, counted = how.embedding_counts || how.loss_counts;
  if (how.stages < 2 || how.chunks < 1 || (!ends && !counted)) return {};
  const int embedding = !ends && how.embedding_counts ? 1 : 0, loss = !ends && how.loss_counts ? 1 : 0;
  const int rest = how.layers - how.first.value_or(0) - how.last.value_or(0) + embedding + loss;
  const int stages = how.stages - (how.first ? 1 : 0) - (how.last ? 1 : 0);
  std::vector<int> of_stage(static_cast<std::size_t>(how.stages), stages > 0 ? rest / stages : 0);
  if (how.first) of_stage.front() = *how.first;
  if (how.last) of_stage.back() = *how.last;
  const bool even = std::all_of(of_stage.begin(), of_stage.end(), [&](int n) { return n % how.chunks == 0; });
  if (rest < 0 || (stages > 0 ? rest % stages != 0 : rest != 0) || !even) {
    diagnostics.error(
        "",
        fmt::format("{} layers left for {} stages of {} chunk{} between those of the ends", rest, stages, how.chunks,
                    how.chunks == 1 ? "" : "s"),
        "--decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers leave the others even");
    return {};
  }
  std::vector<int> out = over_chunks(of_stage, how.chunks);
  out.front() -= embedding;
  out.back() -= loss;
  return out;
}

std::vector<int> megatron_listed_stages(const std::string& list, const MegatronStages& how, Diagnostics& diagnostics) {
  const std::string option = "--num-layer-list";
  const auto fail = [&](const std::string& what, const std::string& suggestion) {
    diagnostics.error("", fmt::format("{}: {}", option, what), suggestion);
    return std::vector<int>{};
  };
  const auto numbers = megatron_numbers(list);
  if (!numbers) return fail(fmt::format("found {}", shown(list)), is_unknown(list) ? kCallSaysIt : "as 20,20,20,18");
  if (how.chunks > 1 || how.first || how.last || how.embedding_counts || how.loss_counts)
    return fail("stands beside another option that cuts the layers over stages", "one of them");
  if (static_cast<int>(numbers->size()) != how.stages)
    return fail(fmt::format("found {} numbers, expected one for each of {} stages", numbers->size(), how.stages),
                "--pipeline-model-parallel-size says how many stages there are");
  const long sum = std::accumulate(numbers->begin(), numbers->end(), 0L);
  if (sum != how.layers)
    return fail(fmt::format("its {} layers are not the {} of --num-layers", sum, how.layers),
                "numbers that come to them");
  return *numbers;
}

std::vector<int> megatron_even_stages(const MegatronStages& how, Diagnostics& diagnostics) {
  const int chunks = how.stages * how.chunks;
  if (chunks < 2) return {};
  if (how.layers % chunks != 0) {
    diagnostics.error("",
                      fmt::format("{} layers, those that do nothing included, do not fill {} stages of {} chunk{}",
                                  how.layers, how.stages, how.chunks, how.chunks == 1 ? "" : "s"),
                      "stages of equal layers (--num-layers, --noop-layers)");
    return {};
  }
  return std::vector<int>(static_cast<std::size_t>(chunks), how.layers / chunks);
}

std::vector<int> megatron_layout_layers(const std::string& layout, Diagnostics& diagnostics) {
  const auto plain = unrolled(layout);
  if (!plain) {
    diagnostics.error("", fmt::format("--pipeline-model-parallel-layout: found {}", shown(layout)),
                      "letters E, t, m and L with | between chunks, repeated as t*3 or (tt|)*29");
    return {};
  }
  std::vector<int> out{0};
  for (const char c : *plain) {
    if (c == '|') out.push_back(0);
    if (c == 't') ++out.back();
  }
  return out;
}

}  // namespace stepcast
