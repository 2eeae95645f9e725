#include "models/storage/raid.hpp"

#include <algorithm>

namespace stepcast {

RaidFactors raid_factors(int level, int drives) {
  const double n = std::max(1, drives);
  switch (level) {
    case 1:
      return {n, 1, n};
    case 5:
      return {n - 1, n - 1, n};
    case 6:
      return {n - 2, n - 2, n};
    case 10:
      return {n, n / 2, n};
    default:
      return {n, n, n};
  }
}

bool raid_possible(int level, int drives) {
  switch (level) {
    case 0:
      return drives >= 1;
    case 1:
      return drives >= 2;
    case 5:
      return drives >= 3;
    case 6:
      return drives >= 4;
    case 10:
      return drives >= 4 && drives % 2 == 0;
    default:
      return false;
  }
}

}  // namespace stepcast
