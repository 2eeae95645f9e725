// Studies around the scenario on screen: sweeps, comparisons, the network's drawing, the command that prints the same.
#include "gui/view-models/studies.hpp"

#include <QLabel>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "gui/view-models/command_line_text.hpp"
#include "gui/view-models/compare_model.hpp"
#include "gui/view-models/fabric_drawing.hpp"
#include "gui/view-models/own_parts.hpp"
#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/sweep_model.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/fabric_canvas.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/sweep_tab.hpp"
#include "gui/worker/command_process.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/model.hpp"
#include "report/predict.hpp"
#include "sweeps/result_store.hpp"
#include "tests/gui/gui_fixture.hpp"
#include "tests/onnx_file.hpp"

namespace stepcast::studies_test {
namespace {

TEST_F(WindowTest, SweepGivesTheLibrarysNumbersAndSaysWhatIsNotLegal) {
  SweepModel sweep(configuration());
  sweep.start({"cluster.nodes", "16,32,33", "workload.global_batch", "512,1024"});
  ASSERT_TRUE(wait_until([&] { return !sweep.is_running(); })) << plain(sweep.status());
  const SweepModel::Grid& grid = sweep.grid();
  ASSERT_EQ(grid.x, (QStringList{"16", "32", "33"})) << plain(sweep.status());
  ASSERT_EQ(grid.y, (QStringList{"512", "1024"}));
  Json document = configuration().document();
  document["cluster"]["nodes"] = 32;
  document["workload"]["global_batch"] = 512;
  document["run"]["fidelity"] = "analytic";
  const Prediction library =
      predict_analytic(resolve(document, "test", {}, configuration().catalog()), configuration().catalog());
  EXPECT_NEAR(grid.values[1], library.samples_per_s, 1e-9 * library.samples_per_s);
  EXPECT_TRUE(std::isnan(grid.values[2])) << "33 servers are not legal here";
  EXPECT_EQ(sweep.exhibit().table.rows.size(), 6U);
}

// `stepcast sweep` ranks those that fit; the window shows all, and says which nobody can have.
TEST_F(WindowTest, ASweepMarksWhatDoesNotFitMemory) {
  SweepModel sweep(configuration());
  sweep.start({"cluster.nodes", "16,64", "strategy.micro_batch", "1,4,3"});
  ASSERT_TRUE(wait_until([&] { return !sweep.is_running(); })) << plain(sweep.status());
  const Exhibit& exhibit = sweep.exhibit();
  const SweepModel::Grid& grid = sweep.grid();
  ASSERT_EQ(grid.fits.size(), grid.values.size()) << plain(sweep.status());
  int large = 0;
  for (std::size_t i = 0; i < exhibit.table.rows.size(); ++i) {
    const FigureCell &figure = exhibit.table.rows[i][2], &why = exhibit.table.rows[i][3];
    const bool marked = why.text.startsWith("does not fit, ") && why.text.endsWith(" GiB over");
    large += marked ? 1 : 0;
    EXPECT_EQ(marked, why.tone == FigureCell::Tone::bad) << plain(why.text);
    if (marked) {
      EXPECT_EQ(figure.tone, FigureCell::Tone::muted);
    }
  }
  ASSERT_EQ(exhibit.table.rows.size(), 6U);
  EXPECT_EQ(large, 3) << "all but 64 servers with a micro-batch of 1, and what is not legal";
  EXPECT_EQ(std::count(grid.fits.begin(), grid.fits.end(), false), large);
  int pale = 0;
  for (const ChartData::Series& series : exhibit.chart.series) {
    ASSERT_EQ(series.muted.size(), series.points.size());
    pale += static_cast<int>(std::count(series.muted.begin(), series.muted.end(), true));
  }
  EXPECT_EQ(pale, large);
  EXPECT_EQ(exhibit.remark,
            "6 configurations. 2 have no such figure and are not drawn; the table says why. "
            "3 do not fit memory and are pale, or hatched.");
}

TEST_F(WindowTest, ASweepOverWordsDrawsEverySecondValueAndNothingForWhatFailed) {
  SweepModel sweep(configuration());
  sweep.start({"workload.precision", "bf16,fp8,int3", "workload.global_batch", "512,1024"});
  ASSERT_TRUE(wait_until([&] { return !sweep.is_running(); })) << plain(sweep.status());
  const ChartData& chart = sweep.exhibit().chart;
  EXPECT_EQ(chart.kind, ChartData::Kind::grouped_bars);
  EXPECT_EQ(chart.categories, (QStringList{"bf16", "fp8", "int3"}));
  ASSERT_EQ(chart.series.size(), 2U);
  for (const ChartData::Series& series : chart.series) {
    ASSERT_EQ(series.values.size(), 3U);
    EXPECT_GT(series.values[0], 0);
    EXPECT_TRUE(std::isnan(series.values[2])) << "there is no such format";
  }
  EXPECT_NE(chart.series[0].values[0], chart.series[1].values[0]);
  EXPECT_NE(chart.series[0].name, chart.series[1].name);
  EXPECT_TRUE(sweep.exhibit().remark.contains("not drawn")) << plain(sweep.exhibit().remark);
}

TEST_F(WindowTest, ASweepThatItsStoreRefusesShowsNothingOfTheStore) {
  QTemporaryDir folder;
  const QString store = folder.filePath("other.sqlite");
  SweepModel sweep(configuration());
  const auto run = [&](const QString& values) {
    sweep.start({"cluster.nodes", values, "", "", false, store});
    ASSERT_TRUE(wait_until([&] { return !sweep.is_running(); }));
  };
  run("16,32");
  ASSERT_EQ(sweep.exhibit().table.rows.size(), 2U) << plain(sweep.status());
  run("16,64");
  EXPECT_FALSE(sweep.status().isEmpty());
  EXPECT_TRUE(sweep.exhibit().table.rows.empty() && sweep.exhibit().remark.isEmpty())
      << plain(sweep.status()) << "; " << plain(sweep.exhibit().remark);
}

TEST_F(WindowTest, SpreadsheetsGetBareNumbersWithTheirUnitsInTheHeadings) {
  const Figures2D figures = for_spreadsheet(step_exhibit(*configuration().closed_form()).table, QLocale::c());
  EXPECT_EQ(figures.headings, (QStringList{"Part of the step", "Time, s", "Share, %", "What it is"}));
  const Prediction& p = *configuration().closed_form();
  EXPECT_DOUBLE_EQ(figures.rows.back()[1].text.toDouble(), p.step_time.value());
  EXPECT_DOUBLE_EQ(figures.rows.back()[2].text.toDouble(), 100);
  // Rows of different kinds: their units have a column.
  Figures2D mixed{{"Figure", "Value"}, {{{.text = "Time"}, figure_cell(Seconds(1.5))}}};
  mixed.rows.push_back({{.text = "Size"}, figure_cell(Bytes(3))});
  mixed.rows.push_back({{.text = "Unknown"}, {.text = "—", .number = 0}});
  const Figures2D apart = for_spreadsheet(mixed, QLocale::c());
  EXPECT_EQ(apart.headings, (QStringList{"Figure", "Unit", "Value"}));
  EXPECT_EQ(apart.rows[0][1].text, "s");
  EXPECT_EQ(apart.rows[0][2].text, "1.5");
  EXPECT_EQ(apart.rows[1][1].text, "B");
  EXPECT_EQ(apart.rows[2][2].text, "") << "what is not known is no 0";
}

TEST_F(WindowTest, ASweepOfAnEarlierConfigurationIsCalledSo) {
  auto* sweep = window_->findChild<SweepModel*>();
  sweep->start({"cluster.nodes", "16,32", "", ""});
  ASSERT_TRUE(wait_until([&] { return !sweep->is_running(); })) << plain(sweep->status());
  const auto remark = [&] { return window_->findChild<SweepTab*>()->findChild<ExhibitView*>()->exhibit().remark; };
  EXPECT_FALSE(remark().contains("earlier"));
  configuration().set_value("/cluster/nodes", 128);
  EXPECT_FALSE(sweep->is_outdated()) << "the sweep sets that itself";
  configuration().set_value("/workload/global_batch", 512);
  EXPECT_TRUE(remark().contains("earlier configuration")) << plain(remark());
  configuration().undo();
  EXPECT_FALSE(remark().contains("earlier"));
}

TEST_F(WindowTest, ASweepThatIsNotShownWholeSaysSo) {
  QTemporaryDir folder;
  const std::filesystem::path file = plain(folder.filePath("many.sqlite"));
  SweepRequest request;
  request.sets = {"workload.global_batch=1..20010"};
  const SweepDefinition definition{"scenario", configuration().document(), read_points(request), {}};
  {
    StoreWriter writer(file, identity_of(definition), definition.points.size(), StoreMode::fresh);
    for (std::int64_t point = 0; point < definition.points.size(); ++point)
      writer.add(definition.points, failed_row(point, "not tried"));
    writer.commit();
  }
  SweepModel sweep(configuration());
  sweep.open(file);
  EXPECT_TRUE(sweep.exhibit().remark.contains("first 20,000 of 20,010")) << plain(sweep.exhibit().remark);
  EXPECT_EQ(sweep.exhibit().table.rows.size(), 20'000U);
}

TEST_F(WindowTest, TrafficThatTakesNothingOfAStepHasNoRow) {
  Prediction prediction = *configuration().closed_form();
  prediction.communication.by_dimension["storage"] = {1e-6 * prediction.step_time, Seconds(0)};
  for (const auto& row : communication_by_dimension(prediction).table.rows) EXPECT_NE(row.front().text, "Storage");
  EXPECT_FALSE(communication_by_dimension(prediction).table.rows.empty());
  prediction.communication.by_dimension = {{"storage", {1e-6 * prediction.step_time, Seconds(0)}}};
  EXPECT_TRUE(communication_by_dimension(prediction).chart.series.empty()) << "no bars of nothing";
}

TEST_F(WindowTest, ACommandThatCannotStartEndsOnceAndLater) {
  const QByteArray worker = qgetenv("STEPCAST_WORKER");
  qputenv("STEPCAST_WORKER", "/nowhere/stepcast-worker");
  CommandProcess command;
  int ended = 0;
  QString why;
  QObject::connect(&command, &CommandProcess::finished, &command, [&](int, const QByteArray&, const QString& errors) {
    ++ended;
    why = errors;
  });
  command.start({"version"});
  EXPECT_EQ(ended, 0) << "who starts it is not called back before start returns";
  EXPECT_TRUE(command.is_running());
  command.start({"version"});
  EXPECT_TRUE(wait_until([&] { return !command.is_running(); }));
  EXPECT_EQ(ended, 1);
  EXPECT_FALSE(why.isEmpty());
  command.start({"version"});
  command.cancel();
  QApplication::processEvents();
  EXPECT_EQ(ended, 1);

  window_->tabs().open("scaling");
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->tabs().currentWidget()->findChildren<ExhibitView*>().size(), 2);
  qputenv("STEPCAST_WORKER", worker);
}

TEST_F(WindowTest, OneServerIsCalledOne) {
  open("workstation-single-gpu.json");
  bool found = false;
  for (const QLabel* label : window_->findChildren<QLabel*>())
    found = found || label->text().startsWith("1 server · 1 device · ");
  EXPECT_TRUE(found);
}

TEST_F(WindowTest, MemorySaysWhyNoGradientsAreCounted) {
  MemoryReport report;
  report.stages.resize(1);
  report.stages[0].optimizer = 8_GiB;
  report.stages[0].activations = 20_GiB;
  report.capacity = 80_GiB;
  EXPECT_TRUE(memory_exhibit(report).remark.contains(QLatin1String("no gradients exist yet")));
  report.stages[0].gradients = 4_GiB;
  EXPECT_FALSE(memory_exhibit(report).remark.contains(QLatin1String("no gradients exist yet")));
  EXPECT_FALSE(memory_exhibit(report).remark.contains(QLatin1String("phase")));
  report.phase = "long context";
  EXPECT_TRUE(memory_exhibit(report).remark.contains(QLatin1String("In the phase that leaves least: long context.")));
}

TEST_F(WindowTest, FaultsOfASweepAreSaid) {
  SweepModel sweep(configuration());
  sweep.start({"cluster.nodes", "", "", ""});
  ASSERT_TRUE(wait_until([&] { return !sweep.is_running(); }));
  EXPECT_FALSE(sweep.status().isEmpty());
  EXPECT_TRUE(sweep.grid().values.empty());
}

TEST_F(WindowTest, ComparisonSaysWhatDiffers) {
  CompareModel compare(configuration(), forecast());
  compare.pin();
  configuration().set_value("/cluster/nodes", 128);
  const Exhibit exhibit = compare.exhibit();
  ASSERT_EQ(exhibit.table.headings.size(), 3);
  EXPECT_TRUE(exhibit.remark.contains("nodes 64 → 128")) << plain(exhibit.remark);
  ASSERT_EQ(exhibit.chart.categories.size(), 2);
  compare.open(0);
  EXPECT_EQ(configuration().value("/cluster/nodes"), 64);
}

TEST_F(WindowTest, EveryServerHasAPlaceInTheNetworkAndAWayUp) {
  const FabricDrawing drawing = fabric_drawing(*configuration().scenario(), nullptr);
  int servers = 0;
  for (const FabricBox& box : drawing.boxes) {
    if (box.row == 0) servers += box.count;
    if (box.kind != "top") {
      EXPECT_GE(box.parent, 0) << plain(box.name);
      EXPECT_GT(box.capacity, 0) << plain(box.name);
    }
  }
  EXPECT_EQ(servers, 64);
}

// Levels are named as people call them, whatever the network: axes of a torus, groups of a dragonfly, sites.
TEST_F(WindowTest, LevelsOfANetworkHaveItsOwnNames) {
  const auto names = [&](const char* node, const Json& fabric) {
    const Json cluster{{"node", node}, {"nodes", 16}, {"fabric", fabric}};
    const Json document{{"cluster", cluster},
                        {"workload", {{"model", "llama2-7b"}, {"global_batch", 256}}},
                        {"strategy", {{"framework", "jax"}, {"sharding", "fsdp"}, {"micro_batch", 1}}}};
    const Scenario scenario = resolve(document, "test", {}, configuration().catalog());
    QStringList out;
    for (const FabricBox& box : fabric_drawing(scenario, nullptr).boxes)
      if (box.first == 0 && box.kind != "top") out << box.name;
    return out;
  };
  EXPECT_EQ(names("tpu-v4-host", {{"preset", "torus-3d"}}),
            (QStringList{"server 0", "router 0", "x row 0", "xy plane 0", "half 0"}));
  EXPECT_EQ(names("tpu-v3-host", {{"preset", "torus-2d"}}), (QStringList{"server 0", "router 0", "x row 0", "half 0"}));
  EXPECT_EQ(names("dgx-a100-80gb", {{"preset", "fat-tree"}, {"nodes_per_leaf", 8}}),
            (QStringList{"server 0", "leaf 0"}));
  EXPECT_EQ(names("dgx-a100-80gb", {{"preset", "fat-tree"},
                                    {"nodes_per_leaf", 4},
                                    {"wan", {{"sites", 2}, {"bandwidth_Gbps", 100}, {"latency_ms", 10}}}}),
            (QStringList{"server 0", "leaf 0", "site 0"}));
}

// What the closed form alone predicts is never simulated; one server has one NIC.
TEST_F(WindowTest, ANetworkSaysWhetherItsTrafficIsEverSimulated) {
  const auto traffic = [&](const FabricDrawing& drawing) {
    return fabric_box_figures(drawing, drawing.boxes.front(), nullptr, 0).rows.back().back();
  };
  const FabricDrawing of_step = fabric_drawing(*configuration().scenario(), nullptr);
  EXPECT_EQ(traffic(of_step).text, "not simulated yet");
  open("systems/bigdl.json");
  const FabricDrawing closed = fabric_drawing(*configuration().scenario(), nullptr);
  EXPECT_EQ(traffic(closed).text, "never simulated");
  EXPECT_FALSE(traffic(closed).tip.isEmpty());
  configuration().set_value("/cluster/nodes", 1);
  ASSERT_NE(configuration().scenario(), nullptr);
  EXPECT_TRUE(fabric_drawing(*configuration().scenario(), nullptr).summary.contains(", 1 server, 1 NIC of "))
      << plain(fabric_drawing(*configuration().scenario(), nullptr).summary);
}

TEST_F(WindowTest, NamesOfALargeNetworkStandApart) {
  open("llama3-405b-h100-16384.json");
  const FabricDrawing drawing = fabric_drawing(*configuration().scenario(), nullptr);
  ASSERT_GT(drawing.rows, 2);
  FabricCanvas canvas;
  canvas.show_drawing(&drawing, {});
  for (const int width : {300, 700, 1800}) {
    canvas.resize(width, 500);
    const std::vector<FabricCanvas::Name> names = canvas.names();
    EXPECT_GE(names.size(), static_cast<std::size_t>(drawing.rows));
    for (std::size_t i = 0; i < names.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(names[i].place.intersects(names[j].place))
            << width << ": " << plain(names[i].words) << " and " << plain(names[j].words);
  }
}

TEST_F(WindowTest, ArrowKeysGoUpAndDownTheNetwork) {
  const FabricDrawing drawing = fabric_drawing(*configuration().scenario(), nullptr);
  FabricCanvas canvas;
  canvas.show_drawing(&drawing, {});
  int selected = static_cast<int>(drawing.boxes.size()) - 1;
  QObject::connect(&canvas, &FabricCanvas::selected, &canvas, [&](int box) {
    selected = box;
    canvas.select(box);
  });
  canvas.select(selected);
  const int top = selected;
  QTest::keyClick(&canvas, Qt::Key_Up);
  EXPECT_EQ(selected, top) << "there is nothing above";
  for (int row = drawing.rows - 2; row >= 0; --row) {
    const int from = selected;
    QTest::keyClick(&canvas, Qt::Key_Down);
    EXPECT_EQ(drawing.boxes[static_cast<std::size_t>(selected)].row, row);
    EXPECT_EQ(drawing.boxes[static_cast<std::size_t>(selected)].parent, from);
  }
  const int server = selected;
  QTest::keyClick(&canvas, Qt::Key_Down);
  EXPECT_EQ(selected, server) << "there is nothing below";
}

// Larger sizes may be impossible: then it pays up to the largest that is not.
TEST(ScalingExhibit, SaysWhatTheReportSays) {
  const auto row = [](int nodes, bool fits) {
    return Json{{"nodes", nodes},           {"legal", true},           {"tokens_per_s", 100.0 * nodes},
                {"step_time_s", 1.0},       {"efficiency", 1.0},       {"fits", fits},
                {"limited_by", "overhead"}, {"limited_by_share", 0.1}, {"samples_per_s", 1.0}};
  };
  const Json scaling{
      {"pays_until_nodes", nullptr},
      {"verdict", "Adding nodes pays up to 4, the largest possible size asked for"},
      {"rule", "added nodes pay while each gives at least 50 % of a node's throughput at the smallest size"},
      {"rows",
       {row(2, false), row(4, true), {{"nodes", 8}, {"legal", false}, {"faults", {{{"message", "too many"}}}}}}}};
  const Exhibit exhibit = scaling_exhibit(scaling, {}, ScalingMode::strong, 4);
  EXPECT_TRUE(exhibit.remark.startsWith("Adding nodes pays up to 4, the largest possible size asked for (added"))
      << plain(exhibit.remark);
  EXPECT_EQ(exhibit.chart.series[0].muted, (std::vector<bool>{true, false}));
  EXPECT_EQ(exhibit.chart.right_to, 100);
}

// Where more servers are each worth more, the axis of efficiency reaches that far.
TEST(ScalingExhibit, DrawsEfficienciesAboveTheWhole) {
  Json rows = Json::array();
  for (const int nodes : {1, 2})
    rows.push_back({{"nodes", nodes},
                    {"legal", true},
                    {"tokens_per_s", 100.0 * nodes},
                    {"step_time_s", 1.0},
                    {"efficiency", 0.9 + 0.2 * nodes},
                    {"fits", true},
                    {"limited_by", "overhead"},
                    {"limited_by_share", 0.1},
                    {"samples_per_s", 1.0}});
  const Exhibit exhibit =
      scaling_exhibit({{"verdict", "pays"}, {"rule", "rule"}, {"rows", rows}}, {}, ScalingMode::weak, 1);
  ASSERT_TRUE(exhibit.chart.right_to);
  EXPECT_NEAR(*exhibit.chart.right_to, 130, 1e-9);
}

TEST_F(WindowTest, TheCommandLineSaysWhatWasChanged) {
  configuration().set_value("/cluster/nodes", 32);
  configuration().set_value("/strategy/recompute", "full");
  const QString command = command_line_text(configuration(), "step");
  EXPECT_TRUE(command.startsWith("stepcast run ")) << plain(command);
  EXPECT_TRUE(command.contains("--set cluster.nodes=32")) << plain(command);
  EXPECT_TRUE(command.contains("--set strategy.recompute=full")) << plain(command);
}

TEST(OwnParts, AnOnnxFileBecomesTheDescriptionOfItsOperators) {
  const QTemporaryDir folder;
  const std::string file = plain(folder.filePath("network.onnx"));
  make_onnx_file(STEPCAST_SOURCE_DIR "/tests/data/onnx/residual.txtpb", file);
  const Json model = own_model(own_model_text_of(file));
  EXPECT_EQ(model["id"], "network");
  EXPECT_EQ(model["compact"]["layers"], 3);
  EXPECT_THROW(own_model_text_of(STEPCAST_SOURCE_DIR "/README.onnx"), InputError);
}

TEST(OwnParts, AHuggingFaceDecoderBecomesAModel) {
  const Json model = own_model(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256,
    "hidden_act": "silu", "tie_word_embeddings": false, "max_position_embeddings": 131072})");
  EXPECT_EQ(model["transformer"]["layers"], 32);
  EXPECT_EQ(model["transformer"]["kv_heads"], 8);
  EXPECT_EQ(model["transformer"]["gated_mlp"], true);
  EXPECT_THROW(own_model(R"({"model_type": "llama", "hidden_size": "wide"})"), InputError);
  EXPECT_THROW(own_model("no json"), InputError);
  EXPECT_EQ(model["default_seq_len"], 8192);
  EXPECT_NE(model["note"].get<std::string>().find("the model takes 131072 tokens"), std::string::npos);
  EXPECT_THROW(id_of_own_part(R"({"id": "../../etc/passwd"})"), InputError);
}

// The window reads what `stepcast import` reads, by the same reader.
TEST(OwnParts, AHuggingFaceFileIsReadAsTheImportReadsIt) {
  const Json deepseek = own_model(R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 129280,
    "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048,
    "first_k_dense_replace": 3, "max_position_embeddings": 163840, "rope_scaling": {"factor": Infinity}})");
  EXPECT_EQ(deepseek["transformer"]["experts"], 256);
  EXPECT_EQ(deepseek["transformer"]["kv_lora_rank"], 512);
  EXPECT_EQ(deepseek["transformer"]["dense_layers"], 3);
  const Json gemma = own_model(R"({"model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576,
    "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
    "hidden_act": "gelu", "vocab_size": 256000, "max_position_embeddings": 8192})");
  EXPECT_EQ(gemma["transformer"]["gated_mlp"], true);
  EXPECT_THROW(own_model(R"({"model_type": 7, "hidden_act": 3, "max_position_embeddings": "long"})"), InputError);
  EXPECT_THROW(own_model("[1]"), InputError);
}

}  // namespace
}  // namespace stepcast::studies_test
