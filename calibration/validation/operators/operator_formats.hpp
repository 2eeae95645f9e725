#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// The format of numbers that a table of operators names, as profiles of operators have it: "nvfp4" and "FP4" are fp4,
/// "fp8_e4m3" is fp8, "bfloat16" bf16; "bf16->fp8" is of both. Null for any other text and a blank.
std::optional<std::string> operator_format(std::string_view text);

/// The formats that such tables name, for a text that names none.
std::vector<std::string> operator_formats();

}  // namespace stepcast
