#include "calibration/collectives/library_text.hpp"

#include <regex>

#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// By the version behind Open MPI's name: "Open MPI v4.1.4", "openmpi-5".
HostLibrary stated_open_mpi(const std::string& text) {
  static const std::regex kVersion(R"((?:open[\s_-]?mpi|\bompi)[^\d,;]{0,4}(\d{1,3})(?:\.(\d{1,3}))?)",
                                   std::regex::icase);
  std::smatch match;
  if (!std::regex_search(text, match, kVersion)) return kDefaultHostLibrary;
  return open_mpi_of(std::stoi(match[1]), match[2].matched ? std::optional(std::stoi(match[2])) : std::nullopt);
}

/// MPICH itself from version 4 on, or without a version; not what vendors build on it, whose rules are their own.
bool is_mpich_of_known_rules(const std::string& text) {
  static const std::regex kMpich(R"(^\s*mpich(?:[\s/v-]*(\d{1,3}))?(?![a-z]))", std::regex::icase);
  std::smatch match;
  if (!std::regex_search(text, match, kMpich)) return false;
  return !match[1].matched || !host_library_named("mpich-" + match[1].str())->own_rules_unknown;
}

}  // namespace

std::optional<HostLibrary> stated_host_library(const std::string& text) {
  const std::string word = squashed(text);
  if (contains(word, "gloo")) return HostLibrary::gloo;
  if (is_mpich_of_known_rules(text)) return HostLibrary::mpich;
  if (!contains(word, "openmpi") && !word.starts_with("ompi")) return std::nullopt;
  return stated_open_mpi(text);
}

}  // namespace stepcast
