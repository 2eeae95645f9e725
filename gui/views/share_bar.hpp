#pragma once

#include <QProgressBar>

namespace stepcast {

/// Shows how much of some work is done, finely enough that no step of the bar is seen; busy where it is not known
/// (below 0).
inline void show_share(QProgressBar& bar, double share) {
  constexpr int kParts = 1000;
  bar.setRange(0, share >= 0 ? kParts : 0);
  if (share >= 0) bar.setValue(static_cast<int>(share * kParts));
}

}  // namespace stepcast
