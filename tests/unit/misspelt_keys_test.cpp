// One misspelt key is one fault: what lacks because of it, or contradicts the default that stands in, is not reported
// too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fields/json_text.hpp"
#include "models/scenario/scenario.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::misspelt_keys_test {
namespace {

/// Every object of a document, as JSON pointers.
void collect_objects(const Json& value, const std::string& at, std::vector<std::string>& out) {
  if (value.is_object()) {
    out.push_back(at);
    for (const auto& [key, member] : value.items()) collect_objects(member, child_pointer(at, key), out);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) collect_objects(value[i], at + "/" + std::to_string(i), out);
  }
}

/// The object with one key called otherwise, in the order of before.
Json renamed(const Json& object, const std::string& key, const std::string& other) {
  Json out = Json::object();
  for (const auto& [name, value] : object.items()) out[name == key ? other : name] = value;
  return out;
}

std::string without_middle_letter(std::string word) { return word.erase(word.size() / 2, 1); }

/// Misspells every key of a scenario, one at a time; gives how many.
std::size_t misspell_each(const std::filesystem::path& file) {
  const Catalog& catalog = test::catalog();
  Diagnostics diagnostics("my.json");
  const Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  std::vector<std::string> objects;
  collect_objects(document, "", objects);
  constexpr std::size_t kShortest = 4;  // of three letters with one missing, anything might be meant
  std::size_t tried = 0;
  for (const std::string& at : objects) {
    const Json::json_pointer object(at);
    for (const auto& [key, value] : document[object].items()) {
      const std::string wrong = without_middle_letter(key);
      if (key.size() < kShortest || document[object].contains(wrong)) continue;
      Json faulty = document;
      faulty[object] = renamed(document[object], key, wrong);
      ++tried;
      try {
        resolve(faulty, "my.json", {}, catalog);
        ADD_FAILURE() << child_pointer(at, wrong) << " was not noticed";
      } catch (const InputError& error) {
        EXPECT_EQ(error.faults().size(), 1U) << error.what();
        EXPECT_EQ(error.faults()[0].pointer, child_pointer(at, wrong));
        EXPECT_EQ(error.faults()[0].meant, child_pointer(at, key));
      }
    }
  }
  return tried;
}

std::vector<std::filesystem::path> shipped() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios")) {
    if (entry.path().extension() != ".json") continue;
    Diagnostics ignored("");
    if (const Json document = read_json(entry.path(), ignored); document.is_object() && document.contains("cluster"))
      out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(MisspeltKeys, AreOneFaultEachInEveryShippedScenario) {
  for (const std::filesystem::path& file : shipped()) {
    SCOPED_TRACE(file);
    EXPECT_GT(misspell_each(file), 8U);
  }
}

// "nodez" beside "node" stands for nothing that lacks: what is wrong with the node is told at once.
TEST(MisspeltKeys, AKeyBesideTheOneItResemblesHidesNoFaultOfIt) {
  const Json document = {{"cluster", {{"node", "dgx-h10"}, {"nodes", 4}, {"nodez", 3}}},
                         {"workload", {{"model", "gpt3-13b"}, {"global_batch", 64}}}};
  try {
    resolve(document, "my.json", {}, test::catalog());
    ADD_FAILURE() << "was not noticed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("/cluster/nodez: cluster has no key"),
                                             testing::HasSubstr("did you mean \"dgx-h100\"")));
  }
}

/// Keys of every object that a schema describes, wherever it lies.
std::vector<std::string> keys_in(const Json& schema) {
  std::vector<std::string> out;
  if (schema.is_object() && schema.contains("properties") && schema["properties"].is_object())
    for (const auto& [key, value] : schema["properties"].items()) out.push_back(key);
  for (const Json& below : schema)
    if (below.is_structured())
      for (const std::string& key : keys_in(below)) out.push_back(key);
  return out;
}

// Models that are described in the scenario itself have the most keys, any of which one may look up.
TEST(ReferencePage, HasARowForEachKey) {
  const std::string page = scenario_reference();
  std::vector<std::string> rows;
  for (std::size_t at = page.find("\n| `"); at != std::string::npos; at = page.find("\n| `", at + 1))
    rows.push_back(page.substr(at + 4, page.find('`', at + 4) - at - 4));
  EXPECT_THAT(rows, testing::IsSupersetOf({"gated_mlp", "out_channels", "shared_expert_ffn", "global_batch"}));
  std::vector<std::string> keys = keys_in(scenario_schema());
  std::ranges::sort(rows);
  std::ranges::sort(keys);
  EXPECT_EQ(rows, keys);
}

}  // namespace
}  // namespace stepcast::misspelt_keys_test
