#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

// Titles of OSU's blocking tests, as their first line has them; all else (non-blocking, one-sided, several pairs,
// vectors) measures something else.
constexpr std::array kOsuTitles{
    NamePair{"Allreduce Latency Test", "all_reduce"},
    NamePair{"Allgather Latency Test", "all_gather"},
    NamePair{"Reduce_scatter Latency Test", "reduce_scatter"},
    NamePair{"Reduce_scatter_block Latency Test", "reduce_scatter"},
    NamePair{"All-to-All Personalized Exchange Latency Test", "all_to_all"},
    NamePair{"Alltoall Latency Test", "all_to_all"},
    NamePair{"Broadcast Latency Test", "broadcast"},
    NamePair{"Bcast Latency Test", "broadcast"},
    NamePair{"Reduce Latency Test", "reduce"},
    NamePair{"Barrier Latency Test", "barrier"},
    NamePair{"Latency Test", "ping_pong"},
};

// What `# Datatype: MPI_CHAR.` names, from version 7 on.
constexpr std::array kOsuTypes{NamePair{"MPI_CHAR", "int8"},     NamePair{"MPI_INT", "int32"},
                               NamePair{"MPI_FLOAT", "float32"}, NamePair{"ncclChar", "int8"},
                               NamePair{"ncclInt", "int32"},     NamePair{"ncclFloat", "float32"}};
constexpr std::string_view kDatatype = "# Datatype:";

/// `# OSU MPI-CUDA Allreduce Latency Test v7.3`, taken apart.
struct OsuTitle {
  std::string_view library, test, version;
};

OsuTitle title_in(std::string_view line) {
  constexpr std::string_view kBegin = "OSU ";
  const auto begin = line.find(kBegin);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + kBegin.size());
  OsuTitle out;
  out.library = line.substr(0, line.find_first_of(" -"));
  line = line.substr(std::min(line.find(' '), line.size()));
  const auto version = line.rfind(" v");
  if (version != std::string_view::npos) out.version = trimmed(line.substr(version + 2));
  out.test = trimmed(line.substr(0, version));
  return out;
}

/// What one of OSU's programs measured, by its title; empty when it holds no such times.
std::string osu_operation(std::string_view title) {
  for (const NamePair& one : kOsuTitles)
    if (title == one.theirs) return std::string(one.ours);
  return {};
}

/// The type of a table's elements: what it says, else the default of the versions that do not say it.
std::string type_of_elements(const std::string& stated, const std::string& op) {
  if (!stated.empty()) return stated;
  return op == "all_reduce" || op.starts_with("reduce") ? "float32" : "int8";
}

Json osu_row(const std::string& op, double size, double time, const std::string& type, const MeasuredPlaces& places) {
  if (op != "ping_pong") {
    // osu_reduce_scatter counts the whole buffer (recvcounts are size / numprocs), the others what each rank sends.
    const bool shares = op == "all_gather" || op == "all_to_all";
    Json out =
        collective_row(op, shares ? size * places.ranks : size, places, false, type_of_elements(type, op), {time});
    out["across_ranks"] = "mean";
    return out;
  }
  return {{"kind", "ping_pong"},   {"size_bytes", static_cast<std::int64_t>(size)},
          {"nodes", places.nodes}, {"transport", "mpi"},
          {"samples_us", {time}},  {"checked", false}};
}

}  // namespace

void read_osu(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
              Diagnostics& diagnostics) {
  std::string op, type;
  bool title = false;
  std::size_t number = 0, rows = 0;
  for (const std::string_view raw : lines_of(text)) {
    ++number;
    const std::string_view line = without_rank_label(trimmed(raw));
    const std::string at = fmt::format("line {}", number);
    if (line.starts_with("#")) {
      if (line.starts_with(kDatatype) && title) {
        const std::string_view name = trimmed(line.substr(kDatatype.size(), line.find('.') - kDatatype.size()));
        const auto known =
            std::find_if(kOsuTypes.begin(), kOsuTypes.end(), [&](const NamePair& one) { return one.theirs == name; });
        if (known == kOsuTypes.end())
          return diagnostics.error(
              at, fmt::format("found the type {}, expected MPI_CHAR, MPI_INT or MPI_FLOAT", shown(name)));
        type = known->ours;
        continue;
      }
      const OsuTitle found = title_in(line);
      if (!found.library.starts_with("MPI") && found.library != "NCCL") continue;
      title = true;
      type.clear();
      op = found.library == "MPI" || found.library == "NCCL" ? osu_operation(found.test) : "";
      if (op.empty() || (op == "ping_pong" && found.library != "MPI"))
        return diagnostics.error(at, fmt::format("{} holds no times of single blocking calls", shown(line)),
                                 "osu_latency, osu_allreduce, osu_allgather, osu_reduce_scatter, osu_alltoall, "
                                 "osu_bcast, osu_reduce and osu_barrier do");
      if (!found.version.empty()) results.version("osu", std::string(found.version));
      continue;
    }
    const std::vector<std::string_view> words = words_of(line);
    if (!title || words.empty() || !number_of(words[0])) continue;
    const bool barrier = op == "barrier";
    const auto size = barrier ? std::optional<double>(0) : number_of(words[0]);
    const auto time = number_of(words[barrier || words.size() < 2 ? 0 : 1]);
    if ((words.size() < 2 && !barrier) || !time || *time <= 0 || *time > kLongestTime_us || *size < 0 ||
        *size > kLargestBuffer) {
      diagnostics.error(at, fmt::format("found {}, expected a size and a time above 0", shown(line)));
      continue;
    }
    if (std::find(words.begin(), words.end(), "Fail") != words.end())
      return diagnostics.error(at, fmt::format("found {}: wrong data came out, so its time means nothing", shown(line)),
                               "find the fault before measuring");
    const MeasuredPlaces places = op != "ping_pong"     ? places_of({}, hints, "", diagnostics)
                                  : hints.per_node == 2 ? MeasuredPlaces{2, 1, 2}
                                                        : MeasuredPlaces{2, 2, 1};
    if (places.ranks < 1) return;
    results.add(osu_row(op, *size, *time, type, places));
    ++rows;
  }
  if (rows == 0 && diagnostics.ok()) diagnostics.error("", "no table of an OSU micro-benchmark in it");
}

}  // namespace stepcast
