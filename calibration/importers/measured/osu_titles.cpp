#include "calibration/importers/measured/osu_titles.hpp"

#include <algorithm>
#include <array>

#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

// Names of the tests of single calls, as titles have them without `Latency Test`. OMB-Py leaves out `Latency`.
constexpr std::array kCollectives{
    NamePair{"allreduce", "all_reduce"},
    NamePair{"allgather", "all_gather"},
    NamePair{"reduce_scatter", "reduce_scatter"},
    NamePair{"reduce_scatter_block", "reduce_scatter"},
    NamePair{"all-to-all personalized exchange", "all_to_all"},
    NamePair{"all-to-all", "all_to_all"},
    NamePair{"alltoall", "all_to_all"},
    NamePair{"broadcast", "broadcast"},
    NamePair{"bcast", "broadcast"},
    NamePair{"reduce", "reduce"},
    NamePair{"barrier", "barrier"},
};

constexpr std::string_view kStream = "rates of many messages that are on their way at once, and not the time of one";
constexpr std::string_view kPairs = "times of several pairs that share the links";
constexpr std::string_view kOneSided = "times of one-sided calls, which nothing here predicts";
constexpr std::string_view kOther = "no times of single blocking calls";

/// Takes a word off the end of a text.
bool take_end(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  text.remove_suffix(word.size());
  text = trimmed(text);
  return true;
}

/// `Test v7.3`; `Test (Version 2.2)` of old ones. OMB-Py says none.
void set_test(OsuTitle& title, std::string_view line) {
  constexpr std::string_view kOldVersion = " (Version ";
  const bool old = line.find(kOldVersion) != std::string_view::npos;
  const auto version = old ? line.find(kOldVersion) : line.rfind(" v");
  if (version != std::string_view::npos) title.version = trimmed(line.substr(version + (old ? kOldVersion.size() : 2)));
  if (title.version.ends_with(')')) title.version.remove_suffix(1);
  title.test = trimmed(line.substr(0, version));
}

}  // namespace

OsuTitle osu_title_in(std::string_view line) {
  constexpr std::array<std::string_view, 4> kBegins{"# OSU ", "# OMB-Py ", "# OMB Python ", "# MPI "};
  for (const std::string_view begin : kBegins) {
    const auto at = line.find(begin);
    if (at == std::string_view::npos) continue;
    // mpi4py's begin with the library at once.
    const std::size_t library = at + (begin == kBegins.back() ? 2 : begin.size());
    const std::string_view rest = line.substr(library);
    OsuTitle out;
    out.before = line.substr(0, at);
    // `MPI_Put Latency Test` names a call where the others name the library.
    out.library = rest.substr(0, rest.find_first_of(" -"));
    set_test(out, rest.substr(std::min(rest.find(' '), rest.size())));
    if (out.test.ends_with("Test")) return out;
  }
  return {};
}

OsuTable osu_table_of(const OsuTitle& title) {
  const bool mpi = title.library == "MPI", nccl = title.library.ends_with("CCL");
  const std::string lower = lower_case(title.test);
  std::string_view name = lower;
  OsuTable out;
  out.holds = title.library.starts_with("MPI_") ? kOneSided : kOther;
  if (!take_end(name, "test") || (!mpi && !nccl)) return out;
  if (name.find("bandwidth") != std::string_view::npos) {
    out.holds = kStream;
    return out;
  }
  const bool latency = take_end(name, "latency");
  out.pairs = mpi && latency && name == "multi";
  if (out.pairs) out.holds = kPairs;
  if (mpi && latency && (name.empty() || out.pairs)) out.op = "ping_pong";
  constexpr std::string_view kNonBlocking = "non-blocking ";
  out.non_blocking = name.starts_with(kNonBlocking);
  if (out.non_blocking) name.remove_prefix(kNonBlocking.size());
  for (const NamePair& one : kCollectives)
    if (one.theirs == name) out.op = one.ours;
  return out;
}

}  // namespace stepcast
