#pragma once

#include <QString>
#include <string>
#include <string_view>

namespace stepcast {

inline QString qt(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }
inline std::string plain(const QString& text) { return text.toStdString(); }

/// `exposed communication` → `Exposed communication`.
inline QString sentence(QString text) {
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  return text;
}

}  // namespace stepcast
