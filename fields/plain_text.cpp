#include "fields/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepcast {

namespace {

bool is_control(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return (code < 0x20 && letter != '\t' && letter != '\n') || code == 0x7f;
}

void check(const Json& value, const Json::json_pointer& at, Diagnostics& diagnostics) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto found = std::find_if(text.begin(), text.end(), is_control);
    if (found == text.end()) return;
    diagnostics.error(at.to_string(),
                      fmt::format("holds the control character U+{:04X} at byte {}",
                                  static_cast<unsigned>(static_cast<unsigned char>(*found)), found - text.begin()),
                      "leave it out");
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.items()) check(member, at / key, diagnostics);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) check(value[i], at / i, diagnostics);
  }
}

}  // namespace

void refuse_control_characters(const Json& document, Diagnostics& diagnostics) {
  check(document, Json::json_pointer(), diagnostics);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& letter : out)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return out;
}

std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace stepcast
