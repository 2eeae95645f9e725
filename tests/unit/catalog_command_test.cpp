#include "cli/catalog_command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::catalog_command_test {
namespace {

using test::catalog;

TEST(CatalogCommand, ListsAnAlignedTable) {
  const std::string text = catalog_list(catalog(), "psus", false);
  const auto header = text.substr(0, text.find('\n'));
  EXPECT_EQ(header.find("level"), text.find("Gold") - text.rfind('\n', text.find("Gold")) - 1);
  EXPECT_NE(catalog_list(catalog(), "nodes", false).find("$260 a month"), std::string::npos);
  EXPECT_EQ(Json::parse(catalog_list(catalog(), "nodes", true)).size(), catalog().ids("nodes").size());
  EXPECT_EQ(Json::parse(catalog_list(catalog(), std::nullopt, true)).size(), Catalog::kinds().size());
  for (const std::string& kind : Catalog::kinds())
    EXPECT_NE(catalog_list(catalog(), std::nullopt, false).find(kind), std::string::npos);
  EXPECT_THROW(catalog_list(catalog(), "node", false), InputError);
}

TEST(CatalogCommand, ShowsEveryFigureWithUnitEvidenceAndSource) {
  const std::string card = catalog_show(catalog(), "h100-sxm-80gb", std::nullopt, false);
  EXPECT_TRUE(std::regex_search(card, std::regex("memory visible +81,559 MiB +measured +\\[\\d+\\]"))) << card;
  EXPECT_TRUE(std::regex_search(card, std::regex("bf16 +989.4 TFLOPS"))) << card;
  EXPECT_TRUE(std::regex_search(card, std::regex("year +2022 "))) << card;
  EXPECT_NE(card.find("[1] NVIDIA H100 datasheet"), std::string::npos) << card;
  const std::string node = catalog_show(catalog(), "dgx-h100", std::nullopt, false);
  EXPECT_TRUE(std::regex_search(node, std::regex("device +\\S+ +estimated +\\[\\d+\\]"))) << node;
  EXPECT_EQ(Json::parse(catalog_show(catalog(), "t4", std::nullopt, true)), catalog().show("accelerators", "t4"));
}

TEST(CatalogCommand, ShowsTheKindAskedForWhereSeveralHaveTheId) {
  const std::string node = catalog_show(catalog(), "frontier", std::nullopt, false);
  EXPECT_TRUE(node.starts_with("frontier (nodes)")) << node;
  EXPECT_NE(node.find("Also in cooling"), std::string::npos) << node;
  EXPECT_TRUE(catalog_show(catalog(), "frontier", "cooling", false).starts_with("frontier (cooling)"));
  try {
    catalog_show(catalog(), "dgx-a100-80", std::nullopt, false);
    FAIL() << "an unknown id was shown";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "no \"dgx-a100-80\" in the catalogue; did you mean \"dgx-a100-80gb\"?");
  }
}

TEST(CatalogCommand, ValidatesFilesOrEverything) {
  const CatalogCheck all = catalog_validate(catalog(), {}, false);
  EXPECT_TRUE(all.ok) << all.text;
  EXPECT_NE(all.text.find(" 0 faults"), std::string::npos);
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "psus");
  write_file(folder / "psus" / "mine.json", "{}");
  const CatalogCheck bad = catalog_validate(catalog(), {folder / "psus" / "mine.json"}, true);
  EXPECT_FALSE(bad.ok);
  const Json document = Json::parse(bad.text);
  EXPECT_EQ(document["entries"], 1);
  EXPECT_EQ(document["faults"][0]["pointer"], "/id");
  const CatalogCheck below = catalog_validate(catalog(), {folder.path()}, true);
  EXPECT_EQ(Json::parse(below.text)["faults"], document["faults"]);
  const CatalogCheck none = catalog_validate(catalog(), {"/no/such/file.json"}, false);
  EXPECT_NE(none.text.find("there is no such file"), std::string::npos) << none.text;
}

}  // namespace
}  // namespace stepcast::catalog_command_test
