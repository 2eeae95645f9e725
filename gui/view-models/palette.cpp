#include "gui/view-models/palette.hpp"

#include <algorithm>
#include <array>

namespace stepcast {

QColor color_of(Hue hue) {
  switch (hue) {
    case Hue::blue:
      return QColor(0, 114, 178);
    case Hue::orange:
      return QColor(230, 159, 0);
    case Hue::green:
      return QColor(0, 158, 115);
    case Hue::sky:
      return QColor(86, 180, 233);
    case Hue::vermillion:
      return QColor(213, 94, 0);
    case Hue::purple:
      return QColor(204, 121, 167);
    case Hue::yellow:
      return QColor(240, 228, 66);
    case Hue::grey:
      break;
  }
  return QColor(136, 141, 150);
}

Hue hue_of_index(int index) {
  static constexpr std::array order{Hue::blue,   Hue::orange,     Hue::green,  Hue::sky,
                                    Hue::purple, Hue::vermillion, Hue::yellow, Hue::grey};
  return order[static_cast<std::size_t>(index) % order.size()];
}

QColor heat(double share, bool dark) {
  // Stops of the "cividis" map (Nuñez, Anderton & Renslow 2018), which readers with colour-vision deficiency see alike.
  static constexpr std::array<std::array<int, 3>, 6> stops{
      {{0, 34, 78}, {53, 69, 108}, {102, 105, 112}, {148, 142, 119}, {200, 184, 102}, {254, 232, 56}}};
  // On a dark ground the map's dark end would not be seen: from here on its contrast is 3 to 1 (WCAG 2.1, 1.4.11).
  constexpr double kSeenOnDark = 0.45;
  const double calm = std::clamp(share, 0.0, 1.0);
  const double at = dark ? kSeenOnDark + (1 - kSeenOnDark) * calm : 1 - calm;
  const double scaled = at * (stops.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(scaled), stops.size() - 2);
  const double part = scaled - static_cast<double>(below);
  const auto mix = [&](std::size_t channel) {
    return static_cast<int>(stops[below][channel] * (1 - part) + stops[below + 1][channel] * part);
  };
  return QColor(mix(0), mix(1), mix(2));
}

}  // namespace stepcast
