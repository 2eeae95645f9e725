// Rows of probes' results: one mistake is one fault.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/results/probe_results.hpp"
#include "fields/streamed_file.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/unit/probe_file.hpp"

namespace stepcast::probe_rows_test {
namespace {

const Json kRow{{"kind", "collective"}, {"op", "all_reduce"},     {"size_bytes", 1024},         {"ranks", 8},
                {"nodes", 1},           {"ranks_per_node", 8},    {"in_place", true},           {"algorithm", "auto"},
                {"protocol", "auto"},   {"data_type", "float32"}, {"samples_us", {10.0, 11.0}}, {"checked", true}};

std::vector<Fault> faults_of(const Json& row) {
  const ScratchFolder folder;
  const std::string file = (folder / "rows.json").string();
  write_file(file, test::probe_file(Json::array({row}), "a.json").document.dump());
  try {
    read_probe_results(file);
  } catch (const InputError& error) {
    return error.faults();
  }
  return {};
}

TEST(ProbeRows, AMisspeltKeyIsOneFault) {
  EXPECT_EQ(faults_of(kRow).size(), 0U);
  constexpr std::size_t kShortest = 4;
  for (const auto& [key, value] : kRow.items()) {
    if (key.size() < kShortest) continue;
    Json row = kRow;
    row.erase(key);
    row[std::string(key).erase(key.size() / 2, 1)] = value;
    const std::vector<Fault> faults = faults_of(row);
    ASSERT_EQ(faults.size(), 1U) << key;
    EXPECT_EQ(faults[0].suggestion, fmt::format("did you mean \"{}\"?", key));
    row.erase(std::string(key).erase(key.size() / 2, 1));
    ASSERT_EQ(faults_of(row).size(), 1U) << key;
    EXPECT_THAT(faults_of(row)[0].message, testing::HasSubstr("missing")) << key;
  }
}

}  // namespace
}  // namespace stepcast::probe_rows_test
