#include "fields/rounded.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace stepcast {

double rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace stepcast
