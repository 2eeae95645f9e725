// Malformed scenarios, each with the faults that answer it: tests/golden/malformed_scenarios/cases.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/scenario/scenario.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::malformed_test {
namespace {

using test::catalog;

const Json& table() {
  static const Json kTable = [] {
    Diagnostics diagnostics("cases.json");
    Json out = read_json(std::filesystem::path(STEPCAST_SOURCE_DIR) / "tests/golden/malformed_scenarios/cases.json",
                         diagnostics);
    diagnostics.throw_if_faulty();
    return out;
  }();
  return kTable;
}

template <class Read>
std::vector<Fault> faults_of(Read read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.faults();
  }
  return {};
}

/// The expected fault with this pointer and these words is among those found.
bool answers(const Fault& fault, const Json& expected) {
  if (fault.pointer != expected["pointer"].get<std::string>()) return false;
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  for (const Json& part : expected["says"])
    if (!has(fault.message, part.get<std::string>())) return false;
  return has(fault.suggestion, expected["suggests"].get<std::string>());
}

void expect_faults(const std::vector<Fault>& found, const Json& expected, const std::string& file) {
  std::string all;
  for (const Fault& fault : found) all += fault.text() + '\n';
  EXPECT_EQ(found.size(), expected.size()) << all;
  for (const Json& one : expected)
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Fault& fault) { return answers(fault, one); }))
        << "not answered: " << one.dump() << "\nfound:\n"
        << all;
  for (const Fault& fault : found) EXPECT_EQ(fault.file, file);
}

class MalformedScenario : public testing::TestWithParam<Json> {};
class MalformedText : public testing::TestWithParam<Json> {};

TEST_P(MalformedScenario, IsAnsweredWithPointerAndSuggestion) {
  const Json& c = GetParam();
  Json document = table()["bases"][c["base"].get<std::string>()];
  if (c.contains("patch")) document.merge_patch(c["patch"]);
  std::vector<std::string> overrides;
  if (c.contains("set")) overrides = c["set"].get<std::vector<std::string>>();
  expect_faults(faults_of([&] { resolve(document, "my.json", overrides, catalog()); }), c["faults"], "my.json");
}

TEST_P(MalformedText, IsAnsweredWithLineAndColumnOrPointer) {
  const Json& c = GetParam();
  const ScratchFolder folder;
  const auto file = folder / "my.json";
  std::ofstream(file, std::ios::binary) << c["text"].get<std::string>();
  expect_faults(faults_of([&] { load_scenario(file, {}, catalog()); }), c["faults"], file.string());
}

const auto kName = [](const auto& info) { return info.param["name"].template get<std::string>(); };
std::vector<Json> rows(const char* key) { return {table()[key].begin(), table()[key].end()}; }
INSTANTIATE_TEST_SUITE_P(Table, MalformedScenario, testing::ValuesIn(rows("cases")), kName);
INSTANTIATE_TEST_SUITE_P(Table, MalformedText, testing::ValuesIn(rows("texts")), kName);

TEST(MalformedScenarios, AreAtLeastSixty) { EXPECT_GE(table()["cases"].size() + table()["texts"].size(), 60U); }

TEST(MalformedScenarios, BasesAreLegal) {
  for (const auto& [name, base] : table()["bases"].items()) {
    EXPECT_NO_THROW(resolve(base, name, {}, catalog())) << name;
  }
}

TEST(MalformedText, DeepNestingIsRefusedAndNotFollowed) {
  Diagnostics diagnostics("deep.json");
  parse_json(std::string(100000, '['), diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 1U);
  EXPECT_THAT(diagnostics.faults()[0].message, testing::HasSubstr("nested more than 64 deep"));
}

TEST(MalformedText, AMissingFileAndADirectoryAreFaults) {
  const auto missing = faults_of([] { load_scenario("no/such/file.json", {}, catalog()); });
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_THAT(missing[0].text(), testing::HasSubstr("no/such/file.json: cannot be read"));
  const auto folder = faults_of([] { load_scenario(testing::TempDir(), {}, catalog()); });
  ASSERT_EQ(folder.size(), 1U);
  EXPECT_THAT(folder[0].message, testing::HasSubstr("is a directory"));
}

}  // namespace
}  // namespace stepcast::malformed_test
