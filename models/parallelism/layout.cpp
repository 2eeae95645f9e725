#include "models/parallelism/layout.hpp"

#include <algorithm>
#include <string_view>

namespace stepcast {

namespace {

/// Ranks of a stage numbered together: tensor ranks first where they count, then context and data ranks.
class Numbering {
 public:
  Numbering(const RankLayout& layout, bool tensor)
      : layout_(layout), tensor_(tensor ? layout.degree(Axis::tensor) : 1), context_(layout.degree(Axis::context)) {}

  [[nodiscard]] int size() const { return tensor_ * context_ * layout_.degree(Axis::data); }
  [[nodiscard]] int index_of(int rank) const {
    const int tensor = tensor_ > 1 ? layout_.coordinate(rank, Axis::tensor) : 0;
    return tensor +
           tensor_ * (layout_.coordinate(rank, Axis::context) + context_ * layout_.coordinate(rank, Axis::data));
  }
  /// How far the rank of an index lies from that of index 0.
  [[nodiscard]] int offset_of(int index) const {
    return index % tensor_ * layout_.stride(Axis::tensor) + index / tensor_ % context_ * layout_.stride(Axis::context) +
           index / (tensor_ * context_) * layout_.stride(Axis::data);
  }

 private:
  const RankLayout& layout_;
  int tensor_, context_;
};

}  // namespace

std::vector<int> RankLayout::group(GroupKind kind, int rank) const {
  std::vector<int> out;
  const auto along = [&](Axis axis) {
    const int first = rank - coordinate(rank, axis) * stride(axis);
    for (int i = 0; i < degree(axis); ++i) out.push_back(first + i * stride(axis));
  };
  if (kind == GroupKind::tensor) along(Axis::tensor);
  if (kind == GroupKind::context) along(Axis::context);
  if (kind == GroupKind::pipeline) along(Axis::pipeline);
  const bool all_data = kind == GroupKind::data || (kind == GroupKind::shard && shard >= degree(Axis::data)) ||
                        (kind == GroupKind::replicate && shard == 1) ||
                        (kind == GroupKind::expert_data && experts == 1 && !experts_over_tensor);
  if (all_data && degree(Axis::context) == 1) along(Axis::data);
  if (!out.empty()) return out;

  const bool of_experts = kind == GroupKind::expert || kind == GroupKind::expert_data;
  const Numbering numbering(*this, of_experts && experts_over_tensor);
  const int all = numbering.size();
  const int own = numbering.index_of(rank);
  const int base = rank - numbering.offset_of(own);
  const auto expert_group = [&](int index) { return expert_before_data ? index / experts : index % (all / experts); };
  const auto expert_place = [&](int index) { return expert_before_data ? index % experts : index / (all / experts); };
  const auto together = [&](int index) {
    switch (kind) {
      case GroupKind::expert:
        return expert_group(index) == expert_group(own);
      case GroupKind::expert_data:
        return expert_place(index) == expert_place(own);
      case GroupKind::shard:
        return index / shard == own / shard;
      case GroupKind::replicate:
        return index % shard == own % shard;
      default:
        return true;
    }
  };
  for (int index = 0; index < all; ++index)
    if (together(index)) out.push_back(base + numbering.offset_of(index));
  std::sort(out.begin(), out.end());
  return out;
}

RankLayout rank_layout(const Scenario& scenario) {
  const Degrees& d = scenario.degrees;
  RankLayout layout;
  layout.degrees = {d.tp, d.cp, d.dp, d.pp};
  layout.experts = d.ep;
  layout.experts_over_tensor = d.etp < d.tp;
  layout.shard = std::clamp(scenario.shard_size, 1, d.dp * d.cp);
  layout.devices_per_node = std::min(scenario.devices_per_node(), d.devices());
  int stride = 1;
  int around = 1;  // ranks between neighbours of an expert group: of the axes that it does not lie over
  bool data_seen = false;
  const std::string_view order = scenario.spec.strategy.order;
  for (std::size_t start = 0; start < order.size();) {
    const auto dash = std::min(order.find('-', start), order.size());
    const std::string_view name = order.substr(start, dash - start);
    start = dash + 1;
    if (name == "ep") {
      // Expert ranks continue over the context ranks: for expert layers a token's context does not matter.
      layout.expert_stride = data_seen ? around * d.cp * (d.tp / d.etp) / d.ep : around;
      layout.expert_before_data = !data_seen;
      continue;
    }
    const Axis axis = name == "tp"   ? Axis::tensor
                      : name == "cp" ? Axis::context
                      : name == "dp" ? Axis::data
                                     : Axis::pipeline;
    const auto i = static_cast<std::size_t>(axis);
    layout.strides[i] = stride;
    layout.inside[i] = std::clamp(layout.devices_per_node / stride, 1, layout.degrees[i]);
    stride *= layout.degrees[i];
    const bool under_experts = axis == Axis::context || (axis == Axis::tensor && layout.experts_over_tensor);
    if (!under_experts) around *= layout.degrees[i];
    data_seen = data_seen || axis == Axis::data;
  }
  layout.side_by_side = std::clamp(layout.devices_per_node / layout.in_node(Axis::pipeline), 1, d.tp * d.cp * d.dp);
  return layout;
}

}  // namespace stepcast
