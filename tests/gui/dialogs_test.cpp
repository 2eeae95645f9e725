// What goes through a dialog: exports, saving under a name, hardware and models of the user's own.
#include <QAction>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSlider>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <set>

#include "gui/view-models/qt_text.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/fabric_canvas.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/server_browser.hpp"
#include "gui/views/timeline_canvas.hpp"
#include "models/scenario/scenario.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::dialogs_test {
namespace {

QByteArray contents(const QString& file) {
  QFile stream(file);
  EXPECT_TRUE(stream.open(QIODevice::ReadOnly)) << plain(file);
  return stream.readAll();
}

class DialogTest : public WindowTest {
 protected:
  static void SetUpTestSuite() { QApplication::setAttribute(Qt::AA_DontUseNativeDialogs); }
  /// Does what opens a dialog, and answers the dialog when it is there.
  template <class Dialog>
  void answer(const std::function<void()>& opens, const std::function<void(Dialog&)>& with) {
    bool answered = false;
    QTimer poll;
    QObject::connect(&poll, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<Dialog*>(QApplication::activeModalWidget());
      if (dialog == nullptr || answered) return;
      answered = true;
      with(*dialog);
    });
    poll.start(20);
    opens();
    EXPECT_TRUE(answered) << "no dialog came";
  }
  void choose_file(const QString& file, const std::function<void()>& opens) {
    answer<QFileDialog>(opens, [&](QFileDialog& dialog) {
      dialog.findChild<QLineEdit*>("fileNameEdit")->setText(file);
      QMetaObject::invokeMethod(&dialog, "accept");
    });
  }
  void click(const QString& words) {
    for (QAbstractButton* button : window_->findChildren<QAbstractButton*>())
      if (button->isVisible() && button->text() == words) return button->click();
    FAIL() << "no button " << plain(words);
  }
  QAction* action(const QString& words) {
    for (QAction* each : window_->findChildren<QAction*>())
      if (each->text() == words) return each;
    return nullptr;
  }

  QTemporaryDir folder_;
};

TEST_F(DialogTest, TheTimelineIsExportedToPerfettoAndAsAPicture) {
  window_->tabs().open("timeline");
  ASSERT_TRUE(settle());
  const QString trace = folder_.filePath("step.json"), picture = folder_.filePath("step.png");
  choose_file(trace, [&] { click("Perfetto …"); });
  EXPECT_EQ(contents(trace), contents(forecast().trace()));
  choose_file(picture, [&] { click("PNG …"); });
  const QImage image(picture);
  ASSERT_FALSE(image.isNull());
  std::set<QRgb> colours;
  for (int x = 0; x < image.width(); x += 5)
    for (int y = 0; y < image.height(); y += 5) colours.insert(image.pixel(x, y));
  EXPECT_GT(colours.size(), 8U);
}

TEST_F(DialogTest, ATableIsExportedAsCsvAndHtml) {
  auto* view = window_->tabs().currentWidget()->findChild<ExhibitView*>();
  auto* table = view->findChild<QTableView*>();
  QAction* save = nullptr;
  for (QAction* each : table->actions())
    if (each->text().startsWith("Export")) save = each;
  ASSERT_NE(save, nullptr);
  const QString csv = folder_.filePath("step.csv"), html = folder_.filePath("step.html");
  choose_file(csv, [&] { save->trigger(); });
  const QStringList lines = QString::fromUtf8(contents(csv)).split('\n', Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), table->model()->rowCount() + 1);
  EXPECT_TRUE(lines[0].startsWith("Part of the step,")) << plain(lines[0]);
  choose_file(html, [&] { save->trigger(); });
  const QString page = QString::fromUtf8(contents(html));
  EXPECT_EQ(page.count("<tr"), table->model()->rowCount() + 1);
  EXPECT_TRUE(page.contains("Whole step"));
}

