// The command that is copied prints what is on screen: it is run as a user would paste it, and its figures compared.
#include <QDir>
#include <QProcess>
#include <QRegularExpression>
#include <QTabWidget>
#include <QTemporaryDir>
#include <atomic>
#include <cmath>
#include <sstream>

#include "gui/view-models/calibrate_model.hpp"
#include "gui/view-models/compare_model.hpp"
#include "gui/view-models/fit_model.hpp"
#include "gui/view-models/plan_form.hpp"
#include "gui/view-models/plan_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/sweep_model.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "gui/view-models/timeline_model.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/server_browser.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::commands_test {
namespace {

/// Commands round what they print to this share.
constexpr double kRounding = 1e-6;

class CommandTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    configuration().set_value("/cluster/nodes", 32);
  }
  /// Opens a tab, waits for what it shows, and runs its command with `--json`: what it prints, document by document.
  std::vector<Json> run(const char* tab) {
    EXPECT_TRUE(window_->tabs().open(tab));
    EXPECT_TRUE(settle());
    return run_command();
  }
  std::vector<Json> run_command() {
    QString command = window_->command_line();
    command.replace(QRegularExpression(QStringLiteral("(^|&& )stepcast ")), QStringLiteral("\\1stepcast --json "));
    QProcess bash;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("PATH", STEPCAST_BUILD_DIR "/bin:" + environment.value("PATH"));
    bash.setProcessEnvironment(environment);
    bash.setWorkingDirectory(folder_.path());
    bash.start("bash", {"-c", command});
    EXPECT_TRUE(bash.waitForFinished(300'000));
    EXPECT_EQ(bash.exitCode(), 0) << plain(command) << bash.readAllStandardError().toStdString();
    std::istringstream out(bash.readAllStandardOutput().toStdString());
    std::vector<Json> documents;
    while ((out >> std::ws).peek() != std::istringstream::traits_type::eof()) out >> documents.emplace_back();
    return documents;
  }
  /// The exhibit of the open tab that has this title.
  Exhibit exhibit(const QString& title) {
    for (const ExhibitView* view : window_->tabs().currentWidget()->findChildren<ExhibitView*>())
      if (view->isVisible() && view->exhibit().title.startsWith(title)) return view->exhibit();
    ADD_FAILURE() << "no exhibit " << plain(title);
    return {};
  }
  /// The number of a row of an exhibit that begins with these words.
  static double number(const Exhibit& exhibit, const QString& row, std::size_t column = 1) {
    for (const auto& cells : exhibit.table.rows)
      if (cells.front().text.startsWith(row)) return cells.at(column).number;
    ADD_FAILURE() << "no row " << plain(row);
    return NAN;
  }
  static void expect_near(const Json& printed, double shown, const char* what) {
    ASSERT_TRUE(printed.is_number()) << what << ": " << printed;
    EXPECT_NEAR(printed.get<double>(), shown, kRounding * std::abs(shown)) << what;
  }

  QTemporaryDir folder_;
};

TEST_F(CommandTest, Step) {
  const auto printed = run("step");
  ASSERT_EQ(printed.size(), 1U);
  EXPECT_EQ(printed[0]["fidelity"], "simulated");
  const Exhibit step = exhibit("Where the step goes");
  expect_near(printed[0]["step_time_s"], number(step, "Whole step"), "step");
  expect_near(printed[0]["compute_s"], number(step, "Compute"), "compute");
  expect_near(printed[0]["communication"]["exposed_s"], number(step, "Exposed"), "exposed");
}

TEST_F(CommandTest, ClosedFormWhereNothingSimulates) {
  forecast().set_automatic(false);
  configuration().set_value("/cluster/nodes", 16);
  const auto printed = run("step");
  ASSERT_EQ(printed.size(), 1U);
  EXPECT_EQ(printed[0]["fidelity"], "analytic");
  expect_near(printed[0]["step_time_s"], forecast().shown()->step_time.value(), "step");
}

TEST_F(CommandTest, Memory) {
  const auto printed = run("memory");
  ASSERT_EQ(printed.size(), 1U);
  const Exhibit memory = exhibit("Memory");
  const Json& stages = printed[0]["memory"]["by_stage_GiB"];
  ASSERT_EQ(stages.size() + 1, static_cast<std::size_t>(memory.table.headings.size()));
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    expect_near(stages[stage], Bytes(number(memory, "Together", stage + 1)).in(1_GiB), "stage");
}

TEST_F(CommandTest, Scaling) {
  const auto printed = run("scaling");
  ASSERT_EQ(printed.size(), 2U);
  const std::array titles{"Scaling with the same global batch", "Scaling with the same batch per server"};
  for (std::size_t i = 0; i < 2; ++i) {
    const Exhibit shown = exhibit(titles[i]);
    const Json& rows = printed[i]["rows"];
    ASSERT_EQ(rows.size(), shown.table.rows.size());
    ASSERT_GT(rows.size(), 6U);
    EXPECT_TRUE(shown.remark.startsWith(qt(printed[i]["verdict"].get<std::string>()))) << plain(shown.remark);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      EXPECT_EQ(rows[row]["nodes"].get<double>(), shown.table.rows[row][0].number);
      if (!rows[row]["legal"].get<bool>()) continue;
      expect_near(rows[row]["tokens_per_s"], shown.table.rows[row][1].number, "tokens");
      expect_near(rows[row]["efficiency"], shown.table.rows[row][3].number, "efficiency");
    }
  }
}

