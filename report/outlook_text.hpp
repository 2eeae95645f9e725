#pragma once

#include <string>

#include "report/prediction.hpp"
#include "report/run_outlook.hpp"

namespace stepcast {

/// What surrounds the step, for people: the run, its phases, input and facility, each only where it says something.
/// Empty without an outlook.
std::string outlook_text(const Prediction& prediction);

/// "920 GB every 586 s, training stalls for 482 ms", or why there is none on the way.
std::string checkpoint_words(const RunOutlook& outlook);
/// A key of JSON for people: `lost_work` is "lost work".
std::string key_in_words(std::string key);

}  // namespace stepcast
