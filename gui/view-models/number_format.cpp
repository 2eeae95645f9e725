#include "gui/view-models/number_format.hpp"

#include <QLocale>
#include <QObject>
#include <QRegularExpression>
#include <array>
#include <cmath>

#include "gui/view-models/qt_text.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

NumberFormat::Sizes current_sizes = NumberFormat::Sizes::binary;

QString decimal(double value, const char* unit) {
  static constexpr std::array prefixes{"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return localized(qt(significant(value))) + QStringLiteral(" ") + QLatin1String(prefixes[prefix]) +
         QLatin1String(unit);
}

}  // namespace

NumberFormat::Sizes NumberFormat::sizes() { return current_sizes; }
void NumberFormat::set_sizes(Sizes sizes) { current_sizes = sizes; }

QString localized(QString text) {
  const QLocale locale;
  const QString point = locale.decimalPoint(), group = locale.groupSeparator();
  if (point == QLatin1String(".") && group == QLatin1String(",")) return text;
  QString out;
  out.reserve(text.size());
  for (qsizetype i = 0; i < text.size(); ++i) {
    const QChar c = text[i];
    const bool inside = i > 0 && i + 1 < text.size() && text[i - 1].isDigit() && text[i + 1].isDigit();
    if (inside && c == QLatin1Char('.')) {
      out += point;
    } else if (inside && c == QLatin1Char(',')) {
      out += group;
    } else {
      out += c;
    }
  }
  return out;
}

QString typed_number(const QString& text) {
  const QLocale locale;
  QString out = text.trimmed();
  bool number = false;
  (void)locale.toDouble(out, &number);
  if (number) return out.remove(locale.groupSeparator()).replace(locale.decimalPoint(), QStringLiteral("."));
  static const QRegularExpression kGrouped(QStringLiteral("^-?\\d{1,3}(,\\d{3})+(\\.\\d+)?$"));
  return kGrouped.match(out).hasMatch() ? out.remove(QLatin1Char(',')) : out;
}

QString number_to_type(const QString& json) {
  return QString(json).replace(QLatin1Char('.'), QLocale().decimalPoint());
}

TimeUnit time_unit(Seconds longest) {
  constexpr double kSome = 2;
  return longest.value() < kSome ? TimeUnit{1_ms, QObject::tr("milliseconds")}
                                 : TimeUnit{Seconds(1), QObject::tr("seconds")};
}

QString shown(Seconds time) { return localized(qt(humane(time))); }
QString shown(Bytes size) {
  if (size < Bytes(0)) return QStringLiteral("−") + shown(Bytes(-size.value()));
  return current_sizes == NumberFormat::Sizes::binary ? localized(qt(humane(size))) : decimal(size.value(), "B");
}
QString shown(BytesPerSecond rate) { return decimal(rate.value(), "B/s"); }
QString shown(Watts power) { return localized(qt(humane(power))); }
QString shown(Joules energy) { return localized(qt(humane(energy))); }
QString shown(Dollars money) { return localized(qt(humane(money))); }
QString shown_count(double number) { return localized(qt(humane_count(number))); }
QString shown_percent(double share) {
  // What rounds to nothing has no sign.
  constexpr double kLeast = 0.0005;
  return localized(qt(percent(std::abs(share) < kLeast ? 0 : share)));
}
QString shown_whole(long number) { return localized(qt(whole(number))); }
QString counted(long number, const QString& one, const QString& many) {
  return shown_whole(number) + QLatin1Char(' ') + (number == 1 ? one : many);
}
QString shown_number(double number) { return localized(qt(significant(number))); }

}  // namespace stepcast
