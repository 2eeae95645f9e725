#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// Id of the accelerator of the catalogue that a table names in words of its own: "H100-SXM5-80GB", "NVIDIA B200". The
/// text as it is where it names none, or one of several ("H100").
std::string accelerator_of(std::string_view text);

/// Whether a text is the id of an accelerator of the catalogue.
bool is_accelerator(std::string_view id);

/// The hint for a text that names no accelerator: those among which it does not choose, or the nearest id; may be
/// empty.
std::string accelerator_hint(std::string_view text);

}  // namespace stepcast
