#pragma once

namespace stepcast {

/// Expected time of the slowest of n devices that do the same work, over their mean: 1 + σ·E[max of n normal draws].
///
/// σ = 1.5 %: identical GPUs of one cluster differ by 8 % between the ends of their distribution (Sinha et al., "Not
/// All GPUs Are Created Equal", SC22, average over five clusters, recalled), taken as ±2.7 σ. From 8 to 1,024 devices
/// the wait grows by 0.4 % of the work for each doubling, which is what published runs show (prototype fit on 788 runs,
/// 2026-11).
double slowest_of(int devices);

/// That σ: how much devices' speeds differ.
inline constexpr double kDeviceSpread = 0.08 / (2 * 2.7);

}  // namespace stepcast
