#include "models/fabric/parts_tally.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {

constexpr int kSiteLevel = 3;
/// Rates that differ by less are those of equal cables.
bool same_rate(BytesPerSecond a, BytesPerSecond b) {
  return a == b || std::lround(a.in(1_MBps)) == std::lround(b.in(1_MBps));
}

}  // namespace

int PartsTally::add_switch(int level) {
  switches_.push_back({level, 0});
  return static_cast<int>(switches_.size()) - 1;
}

void PartsTally::add_cables(int from, int to, const FabricLink& link) {
  for (const int end : {from, to})
    if (end != kNode) switches_[static_cast<std::size_t>(end)].ports += link.cables;
  const int low = level_of(from), high = level_of(to);
  const BytesPerSecond each = link.bandwidth / link.cables;
  auto run = std::find_if(runs_.begin(), runs_.end(), [&](const Run& known) {
    return known.from == low && known.to == high && same_rate(known.bandwidth, each);
  });
  if (run == runs_.end()) {
    const bool wide = link.kind == FabricLinkKind::wan || low >= kSiteLevel || high >= kSiteLevel;
    run = runs_.insert(run, {low, high, each, 0, link.kind == FabricLinkKind::trunk, wide});
  }
  run->cables += link.cables;
}

}  // namespace stepcast