TEST_F(DialogTest, SavingANewScenarioAsksForItsName) {
  const Json document = configuration().document();
  configuration().start_new();
  configuration().set_document(document, "typed");
  const QString file = folder_.filePath("new.stepcast.json");
  QString suggested;
  answer<QFileDialog>([&] { action("&Save")->trigger(); },
                      [&](QFileDialog& dialog) {
                        suggested = dialog.selectedFiles().value(0);
                        dialog.findChild<QLineEdit*>("fileNameEdit")->setText(file);
                        QMetaObject::invokeMethod(&dialog, "accept");
                      });
  EXPECT_TRUE(suggested.endsWith(".stepcast.json")) << "what a desktop knows: " << plain(suggested);
  EXPECT_EQ(Json::parse(contents(file).toStdString()), document);
  EXPECT_EQ(configuration().file(), std::filesystem::path(plain(file)));
  EXPECT_FALSE(configuration().is_modified());
}

TEST_F(DialogTest, AnExampleIsSavedUnderAnotherName) {
  const std::filesystem::path example = STEPCAST_SOURCE_DIR "/scenarios/gpt3-175b-a100-1024.json";
  const QByteArray shipped = contents(qt(example.string()));
  ASSERT_TRUE(window_->open_example(example));
  EXPECT_TRUE(configuration().file().empty());
  EXPECT_FALSE(configuration().is_modified());
  EXPECT_TRUE(window_->command_line().contains("gpt3-175b-a100-1024.json")) << plain(window_->command_line());
  configuration().set_value("/cluster/nodes", 256);
  const QString file = folder_.filePath("mine.json");
  choose_file(file, [&] { action("&Save")->trigger(); });
  EXPECT_EQ(configuration().file(), std::filesystem::path(plain(file)));
  EXPECT_EQ(contents(qt(example.string())), shipped);
}

TEST_F(DialogTest, SavingWhatIsUnchangedLeavesTheFileAsItIsWritten) {
  const QString file = folder_.filePath("mine.json");
  ASSERT_TRUE(QFile::copy(STEPCAST_SOURCE_DIR "/scenarios/llama3-405b-run.json", file));
  const QByteArray before = contents(file);
  ASSERT_TRUE(window_->open(plain(file)));
  action("&Save")->trigger();
  EXPECT_EQ(contents(file), before);
}

TEST_F(DialogTest, SavingAsksBeforeCommentsAreLost) {
  const QString file = folder_.filePath("mine.json");
  ASSERT_TRUE(QFile::copy(STEPCAST_SOURCE_DIR "/scenarios/llama3-405b-run.json", file));
  ASSERT_TRUE(QFile::setPermissions(file, QFile::ReadOwner | QFile::WriteOwner));
  const QByteArray before = contents(file);
  ASSERT_TRUE(window_->open(plain(file)));
  configuration().set_value("/cluster/nodes", 1024);
  window_->set_asks(true);
  const auto save = [&] { action("&Save")->trigger(); };
  answer<QMessageBox>(save, [](QMessageBox& question) { question.button(QMessageBox::Cancel)->click(); });
  EXPECT_EQ(contents(file), before);
  EXPECT_TRUE(configuration().is_modified());
  answer<QMessageBox>(save, [](QMessageBox& question) { question.button(QMessageBox::Save)->click(); });
  EXPECT_EQ(contents(file).toStdString(), configuration().text());
  configuration().set_value("/cluster/nodes", 2048);
  save();  // nobody is asked: no comment is left
  EXPECT_EQ(contents(file).toStdString(), configuration().text());
  window_->set_asks(false);
}

