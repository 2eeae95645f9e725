#include <fmt/format.h>

#include <array>

#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

// Titles of OSU's programs, as their first line has them.
constexpr std::array kOsuTitles{
    NamePair{"Allreduce Latency", "all_reduce"},
    NamePair{"Allgather Latency", "all_gather"},
    NamePair{"Reduce_scatter Latency", "reduce_scatter"},
    NamePair{"All-to-All Personalized Exchange Latency", "all_to_all"},
    NamePair{"Alltoall Latency", "all_to_all"},
    NamePair{"Broadcast Latency", "broadcast"},
    NamePair{"Bcast Latency", "broadcast"},
    NamePair{"Reduce Latency", "reduce"},
    NamePair{"Barrier Latency", "barrier"},
    NamePair{"Latency Test", "ping_pong"},
};

/// What one of OSU's programs measured, by its title; empty when it holds no such times.
std::string osu_operation(std::string_view title) {
  for (const NamePair& one : kOsuTitles)
    if (title.find(one.theirs) != std::string_view::npos) return std::string(one.ours);
  return {};
}

Json osu_row(const std::string& op, double size, double time, const MeasuredPlaces& places) {
  if (op != "ping_pong") {
    const bool shares = op == "all_gather" || op == "reduce_scatter" || op == "all_to_all";
    Json out = collective_row(op, shares ? size * places.ranks : size, places, false,
                              op == "all_reduce" || op.starts_with("reduce") ? "float32" : "int8", {time});
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
  std::string op;
  bool title = false;
  std::size_t number = 0, rows = 0;
  for (const std::string_view raw : lines_of(text)) {
    ++number;
    const std::string_view line = trimmed(raw);
    const std::string at = fmt::format("line {}", number);
    if (line.starts_with("#")) {
      if (line.find("OSU MPI") == std::string_view::npos) continue;
      title = true;
      op = osu_operation(line);
      if (op.empty())
        return diagnostics.error(at, fmt::format("{} holds no times of single calls", shown(line)),
                                 "osu_latency and the latency tests of collectives do");
      if (const auto version = line.find(" v"); version != std::string_view::npos)
        results.version("osu", std::string(trimmed(line.substr(version + 2))));
      continue;
    }
    const std::vector<std::string_view> words = words_of(line);
    if (!title || words.empty() || !number_of(words[0])) continue;
    const bool barrier = op == "barrier";
    const auto size = barrier ? std::optional<double>(0) : number_of(words[0]);
    const auto time = number_of(words[barrier || words.size() < 2 ? 0 : 1]);
    if ((words.size() < 2 && !barrier) || !time || *time <= 0 || *size < 0 || *size > kLargestBuffer) {
      diagnostics.error(at, fmt::format("found {}, expected a size and a time above 0", shown(line)));
      continue;
    }
    MeasuredPlaces places = places_of({}, hints);
    if (op == "ping_pong") {
      places = {2, hints.per_node == 2 ? 1 : 2, hints.per_node == 2 ? 2 : 1};
    } else if (!sound(places, diagnostics)) {
      return;
    }
    results.add(osu_row(op, *size, *time, places));
    ++rows;
  }
  if (rows == 0 && diagnostics.ok()) diagnostics.error("", "no table of an OSU micro-benchmark in it");
}

}  // namespace stepcast
