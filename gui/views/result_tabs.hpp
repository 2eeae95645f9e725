#pragma once

#include <QTabWidget>
#include <functional>
#include <vector>

namespace stepcast {

/// The tabs of the window. A tab that is out of sight costs nothing: it is refreshed when it is next looked at.
class ResultTabs : public QTabWidget {
  Q_OBJECT
 public:
  explicit ResultTabs(QWidget* parent = nullptr);
  /// `name` is what scripts call it. `needs_trace`: it shows what only a simulation's timeline has.
  void add(const QString& name, const QString& title, QWidget* widget, std::function<void()> refresh,
           bool needs_trace = false);
  /// The forecast changed.
  void refresh_all();
  /// There is something new for one tab.
  void refresh(const QString& name);
  /// False when there is no tab of that name.
  bool open(const QString& name);
  [[nodiscard]] QString current_name() const;
  [[nodiscard]] QStringList names() const;
  [[nodiscard]] bool needs_trace() const;

 Q_SIGNALS:
  void opened();
  /// What the open tab shows is up to date again.
  void refreshed();

 private:
  void refresh_current();

  struct Tab {
    QString name;
    std::function<void()> refresh;
    bool needs_trace = false;
    bool stale = true;
  };
  std::vector<Tab> tabs_;
};

}  // namespace stepcast
