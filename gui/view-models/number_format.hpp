#pragma once

#include <QString>

#include "units/quantity.hpp"

namespace stepcast {

/// How figures are written in the window: the digits that the command line prints, with the separators of the user's
/// locale, and sizes in binary or decimal units.
struct NumberFormat {
  enum class Sizes { binary, decimal };
  static Sizes sizes();
  static void set_sizes(Sizes sizes);
};

QString shown(Seconds time);
QString shown(Bytes size);
QString shown(BytesPerSecond rate);
QString shown(Watts power);
QString shown(Joules energy);
QString shown(Dollars money);
QString shown_count(double number);
QString shown_percent(double share);
QString shown_whole(long number);
/// Three significant digits.
QString shown_number(double number);
/// Numbers of a text that the libraries wrote, with the separators of the locale.
QString localized(QString text);

}  // namespace stepcast
