#include "calibration/fit/cluster/findings.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "calibration/profile/calibration_report.hpp"
#include "tests/unit/probe_file.hpp"

namespace stepcast::findings_test {
namespace {

using test::probe_file;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json message(const char* from, const char* to, double us) {
  return {{"kind", "ping_pong"},    {"size_bytes", 1048576}, {"nodes", 2},     {"from", from}, {"to", to},
          {"direction", "one_way"}, {"samples_us", {us}},    {"checked", true}};
}

TEST(Findings, NameWhatIsWrong) {
  CalibrationProfile profile;
  Json rows = Json::array();
  for (const char* from : {"a", "b", "c", "d"})
    for (const char* to : {"a", "b", "c", "d"})
      if (std::string(from) != to) rows.push_back(message(from, to, *from == 'd' || *to == 'd' ? 300 : 100));
  rows.push_back(message("e", "a", 100));
  rows.push_back(message("a", "e", 160));
  for (const auto& [device, part, us] : {std::tuple("gpu0", "numa0", 1000.0), std::tuple("gpu0", "numa1", 2000.0),
                                         std::tuple("gpu1", "numa0", 1000.0), std::tuple("gpu1", "numa1", 1000.0)})
    rows.push_back({{"kind", "copy"},
                    {"op", "host_to_device"},
                    {"size_bytes", 16777216},
                    {"from", part},
                    {"to", device},
                    {"samples_us", {us}},
                    {"checked", false}});
  add_file_findings(profile, {probe_file(rows, "a.json", {{"variables", {{"NCCL_IB_DISABLE", "1"}}}})});
  EXPECT_THAT(profile.findings, Contains(HasSubstr("d is slow")));
  EXPECT_THAT(profile.findings, Contains(HasSubstr("asymmetric link")));
  EXPECT_THAT(profile.findings, Contains(HasSubstr("wrong NUMA binding")));
  EXPECT_THAT(profile.findings, Contains(HasSubstr("protocol or path disabled: InfiniBand")));
  const std::string page = calibration_html(profile);
  for (const char* words : {"d is slow", "asymmetric link", "wrong NUMA binding", "protocol or path disabled"})
    EXPECT_THAT(page, HasSubstr(words));
}

/// Findings about messages between all ends, at rates by their indices.
std::vector<std::string> findings_of(const std::vector<std::string>& ends,
                                     const std::function<double(std::size_t, std::size_t)>& GBps) {
  Json rows = Json::array();
  for (std::size_t from = 0; from < ends.size(); ++from)
    for (std::size_t to = 0; to < ends.size(); ++to) {
      if (from == to) continue;
      Json row = message(ends[from].c_str(), ends[to].c_str(), 1048576 / GBps(from, to) / 1e3);
      row["nodes"] = ends[from].substr(0, 2) == ends[to].substr(0, 2) ? 1 : 2;
      rows.push_back(std::move(row));
    }
  CalibrationProfile profile;
  add_file_findings(profile, {probe_file(rows, "a.json")});
  return profile.findings;
}

TEST(Findings, NameTheSlowHostAmongFew) {
  for (const std::size_t hosts : {3U, 4U}) {
    std::vector<std::string> ends;
    for (std::size_t i = 0; i < hosts; ++i) ends.push_back("h" + std::to_string(i));
    const auto found = findings_of(ends, [](auto a, auto b) { return a == 2 || b == 2 ? 6.0 : 12.0; });
    ASSERT_EQ(found.size(), 1U) << hosts;
    EXPECT_THAT(found.front(),
                HasSubstr("h2 is slow: no message to or from it between nodes passes 6 GB/s, others reach 12"));
  }
}

TEST(Findings, NameASlowLinkOfADeviceOnceAndApartFromTheNetwork) {
  std::vector<std::string> ends;
  for (const char* host : {"h0", "h1"})
    for (int gpu = 0; gpu < 8; ++gpu) ends.push_back(fmt::format("{}:gpu{}", host, gpu));
  const auto rate = [](auto a, auto b) { return a / 8 == b / 8 ? 300.0 : 45.0; };
  EXPECT_THAT(findings_of(ends, rate), IsEmpty());
  const auto links = findings_of(
      ends, [&](auto a, auto b) { return rate(a, b) * (a / 8 == b / 8 && (a == 5 || b == 5) ? 0.2 : 1.0); });
  ASSERT_EQ(links.size(), 1U);
  EXPECT_THAT(links.front(), HasSubstr("h0:gpu5 is slow: no message to or from it inside its node passes 60 GB/s"));
  const auto nic = findings_of(
      ends, [&](auto a, auto b) { return rate(a, b) * (a / 8 != b / 8 && (a == 3 || b == 3) ? 0.5 : 1.0); });
  ASSERT_EQ(nic.size(), 1U);
  EXPECT_THAT(nic.front(),
              HasSubstr("h0:gpu3 is slow: no message to or from it between nodes passes 22.5 GB/s, others reach 45"));
}

/// A row of a message of 8 us and 45 GB/s, or a share of it.
Json sized_message(const std::string& from, const std::string& to, double size, double share = 1) {
  Json row = message(from.c_str(), to.c_str(), 8 + size / 45e3 / share);
  row["size_bytes"] = size;
  return row;
}

TEST(Findings, ComparePairsAtEqualSizes) {
  const auto findings = [](double share_of_m1) {
    CalibrationProfile profile;
    std::vector<ProbeResults> files;
    for (const auto& [host, largest] : {std::pair("n", 1 << 26), {"m", 1 << 18}}) {
      Json rows = Json::array();
      for (int from = 0; from < 3; ++from)
        for (int to = 0; to < 3; ++to)
          for (const int size : {4096, largest})
            if (from != to)
              rows.push_back(sized_message(fmt::format("{}{}", host, from), fmt::format("{}{}", host, to), size,
                                           *host == 'm' && (from == 1 || to == 1) ? share_of_m1 : 1));
      files.push_back(probe_file(std::move(rows), fmt::format("{}.json", host)));
    }
    add_file_findings(profile, files);
    return profile.findings;
  };
  EXPECT_THAT(findings(1), IsEmpty());
  EXPECT_THAT(findings(0.3), ElementsAre(HasSubstr("m1 is slow: no message to or from it between nodes")));
}

TEST(Findings, CompareDirectionsAndCopiesAtEqualSizes) {
  CalibrationProfile profile;
  const auto copy = [](const char* device, double size, bool pinned, double GBps) -> Json {
    return {{"kind", "copy"},
            {"op", "host_to_device"},
            {"size_bytes", size},
            {"from", "numa0"},
            {"to", device},
            {"pinned", pinned},
            {"samples_us", {10 + size / GBps / 1e3}},
            {"checked", false}};
  };
  const ProbeResults ways = probe_file(
      {sized_message("n0", "n1", 1 << 26), sized_message("n0", "n1", 1 << 18), sized_message("n1", "n0", 1 << 18)},
      "a.json");
  const ProbeResults copies = probe_file({copy("gpu0", 1 << 28, true, 50), copy("gpu0", 1 << 16, true, 50),
                                          copy("gpu1", 1 << 16, true, 50), copy("gpu1", 1 << 28, false, 10)},
                                         "a.json");
  add_file_findings(profile, {ways, copies});
  EXPECT_THAT(profile.findings, IsEmpty());
}

TEST(Findings, DevicesOfSeveralHostsAreToldApart) {
  CalibrationProfile profile;
  std::vector<ProbeResults> files;
  for (const char* name : {"a.json", "b.json"}) {
    Json rows = Json::array();
    for (const char* device : {"gpu0", "gpu1"})
      rows.push_back({{"kind", "copy"},
                      {"op", "host_to_device"},
                      {"size_bytes", 1 << 28},
                      {"from", "numa0"},
                      {"to", device},
                      {"samples_us", {*name == 'a' && device == std::string("gpu1") ? 20000.0 : 5000.0}},
                      {"checked", false}});
    files.push_back(probe_file(std::move(rows), name));
  }
  add_file_findings(profile, files);
  EXPECT_THAT(profile.findings, ElementsAre(HasSubstr("a:gpu1 is written at 13.4 GB/s, other devices at 53.7")));
}

}  // namespace
}  // namespace stepcast::findings_test
