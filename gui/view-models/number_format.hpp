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

/// What times of a chart are counted in: seconds where the longest takes some.
struct TimeUnit {
  Seconds unit;
  QString name;
};
TimeUnit time_unit(Seconds longest);

QString shown(Seconds time);
QString shown(Bytes size);
QString shown(BytesPerSecond rate);
QString shown(Watts power);
QString shown(Joules energy);
QString shown(Dollars money);
QString shown_count(double number);
QString shown_percent(double share);
QString shown_whole(long number);
/// "1 server", "64 servers".
QString counted(long number, const QString& one, const QString& many);
/// Three significant digits.
QString shown_number(double number);
/// What a user typed, in the form that JSON and the libraries read: "1.024,5" of a German is "1024.5". As the locale
/// writes numbers, or as scenario files do; what is neither comes back as it is, so that "1,5" is never taken for 15.
QString typed_number(const QString& text);
/// A number of JSON as the locale writes it in a field: without separators of thousands.
QString number_to_type(const QString& json);
/// Numbers of a text that the libraries wrote, with the separators of the locale.
QString localized(QString text);

}  // namespace stepcast
