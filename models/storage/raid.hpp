#pragma once

namespace stepcast {

/// Rates of an array in those of one of its drives, large transfers. Levels: 0, 1, 5, 6 and 10; anything else counts as
/// 0 (plain drives of one node read and write side by side as well). Source: the levels' definitions (storage raid0,
/// raid1, raid5, raid6, raid10 of the catalogue); of 5 and 6 whole stripes.
struct RaidFactors {
  double read = 1, write = 1;  ///< rate of large transfers
  double random_read = 1;      ///< small reads per second
};
RaidFactors raid_factors(int level, int drives);

/// Whether a level exists for so many drives.
bool raid_possible(int level, int drives);

}  // namespace stepcast