TEST_F(CommandTest, Communication) {
  const auto printed = run("communication");
  ASSERT_EQ(printed.size(), 1U);
  const Exhibit kinds = exhibit("Communication by kind");
  double sum = 0, shown = 0;
  for (const auto& [kind, share] : printed[0]["communication"]["by_kind"].items())
    if (const auto total = share["total_s"].get<double>(); total > 1e-5 * printed[0]["step_time_s"].get<double>())
      sum += total;
  for (const auto& row : kinds.table.rows) shown += row[1].number;
  EXPECT_NEAR(sum, shown, kRounding * shown);
  EXPECT_GT(shown, 0);
  EXPECT_FALSE(exhibit("Traffic by link").table.rows.empty());
  EXPECT_TRUE(QFile::exists(folder_.filePath("step.json"))) << "the rates of links are in the trace";
}

TEST_F(CommandTest, Power) {
  const auto printed = run("power");
  ASSERT_EQ(printed.size(), 1U);
  const Exhibit power = exhibit("Power");
  expect_near(printed[0]["power"]["average_W"], number(power, "Mean power"), "mean");
  expect_near(printed[0]["power"]["peak_W"], number(power, "Peak power"), "peak");
  expect_near(printed[0]["energy"]["per_step_J"], number(power, "Energy of a step"), "energy");
  expect_near(printed[0]["energy"]["run_kWh"], Joules(number(power, "Energy of the training")).in(1_kWh), "run");
  expect_near(printed[0]["carbon"]["run_kg"], number(power, "Carbon of the training"), "carbon");
}

TEST_F(CommandTest, Cost) {
  const auto printed = run("cost");
  ASSERT_EQ(printed.size(), 2U);
  const Exhibit cost = exhibit("What it costs");
  const auto together = static_cast<std::size_t>(cost.table.headings.size() - 1);
  expect_near(printed[0]["cost"]["per_hour_usd"], number(cost, "hour", together), "an hour");
  expect_near(printed[0]["cost"]["run_usd"], number(cost, "whole training", together), "the run");
  EXPECT_EQ(printed[1]["id"], configuration().value("/cluster/node")) << "whose prices stand below";
}

