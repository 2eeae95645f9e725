#pragma once

#include <optional>
#include <string>

#include "checks/measured/measured_results.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Refuses steps of another global batch than the scenario's, where the log names it: their times do not compare.
/// `file` is where they are from. Throws InputError.
void require_batch(const MeasuredResults& run, long global_batch, const std::string& file, const std::string& scenario);

/// Samples that the source counts for each device become those of all, where it does not tell these itself.
void count_devices(MeasuredResults& run, int devices);

/// Tokens a second of the Trainer become those of each device or of all. All read at most `tokens_of_sample` for each
/// sample: what leaves room for as many on every device is of one. Without samples beside them they do not count, with
/// a note; where nothing else was measured, InputError.
void settle_tokens(MeasuredResults& run, double tokens_of_sample, int devices, const std::string& file);

/// A step of the scenario by what was measured: its time, else what its throughput makes of it. The median over the
/// second half of the samples, for the first ones warm up. Null where the run tells neither.
std::optional<Seconds> measured_step(const MeasuredResults& run, const Scenario& scenario);

}  // namespace stepcast
