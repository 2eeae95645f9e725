#include "models/updates/staleness_count.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {
constexpr std::size_t kMostShares = 65;
}

void StalenessCount::add(long missed) {
  const auto index = static_cast<std::size_t>(std::max(0L, missed));
  if (counts_.size() <= index) counts_.resize(index + 1, 0);
  ++counts_[index];
  ++all_;
}

void StalenessCount::shift(long more) { counts_.insert(counts_.begin(), static_cast<std::size_t>(more), 0); }

Staleness StalenessCount::distribution() const {
  Staleness out;
  if (all_ == 0) return out;
  const auto all = static_cast<double>(all_);
  double sum = 0, below = 0;
  bool found = false;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const double share = static_cast<double>(counts_[i]) / all;
    sum += share * static_cast<double>(i);
    below += share;
    if (!found && below >= 0.95 - 1e-12) {
      out.p95 = static_cast<double>(i);
      found = true;
    }
    if (i < kMostShares) {
      out.shares.push_back(share);
    } else {
      out.shares.back() += share;
    }
  }
  out.mean = sum;
  out.most = static_cast<double>(counts_.size() - 1);
  return out;
}

}  // namespace stepcast
