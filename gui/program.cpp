#include "gui/program.hpp"

#include <QApplication>
#include <QCommandLineParser>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QMessageBox>
#include <QSettings>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "gui/end_signals.hpp"
#include "gui/guarded_application.hpp"
#include "gui/theme/theme.hpp"
#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/recent_files.hpp"
#include "gui/view-models/unsaved_work.hpp"
#include "gui/view-models/workspace.hpp"
#include "gui/views/layout_memory.hpp"
#include "gui/views/main_window.hpp"
#include "gui/views/result_tabs.hpp"
#include "sim/protocol/exit_code.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

/// A simulation that takes longer than this is not waited for by --screenshot.
constexpr int kLongestWaitMilliseconds = 600'000;
constexpr int kAutosaveMilliseconds = 5'000;
constexpr int kEndedBySignal = 128;  // beside the signal's number, as shells count

int complain(const QString& text, int code) {
  std::fprintf(stderr, "stepcast-gui: %s\n", qUtf8Printable(text));
  return code;
}

struct Options {
  QString scenario, screenshot, tab;
  std::vector<std::filesystem::path> catalog;
  std::optional<Theme> theme;
  QSize size;
};

/// Pixels that a side of a picture can have: what Qt's QPainter draws on.
constexpr int kMostPixels = 32'767;

std::optional<Theme> theme_of(const QString& name) {
  if (name == QLatin1String("light")) return Theme::light;
  if (name == QLatin1String("dark")) return Theme::dark;
  return std::nullopt;
}

/// "1480x920"; an empty size where it is none.
QSize size_of(const QString& text) {
  const QStringList sides = text.split(QLatin1Char('x'));
  bool wide = false, high = false;
  const QSize out = sides.size() == 2 ? QSize(sides[0].toInt(&wide), sides[1].toInt(&high)) : QSize();
  const bool drawn = out.width() <= kMostPixels && out.height() <= kMostPixels;
  return wide && high && drawn && !out.isEmpty() ? out : QSize();
}

/// What is wrong with what was typed, a line each.
QStringList faults_of(const QCommandLineParser& parser, const Options& options) {
  QStringList out;
  for (const char* once : {"scenario", "screenshot", "tab", "theme", "size"})
    if (const auto given = parser.values(QLatin1String(once)).size(); given > 1)
      out << QObject::tr("--%1: found %2 of them, expected one").arg(QLatin1String(once)).arg(given);
  QStringList scenarios = parser.positionalArguments();
  if (parser.isSet(QStringLiteral("scenario"))) scenarios.prepend(parser.value(QStringLiteral("scenario")));
  if (scenarios.size() > 1)
    out << QObject::tr("scenario: found \"%1\", expected one file").arg(scenarios.join(QStringLiteral("\", \"")));
  if (const QString theme = parser.value(QStringLiteral("theme"));
      parser.isSet(QStringLiteral("theme")) && !options.theme)
    out << QObject::tr("--theme: found \"%1\", expected light or dark").arg(theme);
  if (parser.isSet(QStringLiteral("size")) && options.size.isEmpty())
    out << QObject::tr("--size: found \"%1\", expected a width and a height from 1 to %2 pixels, as 1480x920")
               .arg(parser.value(QStringLiteral("size")))
               .arg(kMostPixels);
  return out;
}

/// Leaves for help and version, and with kBadInput where what was typed cannot be heeded.
Options options_of(QCommandLineParser& parser) {
  const QCommandLineOption scenario(QStringLiteral("scenario"), QObject::tr("Scenario to open"),
                                    QStringLiteral("FILE"));
  const QCommandLineOption screenshot(QStringLiteral("screenshot"),
                                      QObject::tr("Wait for the simulation, save the window and leave"),
                                      QStringLiteral("FILE.png"));
  const QCommandLineOption tab(QStringLiteral("tab"), QObject::tr("Tab to open"), QStringLiteral("NAME"));
  const QCommandLineOption catalog(QStringLiteral("catalog"), QObject::tr("Directory of own catalogue entries"),
                                   QStringLiteral("DIR"));
  const QCommandLineOption theme(QStringLiteral("theme"), QObject::tr("light or dark"), QStringLiteral("NAME"));
  const QCommandLineOption size(QStringLiteral("size"), QObject::tr("Size of the window, as 1480x920"),
                                QStringLiteral("WxH"));
  parser.setApplicationDescription(QObject::tr("Choose a server configuration for distributed training by looking."));
  const QCommandLineOption help = parser.addHelpOption(), version = parser.addVersionOption();
  parser.addOptions({scenario, screenshot, tab, catalog, theme, size});
  parser.addPositionalArgument(QStringLiteral("scenario"), QObject::tr("Scenario to open"),
                               QStringLiteral("[scenario]"));
  if (!parser.parse(QCoreApplication::arguments())) std::exit(complain(parser.errorText(), kBadInput));
  if (parser.isSet(help) || parser.isSet(QStringLiteral("help-all"))) parser.showHelp(kDone);
  if (parser.isSet(version)) parser.showVersion();
  Options out;
  out.scenario = parser.value(scenario);
  if (out.scenario.isEmpty() && !parser.positionalArguments().isEmpty()) out.scenario = parser.positionalArguments()[0];
  out.screenshot = parser.value(screenshot);
  out.tab = parser.value(tab);
  for (const QString& directory : parser.values(catalog)) out.catalog.emplace_back(plain(directory));
  out.theme = theme_of(parser.value(theme));
  out.size = size_of(parser.value(size));
  const QStringList faults = faults_of(parser, out);
  for (const QString& fault : faults) complain(fault, kBadInput);
  if (!faults.isEmpty()) std::exit(kBadInput);
  return out;
}

