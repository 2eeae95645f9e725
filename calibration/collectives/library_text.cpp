#include "calibration/collectives/library_text.hpp"

#include <regex>
#include <utility>

#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Major and minor version behind Open MPI's name: "Open MPI v4.1.4", "openmpi-5".
std::pair<int, int> open_mpi_version(const std::string& text) {
  static const std::regex kVersion(R"((?:open[\s_-]?mpi|\bompi)[^\d,;]{0,4}(\d{1,3})(?:\.(\d{1,3}))?)",
                                   std::regex::icase);
  std::smatch match;
  if (!std::regex_search(text, match, kVersion)) return {0, 0};
  return {std::stoi(match[1]), match[2].matched ? std::stoi(match[2]) : 0};
}

}  // namespace

std::optional<HostLibrary> stated_host_library(const std::string& text) {
  const std::string word = squashed(text);
  if (contains(word, "gloo")) return HostLibrary::gloo;
  if (!contains(word, "openmpi") && !word.starts_with("ompi")) return std::nullopt;
  constexpr std::pair kOtherRules{4, 1};
  return open_mpi_version(text) >= kOtherRules ? HostLibrary::open_mpi_4_1 : HostLibrary::open_mpi;
}

}  // namespace stepcast
