// Measurements fitted in the window, looked at and used: the same as the command line's.
#include <QTemporaryDir>
#include <cmath>

#include "calibration/profile/calibration_profile.hpp"
#include "gui/view-models/calibrate_model.hpp"
#include "gui/view-models/fit_exhibits.hpp"
#include "gui/view-models/fit_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/views/result_tabs.hpp"
#include "models/scenario/scenario.hpp"
#include "report/predict.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::calibration_test {
namespace {

QString probe(const QString& name) { return QStringLiteral(STEPCAST_SOURCE_DIR "/tests/data/probes/") + name; }

/// Hosts of one process and one shaped port each, as the files were measured.
FitForm shaped_hosts() {
  FitForm form;
  form.files = {probe("mpi-100mbit-2.json"), probe("mpi-100mbit-4.json")};
  form.node = "rental-epyc-7502p-128gb";
  form.fabric =
      "cluster.fabric.nics_per_node=1 cluster.fabric.nic_bandwidth_Gbps=0.1 cluster.fabric.network=ethernet_tcp";
  form.name = "lab";
  form.refits = 3;
  return form;
}

class CalibrationTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    window_->tabs().open("calibrate");
    model_ = window_->findChild<FitModel*>();
    ASSERT_NE(model_, nullptr);
  }
  FitModel* model_ = nullptr;
};

TEST_F(CalibrationTest, MeasurementsAreFittedShownAndUsed) {
  model_->start(shaped_hosts());
  ASSERT_TRUE(model_->is_running());
  ASSERT_TRUE(wait_until([&] { return !model_->is_running(); }));
  const CalibrationProfile* profile = model_->profile();
  ASSERT_NE(profile, nullptr) << plain(model_->status());
  EXPECT_EQ(profile->name, "lab");
  EXPECT_TRUE(model_->known().contains(model_->file()));
  const Exhibit constants = constants_exhibit(*profile);
  EXPECT_EQ(constants.table.rows.size(), profile->constants.size());
  EXPECT_FALSE(constants.chart.series.empty());
  for (const auto& row : constants.table.rows) EXPECT_EQ(row[4].text, shown_whole(std::lround(row[4].number)));
  const Exhibit residuals = residuals_exhibit(*profile);
  EXPECT_FALSE(residuals.chart.series.empty());
  std::size_t points = 0;
  for (const auto& series : measured_exhibit(*profile).chart.series) points += series.points.size();
  EXPECT_EQ(points, profile->points.size());

  // A step on those hosts, without and with the calibration.
  Json document = configuration().document();
  document = Json::parse(R"({"cluster": {"node": "rental-epyc-7502p-128gb", "nodes": 4,
      "fabric": {"nics_per_node": 1, "nic_bandwidth_Gbps": 0.1, "network": "ethernet_tcp"}},
      "workload": {"model": "resnet50", "global_batch": 64},
      "strategy": {"framework": "pytorch-cpu"}, "run": {"fidelity": "analytic"}})");
  configuration().set_document(document, "hosts");
  ASSERT_TRUE(configuration().is_valid())
      << plain(configuration().faults().empty() ? QString() : qt(configuration().faults().front().text()));
  const double before = configuration().closed_form()->step_time.value();
  model_->ask_effect();
  EXPECT_TRUE(model_->effect().is_running()) << "a window does not wait for predictions";
  ASSERT_TRUE(wait_until([&] { return !model_->effect().is_running(); }));
  const Exhibit effect = model_->effect().exhibit();
  ASSERT_FALSE(effect.table.rows.empty()) << plain(effect.remark);
  EXPECT_EQ(effect.table.rows[0][1].text, "yes") << plain(effect.table.rows[0][5].text);
  Q_EMIT model_->chosen(model_->file());
  EXPECT_TRUE(model_->is_used());
  const double after = configuration().closed_form()->step_time.value();
  EXPECT_NE(before, after);
  const Catalog catalog({std::filesystem::path(plain(model_->file())), configuration().catalog().directories().back()});
  EXPECT_EQ(after,
            predict_analytic(resolve(document, "test", {}, catalog), catalog, MemoryAdvice::none).step_time.value());
  EXPECT_TRUE(window_->command_line().contains("calibrate fit")) << plain(window_->command_line());
  window_->tabs().open("step");
  EXPECT_TRUE(window_->command_line().contains("--calibration")) << plain(window_->command_line());
  Q_EMIT model_->chosen(QString());
  EXPECT_FALSE(model_->is_used());
  EXPECT_EQ(configuration().closed_form()->step_time.value(), before);
}

TEST_F(CalibrationTest, WhatIsWrongIsSaidInTheCommandsWords) {
  model_->start({});
  EXPECT_FALSE(model_->is_running());
  EXPECT_TRUE(model_->status().contains("No measurements"));
  FitForm form = shaped_hosts();
  form.files = {probe("README.md")};
  model_->start(form);
  ASSERT_TRUE(wait_until([&] { return !model_->is_running(); }));
  EXPECT_EQ(model_->profile(), nullptr);
  EXPECT_TRUE(model_->status().contains("README.md")) << plain(model_->status());
  EXPECT_THROW(model_->open(probe("README.md")), InputError);
}

TEST_F(CalibrationTest, AFitIsStopped) {
  FitForm form = shaped_hosts();
  form.refits = 10000;
  form.name = "never";
  model_->start(form);
  ASSERT_TRUE(model_->is_running());
  QElapsedTimer timer;
  timer.start();
  model_->stop();
  EXPECT_LT(timer.elapsed(), 200 * kHangFactor);
  EXPECT_FALSE(model_->is_running());
  EXPECT_EQ(model_->profile(), nullptr);
}

TEST_F(CalibrationTest, MeasuredRunsAreScored) {
  auto* scores = window_->findChild<CalibrateModel*>();
  scores->start({});
  ASSERT_TRUE(wait_until([&] { return !scores->is_running(); }, 300'000));
  const Exhibit sets = scores->sets_exhibit();
  EXPECT_GT(sets.table.rows.size(), 5U) << plain(scores->status());
  EXPECT_FALSE(scores->scatter_exhibit().chart.series.empty());
  for (const auto& row : sets.table.rows) EXPECT_EQ(row[1].text, shown_whole(std::lround(row[1].number)));
}

}  // namespace
}  // namespace stepcast::calibration_test
