#pragma once

#include <QString>

class QWidget;

namespace stepcast {

/// Shows the pages of the documentation in a window of their own, opened where a tab is explained.
void show_help(QWidget* parent, const QString& tab);

}  // namespace stepcast
