#pragma once

#include <string_view>

#include "checks/measured/measured_results.hpp"

namespace stepcast {

/// `step_time_s` of each epoch by the bars and lines of Keras' `fit` (`51ms/step`), or `samples_per_s` where they count
/// samples (`83us/sample`). Below `Epoch 2/3` the first bar counts, which an evaluation follows; of a training of one
/// epoch, which has no such line, the bar that ran longest. The times of Keras 2 hold the validation of their epoch:
/// bars with it are left out.
NamedSeries read_keras_bars(std::string_view text);

/// Whether a text has bars of Keras 2 with validation, whose times do not tell that of a step.
bool keras_bars_hold_validation(std::string_view text);

}  // namespace stepcast
