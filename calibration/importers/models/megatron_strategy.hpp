#pragma once

#include "calibration/importers/models/megatron_model.hpp"

namespace stepcast {

/// Reads how the training is spread over devices, as `strategy` of a scenario, without micro-batch. Faults go to the
/// arguments' diagnostics, what is not used to their notes.
Json read_megatron_strategy(MegatronArguments& arguments, const MegatronModel& model);

}  // namespace stepcast