/// Help and version need no display.
bool only_prints(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const std::string_view word) {
    return word == "--help" || word == "-h" || word == "--help-all" || word == "--version" || word == "-v";
  });
}

/// What ends the program, or an event of it, in words.
QString said(const std::exception& error) {
  const QString why = QString::fromUtf8(error.what());
  return exit_code_of(error) == kInternalError ? QObject::tr("internal error: %1").arg(why) : why;
}

/// Offers what a crash left behind, and says what of it nobody can read.
void offer_unsaved_work(Workspace& workspace, MainWindow& window) {
  auto [left, unreadable] = UnsavedCopy::take_over();
  for (const UnreadableCopy& copy : unreadable)
    QMessageBox::warning(&window, QObject::tr("Unsaved work"),
                         QObject::tr("Stepcast ended without saving once, and the copy of that work cannot be read: "
                                     "%1\n\nIt is kept as %2.")
                             .arg(qt(copy.why), qt(copy.file.string())));
  if (!left) return;
  const QString name = left->file.empty() ? QObject::tr("a new scenario") : qt(left->file.filename().string());
  const auto answer = QMessageBox::question(
      &window, QObject::tr("Unsaved work"),
      QObject::tr("Stepcast ended without saving last time. Open the changes to %1 again?").arg(name));
  if (answer == QMessageBox::Yes)
    workspace.configuration().restore(std::move(left->document), left->file);
  else
    UnsavedCopy::remove();
}

/// Keeps a copy of unsaved work, while there is some that it has not.
class WorkKeeper {
 public:
  explicit WorkKeeper(const ConfigurationModel& configuration) : configuration_(configuration) {}

  void keep() {
    if (!configuration_.is_modified()) {
      kept_ = -1;
      return UnsavedCopy::remove();
    }
    if (configuration_.generation() == kept_) return;
    kept_ = configuration_.generation();
    try {
      UnsavedCopy::keep({configuration_.file(), configuration_.document()});
    } catch (const InputError&) {
      // Nobody can do anything about it now; saving will say why.
    }
  }

 private:
  const ConfigurationModel& configuration_;
  long kept_ = -1;
};

/// A fault of the program's own is said; what was done until then is kept, and the window stays.
void survive_faults(GuardedApplication& application, WorkKeeper& keeper, MainWindow& window) {
  application.set_rescue([&keeper, &window, tells = std::make_shared<bool>(false)](const std::exception& error) {
    complain(said(error), exit_code_of(error));
    keeper.keep();
    if (std::exchange(*tells, true)) return;
    // Once the event that failed is over, for the message has events of its own.
    const bool ours = exit_code_of(error) == kInternalError;
    QTimer::singleShot(0, &window, [&window, ours, why = QString::fromUtf8(error.what()), tells] {
      QMessageBox::critical(
          &window, ours ? QObject::tr("Internal error") : QObject::tr("Error"),
          QObject::tr("The last change failed: %1\n\nUndo it, or save the scenario under another name. "
                      "A copy of unsaved work is kept.")
              .arg(why));
      *tells = false;
    });
  });
}