TEST_F(CommandTest, Sensitivity) {
  const auto printed = run("sensitivity");
  ASSERT_EQ(printed.size(), 1U);
  const Exhibit hardware = exhibit("What hardware"), settings = exhibit("What other settings");
  ASSERT_EQ(printed[0]["figures"].size(), hardware.table.rows.size());
  ASSERT_GT(hardware.table.rows.size(), 4U);
  for (std::size_t i = 0; i < hardware.table.rows.size(); ++i)
    EXPECT_EQ(printed[0]["figures"][i]["throughput_change"].get<double>(), hardware.table.rows[i][1].number);
  ASSERT_EQ(printed[0]["settings"].size(), settings.table.rows.size());
  for (std::size_t i = 0; i < settings.table.rows.size(); ++i)
    if (printed[0]["settings"][i]["legal"].get<bool>()) {
      EXPECT_EQ(printed[0]["settings"][i]["throughput_change"].get<double>(), settings.table.rows[i][1].number);
    }
}

TEST_F(CommandTest, Timeline) {
  const auto printed = run("timeline");
  ASSERT_EQ(printed.size(), 1U);
  const auto written = read_timeline(plain(folder_.filePath("step.json")), std::atomic<bool>(false));
  const auto shown = window_->findChild<TimelineModel*>()->data();
  ASSERT_NE(shown, nullptr);
  EXPECT_EQ(written->events, shown->events);
  EXPECT_EQ(written->end, shown->end);
}

TEST_F(CommandTest, Fabric) {
  const auto printed = run("fabric");
  ASSERT_EQ(printed.size(), 1U);
  EXPECT_NE(printed[0].dump().find("32"), std::string::npos) << printed[0];
}

TEST_F(CommandTest, Compare) {
  ASSERT_TRUE(settle());
  auto* compare = window_->findChild<CompareModel*>();
  compare->pin();
  configuration().set_value("/cluster/nodes", 64);
  ASSERT_TRUE(settle());
  const auto printed = run("compare");
  ASSERT_EQ(printed.size(), 1U) << plain(window_->command_line());
  const Exhibit shown = exhibit("Configurations");
  expect_near(printed[0]["step_time_before_s"], number(shown, "Step time", 1), "before");
  expect_near(printed[0]["step_time_after_s"], number(shown, "Step time", 2), "after");
}

TEST_F(CommandTest, Plan) {
  auto* plan = window_->findChild<PlanModel*>();
  plan->start(plan_question({"dgx-h100", "16,32", "time", "cost", "", "", "", ""}, configuration()));
  const auto printed = run("plan");
  ASSERT_EQ(printed.size(), 1U);
  ASSERT_NE(plan->answer(), nullptr) << plain(plan->why());
  ASSERT_FALSE(plan->answer()->candidates.empty());
  const Json& first = printed[0]["candidates"].at(0);
  EXPECT_EQ(first["scenario"], plan->answer()->candidates.front().scenario);
  EXPECT_EQ(printed[0]["evaluated"].get<long>(), plan->answer()->tally.evaluated);
  EXPECT_EQ(printed[0]["feasible"].get<long>(), plan->answer()->tally.feasible);
}

TEST_F(CommandTest, Sweep) {
  auto* sweep = window_->findChild<SweepModel*>();
  sweep->start({"cluster.nodes", "16,32,64", "workload.global_batch", "512,1024"});
  ASSERT_TRUE(wait_until([&] { return !sweep->is_running(); })) << plain(sweep->status());
  // What is on screen now is not what was swept.
  configuration().set_value("/strategy/recompute", "full");
  run("sweep");
  const SweepModel::Grid shown = sweep->grid();
  ASSERT_EQ(shown.values.size(), 6U) << plain(sweep->status());
  sweep->open(plain(folder_.filePath("sweep.sqlite")));
  EXPECT_EQ(sweep->grid().values, shown.values);
}

TEST_F(CommandTest, Servers) {
  const auto printed = run("servers");
  ASSERT_EQ(printed.size(), 1U);
  EXPECT_EQ(printed[0]["id"], window_->findChild<ServerBrowser*>()->selected());
}

