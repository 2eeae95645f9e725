#include "calibration/importers/models/megatron_routed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "calibration/importers/models/megatron_experts.hpp"
#include "calibration/importers/text_file.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

namespace {

class ExpertReader {
 public:
  ExpertReader(MegatronArguments& arguments, MegatronModel& model)
      : in_(arguments), model_(model), shape_(model.shape) {}

  void read() {
    const int experts = number_of_experts();
    if (experts <= 1) return;  // 1 is Megatron-DeepSpeed's default: none
    shape_["experts"] = experts;
    shape_["top_k"] = in_.list.whole("--moe-router-topk").value_or(2);
    if (in_.list.has("--moe-expert-parallel-size") || in_.list.has("--expert-interval")) deepspeed_experts();
    if (const auto width = in_.first_of({"--moe-ffn-hidden-size", "--moe-intermediate-size"}))
      shape_["moe_ffn_hidden"] = *width;
    in_.copy(shape_, "moe_latent", "--moe-latent-size");
    shared_experts();
    groups();
    layers_with_experts();
  }

 private:
  /// Megatron-DeepSpeed takes a number for each layer that has experts; here all have the mean, in whole multiples of
  /// the ranks that they are dealt out to, never more of these than the fewest experts (deepspeed/moe/layer.py).
  int number_of_experts() {
    const std::string option = "--num-experts";
    const int first = in_.list.whole(option).value_or(0);
    std::vector<int> numbers;
    for (const std::string& word : in_.list.values(option)) numbers.push_back(whole_number(word).value_or(first));
    if (numbers.size() < 2 ||
        std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end())
      return first;
    const int fewest = std::max(1, *std::min_element(numbers.begin(), numbers.end()));
    in_.degrees.ep = std::min(in_.degrees.ep, fewest);
    const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
    const long shares = std::lround(sum / static_cast<double>(numbers.size()) / in_.degrees.ep);
    // A model cannot have so many; what reads the description says so.
    const int mean = static_cast<int>(std::min(shares * in_.degrees.ep, 1L << 30));
    in_.notes.push_back(fmt::format("{} differs by layer, {} to {}: every layer is forecast with {}", option, fewest,
                                    *std::max_element(numbers.begin(), numbers.end()), mean));
    return mean;
  }

  /// Megatron-DeepSpeed's experts, by its own names and defaults (megatron/arguments.py).
  void deepspeed_experts() {
    shape_["top_k"] = in_.list.whole("--topk").value_or(1);
    if (const int every = in_.list.whole("--expert-interval").value_or(2); every > 1) shape_["moe_every"] = every;
    if (in_.list.has("--mlp-type") && in_.list.text("--mlp-type") == "residual")
      shape_["shared_expert_ffn"] = shape_["ffn_hidden"];
  }

  /// Megatron-LM states their width, its forks how many they are, each as wide as one of the others.
  void shared_experts() {
    const auto width = in_.first_of({"--moe-shared-expert-intermediate-size", "--shared-moe-ffn-hidden-size"});
    const auto count = in_.first_of({"--n-shared-experts", "--num-shared-experts"}, 0);
    const bool switched_on = in_.list.has("--enable-shared-expert");
    const long one = shape_.contains("moe_ffn_hidden") ? shape_["moe_ffn_hidden"] : shape_["ffn_hidden"];
    if (width && count && *width != *count * one)
      in_.diagnostics.error("",
                            fmt::format("shared experts: {} of {} make a width of {}, but {} is stated, too", *count,
                                        one, *count * one, *width),
                            "either their number or their width");
    if (width)
      shape_["shared_expert_ffn"] = *width;
    else if (count && *count > 0)
      shape_["shared_expert_ffn"] = *count * one;
    else if (switched_on && !count)
      in_.diagnostics.error("", "--enable-shared-expert: nothing says how wide it is",
                            "--num-shared-experts or --shared-moe-ffn-hidden-size");
  }

  /// Equal groups, of which a token's experts lie in some. Where only these are stated (DeepSeek-V2, arXiv 2405.04434,
  /// section 2.2.2), the groups are the expert-parallel ranks.
  void groups() {
    const auto groups = in_.first_of({"--moe-router-num-groups", "--n-group"});
    const auto taken = in_.first_of({"--moe-router-group-topk", "--topk-group", "--moe-router-topk-limited-devices"});
    if (groups) shape_["expert_groups"] = *groups;
    if (!taken) return;
    if (!groups && (!limited_by_rank() || in_.degrees.ep <= *taken)) return;
    shape_["groups_per_token"] = *taken;
    if (groups) return;
    shape_["expert_groups"] = in_.degrees.ep;
    in_.notes.push_back(
        fmt::format("a token's experts lie in {} groups, and nothing says of how many: of the {} "
                    "expert-parallel ranks",
                    *taken, in_.degrees.ep));
  }

  /// Other ways of balancing do not look at MindSpeed-LLM's --topk-group.
  bool limited_by_rank() {
    if (in_.list.has("--moe-router-topk-limited-devices") || in_.list.has("--moe-router-group-topk")) return true;
    const std::string balancing = "--moe-router-load-balancing-type";
    return in_.list.has(balancing) && in_.list.text(balancing) == "group_limited_greedy";
  }

  void layers_with_experts() {
    const std::string option = "--moe-layer-freq";
    const int dense = in_.list.whole("--first-k-dense-replace", 0).value_or(0);
    const bool stated = in_.list.has(option);
    if ((!stated && dense == 0) || model_.layers > kMostLayers) return;
    const std::string text = stated ? fmt::format("{}", fmt::join(in_.list.values(option), "")) : "1";
    const auto how = megatron_expert_layers(text, model_.layers, dense, model_.noops);
    if (!how)
      return in_.diagnostics.error(
          "", fmt::format("{}: found {}{}", option, shown(text), dense > 0 ? " beside --first-k-dense-replace" : ""),
          is_unknown(text) ? kCallSaysIt
                           : "a number, or a list like [0]*3+[1]*58 of all layers, with experts from one layer on or "
                             "in every so many-th");
    if (how->dense > 0) shape_["dense_layers"] = how->dense;
    if (how->every > 1) shape_["moe_every"] = how->every;
  }

  MegatronArguments& in_;
  MegatronModel& model_;
  Json& shape_;
};

}  // namespace

void read_megatron_experts(MegatronArguments& in, MegatronModel& model) { ExpertReader(in, model).read(); }

}  // namespace stepcast
