#pragma once

#include <memory>

#include "calibration/validation/measured_run.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

struct Scenario;

/// Chooses what the source of a run leaves out of its mapping: tensor and pipeline parallel degrees, chunks of an
/// interleaved pipeline, micro-batch, recomputation, each only where MeasuredRun::open says so. Published runs were
/// tuned (Narayanan et al. 2021, section 3.3, choose theirs so): of the choices that fit memory the closed form's
/// fastest is taken. Where nothing fits, something that frees memory goes unsaid: the fastest is taken, or of open
/// mappings the one that needs least. A run whose scenario is refused anyway is left as it is: whoever predicts it says
/// why. Attention runs in 8 bit where the framework's recipes have it so and the scenario can say it.
void settle(MeasuredRun& run, const Catalog& catalog);

/// The scenario of a run, what its source leaves out settled; null where the run cannot be predicted.
std::shared_ptr<Scenario> settled_scenario(MeasuredRun& run, const Catalog& catalog);

/// Context-parallel degree with which a batch divides over the replicas: samples fewer than data-parallel ranks means
/// that ranks share them. `context_parallel` where the batch divides already, or by no degree.
long context_for_batch(long gpus, long tensor_parallel, long pipeline_parallel, long context_parallel,
                       long global_batch);

}  // namespace stepcast
