#include "calibration/importers/models/megatron_compressed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "models/workload/model.hpp"

namespace stepcast {

namespace {

constexpr int kDeepestNumbers = 8;

/// Sums and products of lists, whose brackets say nothing beside commas and signs: readers of arguments drop them.
class NumbersReader {
 public:
  explicit NumbersReader(std::string_view text) {
    for (const char c : text) {
      if (c == ' ' || c == '[' || c == ']' || (c == ',' && (text_.empty() || !is_digit(text_.back())))) continue;
      if (!is_digit(c) && c != ',' && text_.ends_with(',')) text_.pop_back();
      text_ += c;
    }
    if (text_.ends_with(',')) text_.pop_back();
    rest_ = text_;
  }

  std::optional<std::vector<int>> read() {
    auto out = sum(0);
    return rest_.empty() ? out : std::nullopt;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  bool accept(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<int> number() {
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::optional<std::vector<int>> sum(int depth) {
    auto out = product(depth);
    while (out && accept('+')) {
      const auto more = product(depth);
      if (!more || out->size() + more->size() > kMostLayers) return std::nullopt;
      out->insert(out->end(), more->begin(), more->end());
    }
    return out;
  }

  std::optional<std::vector<int>> product(int depth) {
    auto unit = list(depth);
    while (unit && accept('*')) {
      const std::optional<int> times = number();
      if (!times || (!unit->empty() && static_cast<std::size_t>(*times) > kMostLayers / unit->size()))
        return std::nullopt;
      std::vector<int> out;
      for (int i = 0; i < *times && !unit->empty(); ++i) out.insert(out.end(), unit->begin(), unit->end());
      unit = out;
    }
    return unit;
  }

  std::optional<std::vector<int>> list(int depth) {
    if (depth > kDeepestNumbers) return std::nullopt;
    if (accept('(')) {
      auto out = sum(depth + 1);
      return accept(')') ? out : std::nullopt;
    }
    std::vector<int> out;
    do {
      const std::optional<int> value = number();
      if (!value || out.size() >= kMostLayers) return std::nullopt;
      out.push_back(*value);
    } while (accept(','));
    return out;
  }

  std::string text_;
  std::string_view rest_;
};

/// Of the list's numbers those of the model's layers; behind them are those of prediction blocks.
std::vector<int> ratios(MegatronArguments& in, int layers) {
  const std::string option = "--csa-compress-ratios";
  const std::string text = in.list.has(option) ? fmt::format("{}", fmt::join(in.list.values(option), ",")) : "";
  auto numbers = megatron_numbers(text);
  const auto count = static_cast<std::size_t>(std::max(0, layers));
  if (!numbers || numbers->size() < count) {
    in.diagnostics.error("",
                         fmt::format("{} {}: expected a list of a number for each of {} layers", option, text, layers),
                         "'([0,0]+[4,128]*20+[4])'");
    return {};
  }
  numbers->resize(count);
  return *numbers;
}

}  // namespace

std::optional<std::vector<int>> megatron_numbers(std::string_view text) { return NumbersReader(text).read(); }

bool has_compressed_attention(MegatronArguments& in) {
  const std::string variant = "--experimental-attention-variant";
  return in.list.has(variant) && in.list.text(variant) == "dsv4_hybrid";
}

void read_compressed_attention(MegatronArguments& in, Json& shape, int layers) {
  constexpr int kIndexed = 4;  // CompressedSparseAttention gives an indexer to layers of this ratio
  shape["kv_heads"] = 1;
  shape["head_dim"] = in.list.whole("--v-head-dim").value_or(128);
  shape["qk_rope_head_dim"] = in.list.whole("--qk-pos-emb-head-dim").value_or(64);
  shape["q_lora_rank"] = in.list.whole("--q-lora-rank").value_or(512);
  shape["window"] = in.list.whole("--csa-window-size").value_or(128);
  shape.erase("qk_norm");  // of the latents, which always have norms here
  in.list.ignore("--kv-lora-rank");
  in.list.ignore("--qk-head-dim");
  const std::vector<int> by_layer = ratios(in, layers);
  Json& compressed = shape["compressed_attention"] = {{"ratios", by_layer}};
  const int heads = in.list.whole("--dsa-indexer-n-heads").value_or(64);
  const int size = in.list.whole("--dsa-indexer-head-dim").value_or(128);
  const int entries = in.list.whole("--dsa-indexer-topk").value_or(2048);
  if (std::find(by_layer.begin(), by_layer.end(), kIndexed) != by_layer.end()) {
    compressed["indexed_ratio"] = kIndexed;
    compressed["entries"] = entries;
    compressed["indexer_heads"] = heads;
    compressed["indexer_head_dim"] = size;
  }
  compressed["output_groups"] = in.first_of({"--o-groups", "--output-projection-groups"}).value_or(8);
  compressed["output_rank"] = in.first_of({"--o-lora-rank", "--output-projection-lora-rank"}).value_or(1024);
}

}  // namespace stepcast