TEST_F(DialogTest, SavingOverWhatSomebodyElseWroteAsks) {
  const QString file = folder_.filePath("mine.json");
  write_file(plain(file), configuration().text());
  ASSERT_TRUE(window_->open(plain(file)));
  configuration().set_value("/cluster/nodes", 32);
  write_file(plain(file), "{\"name\": \"theirs\"}");
  window_->set_asks(true);
  const auto save = [&] { action("&Save")->trigger(); };
  const auto press = [&](const QString& words) {
    answer<QMessageBox>(save, [&](QMessageBox& question) {
      for (QAbstractButton* button : question.buttons())
        if (button->text() == words) return button->click();
      FAIL() << "no button " << plain(words);
    });
  };
  answer<QMessageBox>(save, [](QMessageBox& question) { question.button(QMessageBox::Cancel)->click(); });
  EXPECT_EQ(contents(file), "{\"name\": \"theirs\"}");
  press("&Overwrite");
  EXPECT_EQ(contents(file).toStdString(), configuration().text());
  write_file(plain(file), "{\"name\": \"theirs\"}");
  press("&Reload it");
  EXPECT_EQ(configuration().value("/name"), "theirs");
  window_->set_asks(false);
}

TEST_F(DialogTest, FileDialogsStartBesideTheOpenFile) {
  const QString file = folder_.filePath("mine.json");
  write_file(plain(file), configuration().text());
  ASSERT_TRUE(window_->open(plain(file)));
  QString folder;
  answer<QFileDialog>([&] { action("Save &as …")->trigger(); },
                      [&](QFileDialog& dialog) {
                        folder = dialog.directory().absolutePath();
                        dialog.reject();
                      });
  EXPECT_EQ(folder, QDir(folder_.path()).absolutePath());
}

TEST_F(DialogTest, AServerOfOnesOwnIsCheckedKeptAndChosen) {
  window_->tabs().open("servers");
  QString fault;
  int step = 0;
  QTimer poll;
  QObject::connect(&poll, &QTimer::timeout, [&] {
    auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
    if (dialog == nullptr) return;
    auto* text = dialog->findChild<QPlainTextEdit*>();
    QPushButton* ok = dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
    Json node = Json::parse(plain(text->toPlainText()), nullptr, false, true);
    ASSERT_TRUE(node.is_object());
    node["id"] = "my-own-server";
    if (step++ == 0) {
      node["accelerator"] = "no-such-device";
      text->setPlainText(qt(node.dump()));
      ok->click();
      for (const QLabel* label : dialog->findChildren<QLabel*>())
        if (label->objectName() == "fault") fault = label->text();
      return;
    }
    node["accelerator"] = "h100-sxm-80gb";
    text->setPlainText(qt(node.dump()));
    ok->click();
    if (dialog->isVisible()) dialog->reject();
  });
  poll.start(20);
  click("Own server like this …");
  poll.stop();
  EXPECT_TRUE(fault.contains("no-such-device")) << plain(fault);
  EXPECT_EQ(configuration().value("/cluster/node"), "my-own-server");
  EXPECT_TRUE(configuration().is_valid());
  EXPECT_TRUE(settle());
  EXPECT_EQ(forecast().state(), ForecastModel::State::simulated) << plain(forecast().status());
  std::filesystem::remove_all(Workspace::own_catalog());
}

