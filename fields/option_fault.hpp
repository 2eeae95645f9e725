#pragma once

#include <string>

namespace stepcast {

/// Throws the InputError of one fault in what was given to an option: its name ("--ranks"), what was found and
/// expected, and the way out.
[[noreturn]] void refuse_option(std::string option, std::string message, std::string hint);

}  // namespace stepcast
