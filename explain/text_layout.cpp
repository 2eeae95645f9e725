#include "explain/text_layout.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/humane.hpp"

namespace stepcast {

std::string signed_time(Seconds time) {
  if (std::abs(time.value()) < 1e-9) return "0";
  return fmt::format("{}{}", time < Seconds(0) ? "−" : "+", humane(time < Seconds(0) ? -time : time));
}

}  // namespace stepcast
