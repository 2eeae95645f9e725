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

/// Unsaved work of a process that is gone. Of one that lives, nobody takes it.
TEST_F(WindowTest, WorkOfADeadProcessIsTakenOverAndBelongsToItsFile) {
  while (UnsavedCopy::take_over()) UnsavedCopy::remove();
  Json changed = configuration().document();
  changed["cluster"]["nodes"] = 32;
  UnsavedCopy::keep({configuration().file(), changed});
  EXPECT_FALSE(UnsavedCopy::take_over()) << "this process lives";
  // As if this copy were of a process that has ended.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const QDir folder(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/autosave");
  ASSERT_TRUE(QFile::rename(folder.filePath(QString::number(::getpid()) + ".json"),
                            folder.filePath(QString::number(child) + ".json")));
  ASSERT_TRUE(window_->open(shipped("gpt3-175b-a100-1024.json")));
  auto left = UnsavedCopy::take_over();
  ASSERT_TRUE(left);
  configuration().restore(left->document, left->file);
  EXPECT_EQ(configuration().document(), changed);
  EXPECT_EQ(configuration().file(), shipped("llama3-70b-h100-512.json")) << "saving must not overwrite another file";
  EXPECT_TRUE(configuration().is_modified());
  EXPECT_TRUE(QFile::exists(folder.filePath(QString::number(::getpid()) + ".json"))) << "kept until it is saved";
  UnsavedCopy::remove();
  EXPECT_FALSE(UnsavedCopy::take_over());
}

TEST_F(WindowTest, ABrokenCopyIsNoWork) {
  while (UnsavedCopy::take_over()) UnsavedCopy::remove();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const QDir folder(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/autosave");
  write_file(plain(folder.filePath(QString::number(child) + ".json")), "{\"file\": 3");
  EXPECT_FALSE(UnsavedCopy::take_over());
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
