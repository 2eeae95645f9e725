#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/explanation.hpp"

namespace stepcast {

/// What holds a step up and what to try, in a few sentences.
std::vector<std::string> bottleneck_words(const Explanation& explanation);

/// Why a step does not fit memory; none where it does.
std::optional<std::string> misfit_words(const MemoryReport& memory);

/// A sentence over lines of at most 100 columns, indented by two.
std::string wrapped_sentence(const std::string& text);

/// A change in words: "+3.1 %", "−0.4 %", "no change".
std::string signed_percent(double share);

}  // namespace stepcast
