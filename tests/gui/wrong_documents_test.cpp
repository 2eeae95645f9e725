// Documents that say something else where an object belongs: the form mends them, and nothing that is thrown ends the
// program.
#include <QLineEdit>
#include <QTest>

#include "gui/guarded_application.hpp"
#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/sweep_model.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/field_editor.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::wrong_documents_test {
namespace {

class WrongDocumentTest : public WindowTest {
 protected:
  void replace(const std::string& pointer, Json value) {
    Json document = configuration().document();
    document[Json::json_pointer(pointer)] = std::move(value);
    configuration().set_document(std::move(document), "typed");
    ASSERT_FALSE(configuration().is_valid());
  }
};

TEST_F(WrongDocumentTest, AFieldReplacesANameWhereAnObjectBelongs) {
  replace("/cluster/fabric", "fat-tree");
  auto* line = qobject_cast<QLineEdit*>(window_->configure().editor("/cluster/fabric/oversubscription")->editor());
  ASSERT_NE(line, nullptr);
  line->setFocus();
  QTest::keyClicks(line, "2");
  EXPECT_EQ(configuration().document()["cluster"]["fabric"], Json({{"oversubscription", 2}}));
  EXPECT_TRUE(configuration().is_valid());
  configuration().undo();
  EXPECT_EQ(configuration().document()["cluster"]["fabric"], "fat-tree");
}

TEST_F(WrongDocumentTest, EveryFieldCanBeSetOverAnyWrongParent) {
  const Json wrong[]{Json::array(), Json("words"), Json(7), Json(nullptr), Json::array({1, 2})};
  for (const FormSection& section : form_sections())
    for (const FormField& field : section.fields)
      for (const Json& value : wrong) {
        Json document = configuration().document();
        document[field.pointer.substr(1, field.pointer.find('/', 1) - 1)] = value;
        configuration().set_document(document, "typed");
        EXPECT_NO_THROW((void)configuration().legal_values(field)) << field.pointer << " over " << value;
        EXPECT_NO_THROW(configuration().set_value(field.pointer, "words")) << field.pointer << " over " << value;
        EXPECT_EQ(configuration().value(field.pointer), "words");
        configuration().set_value(field.pointer, nullptr);
        EXPECT_EQ(configuration().value(field.pointer), nullptr);
      }
}

TEST_F(WrongDocumentTest, ASweepOfOneSaysWhatIsWrong) {
  replace("/run", Json::array());
  auto* sweep = window_->findChild<SweepModel*>();
  EXPECT_NO_THROW(sweep->start({"cluster.nodes", "8,16", "", "", false, ""}));
  EXPECT_TRUE(wait_until([&] { return !sweep->is_running(); }));
}

TEST(GuardedApplicationTest, WhatAnEventThrowsIsToldAndEndsNothing) {
  class Faulty : public QObject {
   public:
    bool event(QEvent* event) override {
      if (event->type() == QEvent::User) throw std::out_of_range("a fault");
      return QObject::event(event);
    }
  } faulty;
  auto& application = *static_cast<GuardedApplication*>(QCoreApplication::instance());
  QString told;
  application.set_rescue([&](const std::exception& error) { told = QString::fromUtf8(error.what()); });
  QCoreApplication::postEvent(&faulty, new QEvent(QEvent::User));
  QApplication::processEvents();
  application.set_rescue({});
  EXPECT_EQ(told, "a fault");
}

}  // namespace
}  // namespace stepcast::wrong_documents_test
