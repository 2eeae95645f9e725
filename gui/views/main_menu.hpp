#pragma once

class QMenu;

namespace stepcast {

class MainWindow;

/// The menus of the window and what they do.
class MainMenu {
 public:
  /// Fills the window's menu bar. Its tabs and docks must be there: the menu "View" lists them.
  static void build(MainWindow& window);

 private:
  static void fill_file(QMenu& file, MainWindow* w);
  /// Files opened last, looked up each time the menu opens.
  static void add_recent(QMenu& file, MainWindow* w);
  static void add_examples(QMenu& file, MainWindow* w);
  static void fill_edit(QMenu& edit, MainWindow* w);
  static void add_copies(QMenu& edit, MainWindow* w);
  static void fill_simulation(QMenu& run, MainWindow* w);
  static void fill_view(QMenu& view, MainWindow* w);
  /// Every tab of results, with the keys that open it.
  static void add_tabs(QMenu& view, MainWindow* w);
  static void fill_help(QMenu& help, MainWindow* w);
};

}  // namespace stepcast