/// Shows the window until it is closed or the system ends the program.
int work_in(GuardedApplication& application, Workspace& workspace, MainWindow& window) {
  offer_unsaved_work(workspace, window);
  WorkKeeper keeper(workspace.configuration());
  survive_faults(application, keeper, window);
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, &window, [&keeper] { keeper.keep(); });
  timer.start(kAutosaveMilliseconds);
  // Nobody is asked then: what was not saved is offered by the next start.
  const EndSignals end([&keeper](int signal) {
    keeper.keep();
    QApplication::exit(kEndedBySignal + signal);
  });
  const int code = QApplication::exec();
  application.set_rescue({});
  return code;
}

// A tab may ask for more once the simulation is there, and the status bar looks every 200 ms: 300 ms of quiet.
constexpr int kLookMilliseconds = 60, kQuietLooks = 5;

/// Opens, waits until nothing runs, saves the window, leaves.
int take_screenshot(GuardedApplication& application, MainWindow& window, const QString& file) {
  application.set_rescue(
      [](const std::exception& error) { QApplication::exit(complain(said(error), exit_code_of(error))); });
  QElapsedTimer waited;
  waited.start();
  int quiet = 0;
  QTimer poll;
  int code = kDone;
  QObject::connect(&poll, &QTimer::timeout, &window, [&] {
    quiet = window.is_settled() ? quiet + 1 : 0;
    const bool late = waited.elapsed() > kLongestWaitMilliseconds;
    if (quiet < kQuietLooks && !late) return;
    poll.stop();
    if (late)
      code =
          complain(QObject::tr("the simulation was not done in %1 minutes; a smaller scenario or a faster machine is "
                               "needed for a picture")
                       .arg(kLongestWaitMilliseconds / 60'000),
                   kEnvironmentMissing);
    if (!window.grab().save(file)) code = complain(QObject::tr("%1: cannot be written").arg(file), kEnvironmentMissing);
    QApplication::exit(code);
  });
  poll.start(kLookMilliseconds);
  return QApplication::exec();
}

int open_window(GuardedApplication& application, const Options& options) {
  Workspace workspace(options.catalog);
  MainWindow window(workspace);
  const bool scripted = !options.screenshot.isEmpty();
  window.set_asks(!scripted);
  window.set_remembers(!scripted);
  if (!scripted) window.layout_memory().restore();
  if (options.size.isValid()) window.resize(options.size);
  if (!options.tab.isEmpty() && !window.tabs().open(options.tab))
    return complain(QObject::tr("there is no tab \"%1\"; expected one of %2")
                        .arg(options.tab, window.tabs().names().join(QStringLiteral(", "))),
                    kBadInput);
  const QStringList examples = example_scenarios();
  if (options.scenario.isEmpty()) {
    if (!examples.isEmpty()) window.open_example(plain(examples[std::min<qsizetype>(1, examples.size() - 1)]));
  } else if (!window.open(plain(options.scenario)) && scripted) {
    return kBadInput;
  }
  window.show();
  if (scripted) return take_screenshot(application, window, options.screenshot);
  return work_in(application, workspace, window);
}

}  // namespace

int run_gui(int argc, char** argv) {
  QCoreApplication::setOrganizationName(QStringLiteral("stepcast"));
  QCoreApplication::setApplicationName(QStringLiteral("stepcast"));
  QCoreApplication::setApplicationVersion(qt(kVersion));
  QCommandLineParser parser;
  if (only_prints(argc, argv)) {
    const QCoreApplication application(argc, argv);
    options_of(parser);
    return kDone;
  }
  GuardedApplication application(argc, argv);
  QApplication::setApplicationDisplayName(QStringLiteral("Stepcast"));
  const Options options = options_of(parser);
  const QSettings settings;
  const QString kept = settings.value(QStringLiteral("theme")).toString();
  const Theme theme = kept.isEmpty() ? system_theme() : kept == QLatin1String("dark") ? Theme::dark : Theme::light;
  // Pictures look alike wherever they are taken.
  const bool scripted = !options.screenshot.isEmpty();
  apply_theme(application, options.theme.value_or(scripted ? Theme::light : theme));
  if (!scripted && settings.value(QStringLiteral("decimal_sizes")).toBool())
    NumberFormat::set_sizes(NumberFormat::Sizes::decimal);
  // A desktop shows nobody what is written on standard error.
  const auto end_with = [scripted](const QString& why, int code) {
    complain(why, code);
    if (!scripted) QMessageBox::critical(nullptr, QObject::tr("Stepcast cannot start"), why);
    return code;
  };
  try {
    return open_window(application, options);
  } catch (const std::exception& error) {
    return end_with(said(error), exit_code_of(error));
  }
}

}  // namespace stepcast
