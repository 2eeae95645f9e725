#pragma once

#include <QHash>
#include <QObject>
#include <QString>

namespace stepcast {

class MainWindow;

/// How the user arranged the window, from one run to the next: its place and size, the form beside it, the open tab,
/// and how wide the tables are. Kept in the settings of the program.
class LayoutMemory : public QObject {
  Q_OBJECT
 public:
  explicit LayoutMemory(MainWindow& window);
  /// Arranges the window as it was when it was closed last; tables when their tab is opened.
  void restore();
  void keep();

 private:
  void arrange_tables();

  MainWindow& window_;
  QHash<QString, double> table_shares_;  ///< of the width, by tab and number of the exhibit in it
};

}  // namespace stepcast
