#pragma once

#include "units/quantity.hpp"

namespace stepcast {

/// What a job goes through when it is interrupted and saved, with one rate of interruptions.
struct RunHazard {
  PerSecond interruptions;  ///< of the whole job
  Seconds stall;            ///< of one checkpoint
  Seconds behind;           ///< by which a checkpoint is safe later than training goes on (asynchronous ones)
  Seconds recovery;         ///< from an interruption until training goes on, detection and reading included
  double spared = 0;        ///< share of the interruptions before which a checkpoint is made: no work is lost to them
};

/// First-order interval between checkpoints, √(2δM) (Young 1974, "A first order approximation to the optimum checkpoint
/// interval"); M: mean time between interruptions, δ: stall. Infinite when nothing fails.
Seconds young_interval(const RunHazard& hazard);

/// Daly's higher-order interval (Daly 2006, "A higher order estimate of the optimum checkpoint interval for restart
/// dumps", eq. 37): √(2δM)·[1 + ⅓(δ/2M)^½ + ⅑(δ/2M)] − δ for δ < 2M, else M.
Seconds daly_interval(const RunHazard& hazard);

/// Share of the time that is useful training, by Daly's complete model (his eq. 20): a run of exponential interruptions
/// takes M·e^(R/M)·(e^((τ+δ)/M) − 1)/τ of each second of work. What asynchronous checkpoints lose beyond, the work
/// done while the last one was being written, is its own factor e^(w/M). Where a share s of the interruptions is
/// spared, (1 − s)·τ·e^(−(τ+δ)/M) + s·M·(1 − e^(−τ/M)) is kept of an interval that takes M·e^(R/M)·(1 − e^(−(τ+δ)/M)):
/// the same for s = 0. 1 when nothing fails and nothing is saved.
double daly_goodput(const RunHazard& hazard, Seconds interval);

/// Mean time that work takes without a checkpoint at its end, as the last of a run does: M·e^(R/M)·(e^(w/M) − 1), as in
/// Daly's model. Where a share s of the interruptions is spared it goes on from where these came:
/// M·e^(R/M)·ln(1 + s·(e^(w/M) − 1))/s, which solves T'·(s·e^(w/M) + 1 − s) = e^(R/M)·e^(w/M) with T(0) = 0.
Seconds unsaved_time(const RunHazard& hazard, Seconds work);

/// The interval of the best `daly_goodput`, not below `shortest`. Infinite when nothing is lost. Where its
/// derivative is zero, (τ/M − 1 − k)·e^((τ+δ)/M) = −1 with k = s/(1 − s)·(e^(δ/M) − 1), so
/// τ = M·(1 + k + W(−e^(−1−k−δ/M))) with Lambert's W on its main branch.
Seconds best_interval(const RunHazard& hazard, Seconds shortest);

}  // namespace stepcast