TEST_F(CommandTest, PagesOfTheCalibration) {
  ASSERT_TRUE(window_->tabs().open("calibrate"));
  auto* pages = window_->findChild<QTabWidget*>("calibration");
  ASSERT_NE(pages, nullptr);
  auto* fit = window_->findChild<FitModel*>();
  FitForm form;
  for (const char* name : {"mpi-100mbit-2.json", "mpi-100mbit-4.json"})
    form.files << QStringLiteral(STEPCAST_SOURCE_DIR "/tests/data/probes/") + name;
  form.node = "rental-epyc-7502p-128gb";
  form.fabric =
      "cluster.fabric.nics_per_node=1 cluster.fabric.nic_bandwidth_Gbps=0.1 cluster.fabric.network=ethernet_tcp";
  form.name = "copied";
  form.refits = 3;
  fit->start(form);
  ASSERT_TRUE(settle());
  ASSERT_NE(fit->profile(), nullptr) << plain(fit->status());
  const auto written = [&] {
    Diagnostics diagnostics("calibration");
    return read_json(plain(fit->file()), diagnostics);
  };
  const Json before = written();
  QFile::remove(fit->file());
  run("calibrate");
  EXPECT_EQ(written()["constants"], before["constants"]) << "the fit again";

  configuration().set_document(Json::parse(R"({"cluster": {"node": "rental-epyc-7502p-128gb", "nodes": 4,
      "fabric": {"nics_per_node": 1, "nic_bandwidth_Gbps": 0.1, "network": "ethernet_tcp"}},
      "workload": {"model": "resnet50", "global_batch": 64}, "strategy": {"framework": "pytorch-cpu"}})"),
                               "hosts");
  pages->setCurrentIndex(2);
  ASSERT_TRUE(settle());
  const auto resting = run_command();
  ASSERT_EQ(resting.size(), 1U);
  expect_near(resting[0]["step_time_s"], number(exhibit("Which predictions"), "on screen", 4), "with it");

  pages->setCurrentIndex(3);
  auto* scores = window_->findChild<CalibrateModel*>();
  scores->start(QStringLiteral(STEPCAST_SOURCE_DIR "/calibration/data/fsdp-runs.csv"));
  ASSERT_TRUE(settle());
  const auto scored = run_command();
  ASSERT_EQ(scored.size(), 1U);
  const Exhibit sets = exhibit("How far");
  ASSERT_EQ(scored[0]["sets"].size(), sets.table.rows.size()) << plain(scores->status());
  expect_near(scored[0]["sets"][0]["mape_pct"], sets.table.rows[0][2].number, "error");
}

TEST_F(CommandTest, OwnHardwareIsNamed) {
  QTemporaryDir own;
  Diagnostics diagnostics("node");
  Json node = read_json(STEPCAST_SOURCE_DIR "/hardware-catalog/nodes/dgx-h100.json", diagnostics);
  node["id"] = "mine";
  ASSERT_TRUE(QDir().mkpath(own.filePath("nodes")));
  write_file(plain(own.filePath("nodes/mine.json")), node.dump());
  window_.reset();
  workspace_ = std::make_unique<Workspace>(std::vector<std::filesystem::path>{plain(own.path())});
  window_ = std::make_unique<MainWindow>(*workspace_);
  window_->set_asks(false);
  ASSERT_TRUE(window_->open(STEPCAST_SOURCE_DIR "/scenarios/llama3-70b-h100-512.json"));
  window_->show();
  configuration().set_value("/cluster/node", "mine");
  ASSERT_TRUE(configuration().is_valid());
  for (const char* tab : {"step", "sensitivity", "scaling", "fabric", "cost"}) {
    const auto printed = run(tab);
    EXPECT_FALSE(printed.empty()) << tab;
  }
}

}  // namespace
}  // namespace stepcast::commands_test
