#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/prediction.hpp"
#include "report/run_outlook.hpp"

namespace stepcast {

/// What surrounds the step, for people: the run, its phases, input and facility, each only where it says something.
/// Empty without an outlook.
std::string outlook_text(const Prediction& prediction);

/// "920 GB every 586 s, training stalls for 482 ms", or why there is none on the way.
std::string checkpoint_words(const RunOutlook& outlook);
/// "for 21 s, a step takes 4.2 s (+3.1 %)", while an asynchronous checkpoint drains; empty where none slows a step.
std::string draining_words(const CheckpointOutlook& checkpoint, Seconds step);
/// "95.4 % (95.1 % to 95.6 %)".
std::string goodput_words(const GoodputOutlook& goodput);
/// "every 3.64 h", or "never".
std::string interruption_words(const GoodputOutlook& goodput);
/// What the time is lost to that is worth a word: causes in words, and their shares.
std::vector<std::pair<std::string, double>> losses(const GoodputOutlook& goodput);
/// "22,632 t" of the run, or "12 g per step".
std::string carbon_words(const CarbonOutlook& carbon);
/// "keeps up", or "TRAINING WAITS for decode".
std::string input_verdict(const InputOutlook& input);
/// That nobody says how long decoding takes, and how long it may; empty where that is stated or not known.
std::string decode_words(const InputOutlook& input);
/// What the stage is made of that training waits for; empty where it waits for none.
std::string input_limit_words(const InputOutlook& input);
/// A key of JSON for people: `lost_work` is "lost work".
std::string key_in_words(std::string key);

}  // namespace stepcast
