#include "models/parallelism/layout.hpp"

#include <algorithm>
#include <string_view>

namespace stepcast {

namespace {

/// Data and context ranks of a stage are numbered together, context first.
struct DataRank {
  int index;
  static DataRank of(const RankLayout& layout, int rank) {
    return {layout.coordinate(rank, Axis::context) +
            layout.degree(Axis::context) * layout.coordinate(rank, Axis::data)};
  }
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
  if (!out.empty()) return out;

  const int all = degree(Axis::context) * degree(Axis::data);
  const int own = DataRank::of(*this, rank).index;
  const int base = rank - coordinate(rank, Axis::context) * stride(Axis::context) -
                   coordinate(rank, Axis::data) * stride(Axis::data);
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
    if (together(index))
      out.push_back(base + index % degree(Axis::context) * stride(Axis::context) +
                    index / degree(Axis::context) * stride(Axis::data));
  std::sort(out.begin(), out.end());
  return out;
}

RankLayout rank_layout(const Scenario& scenario) {
  const Degrees& d = scenario.degrees;
  RankLayout layout;
  layout.degrees = {d.tp, d.cp, d.dp, d.pp};
  layout.experts = d.ep;
  layout.shard = std::clamp(scenario.shard_size, 1, d.dp * d.cp);
  layout.devices_per_node = std::min(scenario.devices_per_node(), d.devices());
  int stride = 1;
  int without_context = 1;
  bool data_seen = false;
  const std::string_view order = scenario.spec.strategy.order;
  for (std::size_t start = 0; start < order.size();) {
    const auto dash = std::min(order.find('-', start), order.size());
    const std::string_view name = order.substr(start, dash - start);
    start = dash + 1;
    if (name == "ep") {
      // Expert ranks continue over the context ranks: for expert layers a token's context does not matter.
      layout.expert_stride = data_seen ? without_context * d.cp / d.ep : without_context;
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
    if (axis != Axis::context) without_context *= layout.degrees[i];
    data_seen = data_seen || axis == Axis::data;
  }
  layout.side_by_side = std::max(1, layout.devices_per_node / layout.in_node(Axis::pipeline));
  return layout;
}

}  // namespace stepcast
