#include "calibration/importers/models/huggingface_compressed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

namespace {

constexpr const char* kIndexed = "compressed_sparse_attention";
constexpr const char* kHeavy = "heavily_compressed_attention";
constexpr const char* kWindowed = "sliding_attention";

/// Tokens to an entry of both kinds of layers that have entries.
struct Rates {
  int indexed = 4, heavy = 128;
};

class CompressedReader {
 public:
  explicit CompressedReader(const ReadHalves& into) : into_(into) {}

  void read() {
    const Rates rates = this->rates();
    const std::vector<int> ratios = this->ratios(rates);
    Json& shape = into_.shape;
    const int head = into_.reader.required({"head_dim"});
    shape["kv_heads"] = 1;
    shape["head_dim"] = head;
    shape["q_lora_rank"] = into_.reader.required({"q_lora_rank"});
    shape["qk_rope_head_dim"] = rotary(head);
    shape["window"] = into_.reader.required({"sliding_window"});
    if (const auto streams = into_.reader.whole("hc_mult"); streams && *streams > 1)
      shape["residual_streams"] = *streams;
    Json& compressed = shape["compressed_attention"] = {{"ratios", ratios}};
    const int topk = into_.reader.required({"index_topk"}), heads = into_.reader.required({"index_n_heads"});
    const int size = into_.reader.required({"index_head_dim"});
    if (std::find(ratios.begin(), ratios.end(), rates.indexed) != ratios.end()) {
      compressed["indexed_ratio"] = rates.indexed;
      compressed["entries"] = topk;
      compressed["indexer_heads"] = heads;
      compressed["indexer_head_dim"] = size;
    }
    compressed["output_groups"] = into_.reader.required({"o_groups"});
    compressed["output_rank"] = into_.reader.required({"o_lora_rank"});
    into_.reader.ignore({"compress_ratios", "compress_rates", "compress_rate_csa", "compress_rate_hca", "layer_types",
                         "mlp_layer_types", "num_hash_layers", "compress_rope_theta", "hc_eps", "hc_sinkhorn_iters",
                         "num_key_value_heads", "attention_bias", "mlp_bias", "expert_dtype", "partial_rotary_factor"});
  }

 private:
  void fault(const std::string& pointer, const std::string& found, const std::string& expected) {
    into_.diagnostics.error(pointer, "found " + found, expected);
  }
  [[nodiscard]] std::string at(const std::string& key) const { return child_pointer(into_.pointer, key); }

  Rates rates() {
    Rates out;
    if (const auto rate = into_.reader.whole("compress_rate_csa")) out.indexed = *rate;
    if (const auto rate = into_.reader.whole("compress_rate_hca")) out.heavy = *rate;
    const auto found = into_.config.find("compress_rates");
    if (found == into_.config.end() || !found->is_object()) return out;
    for (const auto& [key, rate] : {std::pair{kIndexed, &out.indexed}, std::pair{kHeavy, &out.heavy}})
      if (const auto given = found->find(key); given != found->end() && given->is_number_integer())
        *rate = given->get<int>();
    return out;
  }

  std::vector<int> ratios(const Rates& rates) {
    const auto layers = into_.shape.at("layers").get<std::size_t>();
    if (const auto list = into_.config.find("compress_ratios"); list != into_.config.end())
      return by_ratios(*list, layers);
    if (const auto list = into_.config.find("layer_types"); list != into_.config.end() && !list->is_null())
      return by_types(*list, layers, rates);
    // What the class makes of files that say neither: two, and then both kinds in turn.
    std::vector<int> out;
    for (std::size_t layer = 0; layer < layers; ++layer)
      out.push_back(layer > 2 && layer % 2 == 1 ? rates.indexed : rates.heavy);
    return out;
  }

  std::vector<int> by_ratios(const Json& list, std::size_t layers) {
    const std::string expected = fmt::format("a number of tokens for each of {} layers", layers);
    if (!list.is_array() || list.size() < layers) {
      fault(at("compress_ratios"), list.is_array() ? fmt::format("{} entries", list.size()) : describe(list), expected);
      return {};
    }
    std::vector<int> out;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const Json& ratio = list[layer];
      if (!ratio.is_number_unsigned() || ratio.get<double>() > 1e7) {
        fault(child_pointer(at("compress_ratios"), std::to_string(layer)), describe(ratio), "a whole number of tokens");
        return {};
      }
      out.push_back(ratio.get<int>());
    }
    return out;
  }

  std::vector<int> by_types(const Json& list, std::size_t layers, const Rates& rates) {
    if (!list.is_array() || list.size() < layers) {
      fault(at("layer_types"), list.is_array() ? fmt::format("{} entries", list.size()) : describe(list),
            fmt::format("a kind for each of {} layers", layers));
      return {};
    }
    std::vector<int> out;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const Json& type = list[layer];
      if (type != kWindowed && type != kIndexed && type != kHeavy) {
        fault(child_pointer(at("layer_types"), std::to_string(layer)), describe(type),
              fmt::format("{}, {} or {}", kWindowed, kIndexed, kHeavy));
        return {};
      }
      out.push_back(type == kIndexed ? rates.indexed : type == kHeavy ? rates.heavy : 0);
    }
    return out;
  }

  /// Part of a head that positions turn: as a size, or as a share of the head.
  int rotary(int head) {
    if (const auto size = into_.reader.whole("qk_rope_head_dim")) return *size;
    const double share = into_.reader.number("partial_rotary_factor").value_or(64.0 / 512);
    return static_cast<int>(std::lround(share * head));
  }

  const ReadHalves& into_;
};

}  // namespace

void read_compressed_attention(const ReadHalves& into) { CompressedReader(into).read(); }

}  // namespace stepcast
