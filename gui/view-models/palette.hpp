#pragma once

#include <QColor>

namespace stepcast {

/// Colours that people with any colour vision tell apart: Okabe & Ito 2008, "Color Universal Design".
enum class Hue { blue, orange, green, sky, vermillion, purple, yellow, grey };

QColor color_of(Hue hue);
/// The i-th of a list of things, in an order of good contrast.
Hue hue_of_index(int index);
/// From calm to hot for shares of 0–1 (utilisation): monotone in lightness, so it reads in grey, too.
QColor heat(double share, bool dark);

}  // namespace stepcast
