#pragma once

#include <string>
#include <vector>

namespace stepcast {

/// The logarithm of a figure, or of how far it lies from what is expected.
struct GroupedValue {
  std::string group;
  double value = 0;
};

/// Which of them lie far from the others of their group: more than a factor of two from its median, and more than six
/// times what the others do (in the median). Groups of fewer than four count as one. A group that is off as a whole, as
/// a slow device, has no such rows. Healthy chips' products lie up to 1.9 from what our models say (tests/data/probes,
/// H100 and H200: fp64 of edge 256), and do so each time: nearer ones are no faults of a measurement.
std::vector<bool> far_values(const std::vector<GroupedValue>& values);

}  // namespace stepcast
