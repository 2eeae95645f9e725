// A scenario's file in the window: what is saved where, what a crash leaves, how the window was arranged.
#include <sys/wait.h>
#include <unistd.h>

#include <QDir>
#include <QProcess>
#include <QSettings>
#include <QSplitter>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <csignal>

#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/recent_files.hpp"
#include "gui/view-models/unsaved_work.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/headline_view.hpp"
#include "gui/views/layout_memory.hpp"
#include "gui/views/result_tabs.hpp"
#include "report/json.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::files_test {
namespace {

std::filesystem::path shipped(const char* name) {
  return std::filesystem::path(STEPCAST_SOURCE_DIR "/scenarios") / name;
}

TEST_F(WindowTest, ANewScenarioIsOfNoFile) {
  const Json before = configuration().document();
  const auto file = configuration().file();
  configuration().start_new();
  EXPECT_TRUE(configuration().file().empty()) << "saving must not overwrite what was open";
  EXPECT_FALSE(configuration().is_modified());
  configuration().undo();
  EXPECT_EQ(configuration().document(), before);
  EXPECT_EQ(configuration().file(), file);
  EXPECT_FALSE(configuration().is_modified());
  configuration().redo();
  EXPECT_TRUE(configuration().file().empty());
}

TEST_F(WindowTest, UndoneOpeningBringsItsFileBack) {
  configuration().set_value("/cluster/nodes", 32);
  ASSERT_TRUE(window_->open(shipped("gpt3-175b-a100-1024.json")));
  configuration().undo();
  EXPECT_EQ(configuration().file(), shipped("llama3-70b-h100-512.json"));
  EXPECT_TRUE(configuration().is_modified());
  configuration().undo();
  EXPECT_FALSE(configuration().is_modified());
}

TEST_F(WindowTest, NothingIsBeforeTheFirstScenario) {
  Workspace workspace{std::vector<std::filesystem::path>{}};
  MainWindow window(workspace);
  window.set_asks(false);
  ASSERT_TRUE(window.open(shipped("gpt3-175b-a100-1024.json")));
  EXPECT_FALSE(workspace.configuration().can_undo());
}

TEST_F(WindowTest, PicturesOfScriptsLeaveNoRecentFile) {
  QSettings().clear();
  window_->set_remembers(false);
  ASSERT_TRUE(window_->open(shipped("gpt3-175b-a100-1024.json")));
  EXPECT_TRUE(recent_files().isEmpty());
}

TEST_F(WindowTest, FilesOfOtherKindsAreNoBrokenScenarios) {
  for (const auto& [name, says] : {std::pair{"plan-llama3-8b-deadline.json", "Plan tab"},
                                   std::pair{"power-optimisation.json", "stepcast study"}}) {
    try {
      configuration().open(shipped(name));
      FAIL() << name;
    } catch (const InputError& error) {
      EXPECT_TRUE(QString(error.what()).contains(says)) << error.what();
    }
  }
  const Json before = configuration().document();
  EXPECT_FALSE(window_->open(shipped("power-optimisation.json")));
  EXPECT_EQ(configuration().document(), before);
}

TEST_F(WindowTest, AFileThatSomebodyElseWroteIsNoticed) {
  QTemporaryDir folder;
  const std::filesystem::path file = plain(folder.filePath("mine.json"));
  write_file(file, configuration().text());
  ASSERT_TRUE(window_->open(file));
  EXPECT_FALSE(configuration().is_changed_on_disk());
  configuration().set_value("/cluster/nodes", 32);
  Json other = configuration().saved();
  other["name"] = "theirs";
  write_file(file, other.dump());
  EXPECT_TRUE(configuration().is_changed_on_disk());
  configuration().reload();
  EXPECT_EQ(configuration().value("/name"), "theirs");
  EXPECT_FALSE(configuration().is_changed_on_disk());
  configuration().set_value("/cluster/nodes", 32);
  configuration().save(file);
  EXPECT_FALSE(configuration().is_changed_on_disk()) << "the window wrote it";
}

TEST_F(WindowTest, CalibrationsKeepTheNamesThatTheFileGaveThem) {
  QTemporaryDir folder;
  ASSERT_TRUE(QDir(folder.path()).mkpath("runs"));
  const std::filesystem::path file = plain(folder.filePath("runs/mine.json"));
  Json document = configuration().document();
  document["cluster"]["calibrations"] = {"lab.calib.json", "../shared.calib.json", "/elsewhere/other.calib.json"};
  write_file(file, document.dump());
  ASSERT_TRUE(window_->open(file));
  configuration().set_value("/cluster/nodes", 32);
  configuration().save(file);
  const auto written = [](const std::filesystem::path& where) {
    Diagnostics diagnostics("written");
    return read_json(where, diagnostics)["cluster"]["calibrations"];
  };
  EXPECT_EQ(written(file), document["cluster"]["calibrations"]);
  EXPECT_FALSE(configuration().is_modified());
  const std::filesystem::path above = plain(folder.filePath("mine.json"));
  configuration().save(above);
  EXPECT_EQ(written(above), (Json{"runs/lab.calib.json", "shared.calib.json", "/elsewhere/other.calib.json"}));
}

/// Unsaved work of a process that is gone. Of one that lives, nobody takes it.
TEST_F(WindowTest, WorkOfADeadProcessIsTakenOverAndBelongsToItsFile) {
  while (UnsavedCopy::take_over().work) UnsavedCopy::remove();
  Json changed = configuration().document();
  changed["cluster"]["nodes"] = 32;
  UnsavedCopy::keep({configuration().file(), changed});
  EXPECT_FALSE(UnsavedCopy::take_over().work) << "this process lives";
  // As if this copy were of a process that has ended.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const QDir folder(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/autosave");
  ASSERT_TRUE(QFile::rename(folder.filePath(QString::number(::getpid()) + ".json"),
                            folder.filePath(QString::number(child) + ".json")));
  ASSERT_TRUE(window_->open(shipped("gpt3-175b-a100-1024.json")));
  auto left = UnsavedCopy::take_over().work;
  ASSERT_TRUE(left);
  configuration().restore(left->document, left->file);
  EXPECT_EQ(configuration().document(), changed);
  EXPECT_EQ(configuration().file(), shipped("llama3-70b-h100-512.json")) << "saving must not overwrite another file";
  EXPECT_TRUE(configuration().is_modified());
  EXPECT_TRUE(QFile::exists(folder.filePath(QString::number(::getpid()) + ".json"))) << "kept until it is saved";
  UnsavedCopy::remove();
  EXPECT_FALSE(UnsavedCopy::take_over().work);
}

/// What cannot be read may be all that is left of somebody's work: it is kept, and said where.
TEST_F(WindowTest, ABrokenCopyIsKept) {
  while (UnsavedCopy::take_over().work) UnsavedCopy::remove();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const QDir folder(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/autosave");
  const QString name = folder.filePath(QString::number(child) + ".json");
  std::vector<std::filesystem::path> kept;
  for (const std::string text : {"{\"file\": 3", "{\"file\": \"a.json\"}"}) {
    write_file(plain(name), text);
    const LeftBehind left = UnsavedCopy::take_over();
    EXPECT_FALSE(left.work);
    ASSERT_EQ(left.unreadable.size(), 1U);
    EXPECT_FALSE(left.unreadable.front().why.empty());
    kept.push_back(left.unreadable.front().file);
    QFile file(qt(kept.back().string()));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_EQ(file.readAll().toStdString(), text);
    EXPECT_FALSE(QFile::exists(name));
    EXPECT_TRUE(UnsavedCopy::take_over().unreadable.empty()) << "it is told once";
  }
  EXPECT_NE(kept.front(), kept.back());
  for (const std::filesystem::path& file : kept) std::filesystem::remove(file);
}

TEST_F(WindowTest, TheLayoutIsRememberedFromOneWindowToTheNext) {
  QSettings().clear();
  window_->resize(1300, 777);
  window_->tabs().open("power");
  ASSERT_TRUE(settle());
  window_->tabs().open("memory");
  ASSERT_TRUE(settle());
  auto* memory = window_->tabs().currentWidget()->findChild<ExhibitView*>();
  memory->set_table_share(0.7);
  window_->findChild<QSplitter*>("servers")->setSizes({200, 800});
  const QByteArray servers = window_->findChild<QSplitter*>("servers")->saveState();
  window_->close();
  open("llama3-70b-h100-512.json");
  window_->layout_memory().restore();
  EXPECT_EQ(window_->size(), QSize(1300, 777));
  EXPECT_EQ(window_->tabs().current_name(), "memory");
  ASSERT_TRUE(settle());
  memory = window_->tabs().currentWidget()->findChild<ExhibitView*>();
  ASSERT_TRUE(memory->table_share());
  EXPECT_DOUBLE_EQ(*memory->table_share(), 0.7);
  EXPECT_EQ(window_->findChild<QSplitter*>("servers")->saveState(), servers);
  window_->tabs().open("power");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window_->tabs().currentWidget()->findChild<ExhibitView*>()->table_share()) << "nobody moved that";
  QSettings().clear();
}

/// `cluster.calibrations` of a scenario: the window rests on them as the command line does.
TEST_F(WindowTest, CalibrationsThatAScenarioNamesAreUsed) {
  QTemporaryDir folder;
  const auto stepcast = [&](const QStringList& words) {
    QProcess process;
    process.setWorkingDirectory(folder.path());
    process.start(STEPCAST_BUILD_DIR "/bin/stepcast", words);
    EXPECT_TRUE(process.waitForFinished(300'000));
    EXPECT_EQ(process.exitCode(), 0) << process.readAllStandardError().toStdString();
    return process.readAllStandardOutput().toStdString();
  };
  const QString probes = STEPCAST_SOURCE_DIR "/tests/data/probes/";
  stepcast({"calibrate", "fit", probes + "mpi-100mbit-2.json", probes + "mpi-100mbit-4.json", "--node",
            "rental-epyc-7502p-128gb", "--set", "cluster.fabric.nics_per_node=1", "--set",
            "cluster.fabric.nic_bandwidth_Gbps=0.1", "--set", "cluster.fabric.network=ethernet_tcp", "--refits", "3",
            "-o", "lab.calib.json"});
  Json scenario = Json::parse(R"({"cluster": {"node": "rental-epyc-7502p-128gb", "nodes": 4,
      "fabric": {"nics_per_node": 1, "nic_bandwidth_Gbps": 0.1, "network": "ethernet_tcp"}},
      "workload": {"model": "resnet50", "global_batch": 64}, "strategy": {"framework": "pytorch-cpu"}})");
  const std::filesystem::path file = plain(folder.filePath("hosts.json"));
  write_file(file, scenario.dump());
  ASSERT_TRUE(window_->open(file));
  ASSERT_TRUE(configuration().is_valid());
  const double without = configuration().closed_form()->step_time.value();
  scenario["cluster"]["calibrations"] = {"lab.calib.json"};
  write_file(file, scenario.dump());
  ASSERT_TRUE(window_->open(file));
  ASSERT_TRUE(configuration().is_valid())
      << plain(configuration().faults().empty() ? QString() : qt(configuration().faults().front().text()));
  const double closed = configuration().closed_form()->step_time.value();
  EXPECT_NE(closed, without) << "the calibration changes this prediction";
  const Json printed = Json::parse(stepcast({"--json", "run", "hosts.json", "--fidelity", "analytic"}));
  EXPECT_NEAR(closed, printed["step_time_s"].get<double>(), 1e-9 * closed);
  ASSERT_TRUE(settle());
  ASSERT_EQ(forecast().state(), ForecastModel::State::simulated) << plain(forecast().status());
  const Json simulated = Json::parse(stepcast({"--json", "run", "hosts.json"}));
  EXPECT_NEAR(forecast().shown()->step_time.value(), simulated["step_time_s"].get<double>(), 1e-9 * closed);
}

}  // namespace
}  // namespace stepcast::files_test
