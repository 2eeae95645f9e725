#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// FNV-1a of 64 bit of what a fit has read, in hexadecimal: profiles name it, so that anyone can tell whether they hold
/// the same data.
std::string data_hash(std::string_view text);

}  // namespace stepcast
