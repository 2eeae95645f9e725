#include "gui/views/help.hpp"

#include <QFile>
#include <QShortcut>
#include <QTextBrowser>

#include "fields/data_directory.hpp"
#include "fields/diagnostics.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {

/// The page that explains what a tab shows.
QString page_of(const QString& tab) {
  struct Page {
    const char *tab, *file;
  };
  static constexpr Page pages[] = {{"memory", "models/memory.md"},      {"communication", "models/collectives.md"},
                                   {"power", "models/power.md"},        {"cost", "models/cost.md"},
                                   {"run", "models/reliability.md"},    {"fabric", "models/fabric.md"},
                                   {"servers", "formats/catalogue.md"}, {"plan", "guide/plan.md"},
                                   {"sweep", "guide/sweep.md"},         {"compare", "guide/compare.md"},
                                   {"sensitivity", "guide/explain.md"}, {"calibrate", "guide/calibration.md"}};
  for (const Page& page : pages)
    if (tab == QLatin1String(page.tab)) return QLatin1String(page.file);
  return QStringLiteral("guide/gui.md");
}

/// Beside the other data in a source tree, where documents belong in an installed one.
QString documentation() {
  try {
    return qt(data_directory("docs").string());
  } catch (const InputError&) {
    return qt(data_directory("../doc/Stepcast").string());
  }
}

}  // namespace

void show_help(QWidget* parent, const QString& tab) {
  auto* browser = new QTextBrowser(parent);
  browser->setWindowFlag(Qt::Window);
  browser->setAttribute(Qt::WA_DeleteOnClose);
  browser->setWindowTitle(QObject::tr("Stepcast help"));
  browser->setAccessibleName(QObject::tr("Help"));
  browser->resize(860, 720);
  QObject::connect(new QShortcut(QKeySequence::Cancel, browser), &QShortcut::activated, browser, &QWidget::close);
  try {
    const QString folder = documentation();
    browser->setSearchPaths({folder, folder + QStringLiteral("/guide"), folder + QStringLiteral("/models")});
    browser->setOpenExternalLinks(false);
    const QString file = folder + QLatin1Char('/') + page_of(tab);
    browser->setSource(QUrl::fromLocalFile(QFile::exists(file) ? file : folder + QStringLiteral("/README.md")),
                       QTextDocument::MarkdownResource);
  } catch (const InputError& error) {
    browser->setPlainText(QString::fromUtf8(error.what()));
  }
  browser->show();
}

}  // namespace stepcast
