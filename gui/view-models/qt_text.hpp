#pragma once

#include <QObject>
#include <QString>
#include <string>
#include <string_view>

namespace stepcast {

inline QString qt(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }
inline std::string plain(const QString& text) { return text.toStdString(); }

/// Translated, where no object is at hand.
inline QString tr(const char* text) { return QObject::tr(text); }

/// `exposed communication` → `Exposed communication`.
inline QString sentence(QString text) {
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  return text;
}

}  // namespace stepcast
