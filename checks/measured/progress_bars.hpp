#pragma once

#include <string_view>
#include <vector>

namespace stepcast {

/// Seconds of a step as progress bars show them ("30.83s/it", or "1.53it/s" where that is shorter: tqdm), of the bar
/// that ran longest: those of evaluations, of loaded files and of prepared data stand beside it. A bar that is drawn
/// over itself has its states behind one another, between carriage returns. Empty where no bar counts steps.
std::vector<double> step_times_of_bars(std::string_view text);

}  // namespace stepcast
