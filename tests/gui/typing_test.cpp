// The form under a user's hands: typing into lists, undoing, saving what is typed.
#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>

#include "gui/view-models/compare_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/sweep_model.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/field_editor.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::typing_test {
namespace {

constexpr const char* kTensor = "/strategy/tensor_parallel";

class TypingTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    window_->activateWindow();
    QApplication::processEvents();
  }
  QComboBox& combo(const std::string& pointer) {
    return *qobject_cast<QComboBox*>(window_->configure().editor(pointer)->editor());
  }
  QLineEdit& line(const std::string& pointer) {
    return *qobject_cast<QLineEdit*>(window_->configure().editor(pointer)->editor());
  }
  /// The keyboard goes where a user's would: to the widget that has the focus.
  static void type(const QString& text) { QTest::keyClicks(QApplication::focusWidget(), text); }
  static void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(QApplication::focusWidget(), key, modifiers);
  }
  void focus(QWidget& widget) {
    window_->configure().ensureWidgetVisible(&widget);
    widget.setFocus(Qt::TabFocusReason);
    ASSERT_EQ(QApplication::focusWidget(), &widget);
  }
};

TEST_F(TypingTest, WhatIsSelectedInAListIsTypedOver) {
  QComboBox& tensor = combo(kTensor);
  tensor.lineEdit()->setText("8");
  focus(tensor);
  ASSERT_EQ(tensor.lineEdit()->selectedText(), "8");
  type("2");
  EXPECT_EQ(tensor.currentText(), "2");
  press(Qt::Key_Return);
  EXPECT_EQ(configuration().value(kTensor), 2);
}

TEST_F(TypingTest, KeysMoveTheCursorWithinAList) {
  QComboBox& tensor = combo(kTensor);
  focus(tensor);
  press(Qt::Key_A, Qt::ControlModifier);
  type("16");
  press(Qt::Key_Home);
  type("4");
  EXPECT_EQ(tensor.currentText(), "416");
  press(Qt::Key_Delete);
  EXPECT_EQ(tensor.currentText(), "46");
}

TEST_F(TypingTest, AnOpenedListLeavesWhatIsTypedAlone) {
  QComboBox& tensor = combo(kTensor);
  focus(tensor);
  press(Qt::Key_A, Qt::ControlModifier);
  type("16");
  tensor.showPopup();
  tensor.hidePopup();
  EXPECT_GT(tensor.count(), 2) << "legal degrees";
  EXPECT_EQ(tensor.currentText(), "16");
}

TEST_F(TypingTest, ArrowsGoThroughLegalDegrees) {
  QComboBox& tensor = combo(kTensor);
  focus(tensor);
  press(Qt::Key_Down);
  EXPECT_TRUE(configuration().is_valid());
  EXPECT_NE(tensor.currentText(), "4");
}

TEST_F(TypingTest, WhatIsTypedIsSavedByItsKey) {
  QTemporaryDir folder;
  const std::filesystem::path file = plain(folder.filePath("mine.json"));
  configuration().save(file);
  focus(combo(kTensor));
  press(Qt::Key_A, Qt::ControlModifier);
  type("2");
  press(Qt::Key_S, Qt::ControlModifier);
  EXPECT_EQ(configuration().value(kTensor), 2);
  EXPECT_FALSE(configuration().is_modified());
  Diagnostics diagnostics("saved");
  EXPECT_EQ(read_json(file, diagnostics)["strategy"]["tensor_parallel"], 2);
}

TEST_F(TypingTest, WhatIsTypedIsPinnedSweptAndCopied) {
  focus(combo(kTensor));
  press(Qt::Key_A, Qt::ControlModifier);
  type("2");
  press(Qt::Key_D, Qt::ControlModifier);
  const auto* compare = window_->findChild<CompareModel*>();
  ASSERT_EQ(compare->count(), 1U);
  EXPECT_EQ(compare->document(compare->count() - 1)["strategy"]["tensor_parallel"], 2);
  press(Qt::Key_A, Qt::ControlModifier);
  type("8");
  auto* sweep = window_->findChild<SweepModel*>();
  sweep->start({"cluster.nodes", "32", "", "", false, ""});
  EXPECT_EQ(sweep->swept()["strategy"]["tensor_parallel"], 8);
  EXPECT_TRUE(wait_until([&] { return !sweep->is_running(); }));
}

TEST_F(TypingTest, UndoWorksFromAFieldWithNothingOfItsOwnToUndo) {
  configuration().set_value("/cluster/nodes", 32);
  for (QWidget* field : {static_cast<QWidget*>(&combo(kTensor)), static_cast<QWidget*>(&line("/workload/seq_len"))}) {
    focus(*field);
    QTest::keySequence(field, QKeySequence::Undo);
    EXPECT_EQ(configuration().value("/cluster/nodes"), 64);
    QTest::keySequence(field, QKeySequence::Redo);
    EXPECT_EQ(configuration().value("/cluster/nodes"), 32);
  }
}

TEST_F(TypingTest, AFieldUndoesItsOwnTypingFirst) {
  configuration().set_value("/cluster/nodes", 32);
  QLineEdit& length = line("/workload/seq_len");
  focus(length);
  const QString before = length.text();
  type("4");
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(length.text(), before);
  EXPECT_EQ(configuration().value("/cluster/nodes"), 32);
}

TEST_F(TypingTest, TypingIsUndoneAtOnceAndChoicesOneByOne) {
  const Json start = configuration().document();
  QLineEdit& batch = line("/workload/global_batch");
  focus(batch);
  press(Qt::Key_A, Qt::ControlModifier);
  type("2048");
  press(Qt::Key_Return);
  configuration().undo();
  EXPECT_EQ(configuration().document(), start);

  configuration().set_value("/cluster/nodes", 32);
  configuration().set_value("/cluster/nodes", 128);
  configuration().undo();
  EXPECT_EQ(configuration().value("/cluster/nodes"), 32);
  configuration().undo();
  EXPECT_EQ(configuration().document(), start);
}

TEST_F(TypingTest, SavingAndLeavingAFieldEndWhatIsUndoneTogether) {
  QTemporaryDir folder;
  configuration().type_value("/workload/global_batch", 2048);
  configuration().save(plain(folder.filePath("mine.json")));
  configuration().type_value("/workload/global_batch", 4096);
  configuration().undo();
  EXPECT_EQ(configuration().value("/workload/global_batch"), 2048);
  QLineEdit& batch = line("/workload/global_batch");
  focus(batch);
  press(Qt::Key_A, Qt::ControlModifier);
  type("512");
  focus(combo(kTensor));
  focus(batch);
  press(Qt::Key_A, Qt::ControlModifier);
  type("256");
  configuration().undo();
  EXPECT_EQ(configuration().value("/workload/global_batch"), 512);
}

}  // namespace
}  // namespace stepcast::typing_test