TEST_F(DialogTest, AServerOfOnesOwnIsEditedAndRemovedAndTakesNoShippedName) {
  const auto text_of = [&](const std::string& id) { return workspace_->catalog().show("nodes", id); };
  Json node = text_of("dgx-h100");
  EXPECT_THROW(workspace_->add_entry("nodes", "dgx-h100", node.dump()), InputError);
  node["id"] = "my-own-server";
  workspace_->add_entry("nodes", "my-own-server", node.dump());
  EXPECT_THROW(workspace_->add_entry("nodes", "my-own-server", node.dump()), InputError) << "it is edited instead";
  window_->tabs().open("servers");
  auto* servers = window_->findChild<ServerBrowser*>();
  servers->reload();
  configuration().set_value("/cluster/node", "my-own-server");
  const auto select = [&](const QString& id) {
    auto* view = servers->findChild<QTableView*>();
    for (int row = 0; row < view->model()->rowCount(); ++row)
      if (view->model()->index(row, 0).data().toString() == id) view->selectRow(row);
  };
  const auto shown = [&](const QString& words) {
    for (const QPushButton* button : servers->findChildren<QPushButton*>())
      if (button->text() == words) return !button->isHidden();
    return false;
  };
  select("dgx-h100");
  EXPECT_FALSE(shown("Edit …") || shown("Remove")) << "it is the catalogue's";
  select("my-own-server");
  ASSERT_TRUE(shown("Edit …") && shown("Remove"));
  answer<QDialog>([&] { click("Edit …"); },
                  [&](QDialog& dialog) {
                    auto* text = dialog.findChild<QPlainTextEdit*>();
                    Json edited = Json::parse(plain(text->toPlainText()));
                    edited["rack_units"] = 5;
                    text->setPlainText(qt(edited.dump()));
                    dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->click();
                    if (dialog.isVisible()) dialog.reject();
                  });
  const Json edited = text_of("my-own-server");
  EXPECT_EQ(edited["rack_units"], 5);
  EXPECT_EQ(edited["evidence"]["rack_units"], "estimated") << edited["evidence"];
  select("my-own-server");
  click("Remove");
  EXPECT_THROW((void)text_of("my-own-server"), InputError);
  std::filesystem::remove_all(Workspace::own_catalog());
}

TEST_F(DialogTest, AModelOfOnesOwnIsReadFromAHuggingFaceConfig) {
  answer<QDialog>([&] { click("Own …"); },
                  [&](QDialog& dialog) {
                    dialog.findChild<QPlainTextEdit*>()->setPlainText(
                        R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
                            "num_attention_heads": 64, "num_key_value_heads": 8, "num_hidden_layers": 80,
                            "vocab_size": 128256, "hidden_act": "silu", "tie_word_embeddings": false,
                            "max_position_embeddings": 131072})");
                    dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->click();
                    if (dialog.isVisible()) dialog.reject();
                  });
  EXPECT_TRUE(configuration().value("/workload/model").is_object());
  ASSERT_TRUE(configuration().is_valid());
}

TEST_F(DialogTest, HoveringOverTheTimelineSaysWhatIsThere) {
  window_->tabs().open("timeline");
  ASSERT_TRUE(settle());
  auto* canvas = window_->findChild<TimelineCanvas*>();
  // At one instant every device may wait.
  const auto words_anywhere = [&] {
    for (int x = canvas->width() / 4; x < canvas->width(); x += 16)
      for (int y = 40; y < canvas->height(); y += 4)
        if (!canvas->words_at({x, y}).isEmpty()) return true;
    return false;
  };
  EXPECT_TRUE(wait_until(words_anywhere)) << plain(forecast().status()) << "; trace " << plain(forecast().trace())
                                          << "; canvas " << canvas->width() << " by " << canvas->height();
}

TEST_F(DialogTest, AClickOnTheFabricGivesFiguresAndTheSliderGoesThroughTheStep) {
  window_->tabs().open("fabric");
  ASSERT_TRUE(settle());
  QWidget* page = window_->tabs().currentWidget();
  auto* canvas = page->findChild<FabricCanvas*>();
  auto* table = page->findChild<QTableView*>();
  const auto place = [&] { return table->model()->index(0, 1).data().toString(); };
  QTest::mouseClick(canvas, Qt::LeftButton, {}, {canvas->width() / 2, 16 + 13});
  EXPECT_EQ(place(), "top of the network");
  QTest::keyClick(canvas, Qt::Key_Left);
  while (!place().startsWith("server")) QTest::keyClick(canvas, Qt::Key_Left);
  auto* slider = page->findChild<QSlider*>();
  std::set<QString> seen;
  for (int at = 0; at <= slider->maximum(); ++at) {
    slider->setValue(at);
    for (int row = 0; row < table->model()->rowCount(); ++row)
      if (table->model()->index(row, 0).data().toString() == "Up, now")
        seen.insert(table->model()->index(row, 1).data().toString());
  }
  EXPECT_GT(seen.size(), 1U) << "links are as busy at every time";
}

}  // namespace
}  // namespace stepcast::dialogs_test
