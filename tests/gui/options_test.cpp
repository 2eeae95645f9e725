// What is typed behind stepcast-gui: heeded, or refused in one line before a window opens.
#include <gtest/gtest.h>

#include <QProcess>
#include <QStringList>

namespace stepcast::options_test {
namespace {

struct Wrong {
  QStringList arguments;
  const char* said;
};

TEST(Options, WhatCannotBeHeededIsRefused) {
  const QString scenario = STEPCAST_SOURCE_DIR "/scenarios/resnet50-v100-8nodes.json";
  const Wrong all[] = {
      {{"--theme", "banana"}, "--theme: found \"banana\", expected light or dark"},
      {{"--size", "banana"}, "--size: found \"banana\", expected a width and a height"},
      {{"--size", "0x0"}, "--size: found \"0x0\""},
      {{"--size", "1480x"}, "--size: found \"1480x\""},
      {{"--size", "99999x100"}, "from 1 to 32767 pixels"},
      {{"--tab", "step", "--tab", "power"}, "--tab: found 2 of them, expected one"},
      {{scenario, "other.json"}, "other.json\", expected one file"},
      {{"--scenario", scenario, "other.json"}, "other.json\", expected one file"},
      {{"--colour", "red"}, "colour"},
      {{"--tab", "nowhere"}, "there is no tab \"nowhere\""},
  };
  for (const Wrong& wrong : all) {
    QProcess program;
    program.start(STEPCAST_BUILD_DIR "/bin/stepcast-gui", wrong.arguments);
    ASSERT_TRUE(program.waitForFinished(60'000)) << wrong.said;
    EXPECT_EQ(program.exitCode(), 2) << wrong.said;
    const QString errors = QString::fromUtf8(program.readAllStandardError());
    EXPECT_TRUE(errors.contains(QString::fromUtf8(wrong.said))) << wrong.said << ": " << errors.toStdString();
    EXPECT_EQ(errors.count(QStringLiteral("stepcast-gui: ")), 1) << errors.toStdString();
  }
}

TEST(Options, HelpAndVersionAreNoFaults) {
  for (const char* option : {"--help", "-h", "--version"}) {
    QProcess program;
    program.start(STEPCAST_BUILD_DIR "/bin/stepcast-gui", {QLatin1String(option)});
    ASSERT_TRUE(program.waitForFinished(60'000)) << option;
    EXPECT_EQ(program.exitCode(), 0) << option;
    EXPECT_FALSE(program.readAllStandardOutput().isEmpty()) << option;
  }
}

}  // namespace
}  // namespace stepcast::options_test
