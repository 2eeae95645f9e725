#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/importers/log_prefix.hpp"
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
  // `… Test v7.3`; `… Test (Version 2.2)` of old ones.
  constexpr std::string_view kOldVersion = " (Version ";
  const bool old = line.find(kOldVersion) != std::string_view::npos;
  const auto version = old ? line.find(kOldVersion) : line.rfind(" v");
  if (version != std::string_view::npos) out.version = trimmed(line.substr(version + (old ? kOldVersion.size() : 2)));
  if (out.version.ends_with(')')) out.version.remove_suffix(1);
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

/// Tables of OSU's programs, each below its title.
class OsuTables {
 public:
  OsuTables(const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics) {}

  /// False where reading on makes no sense.
  bool line(std::string_view text, std::size_t number) {
    at_ = fmt::format("line {}", number);
    const auto mark = text.find("# OSU ");
    if (mark != std::string_view::npos) prefix_.learn(text.substr(0, mark));
    const std::string_view line = prefix_.strip(text);
    if (line.starts_with("#")) return comment(line);
    const std::vector<std::string_view> words = words_of(line);
    if (op_.empty() || words.empty() || !number_of(words[0])) return true;
    return row(words, line);
  }

  void finish() {
    if (!diagnostics_.ok()) return;
    const std::string left_out =
        skipped_.empty() ? "" : fmt::format("{} holds no times of single blocking calls", shown(skipped_));
    if (rows_ > 0 && !skipped_.empty()) results_.warn(left_out + " and was left out");
    if (rows_ > 0) return;
    if (skipped_.empty()) return diagnostics_.error("", "no table of an OSU micro-benchmark in it");
    diagnostics_.error(skipped_at_, left_out,
                       "osu_latency, osu_allreduce, osu_allgather, osu_reduce_scatter, osu_alltoall, osu_bcast, "
                       "osu_reduce and osu_barrier do");
  }

 private:
  bool comment(std::string_view line) {
    if (line.starts_with(kDatatype) && !op_.empty()) return take_type(line);
    const OsuTitle found = title_in(line);
    const bool collectives = found.library.starts_with("MPI") || found.library.ends_with("CCL");
    if (!collectives) return true;
    type_.clear();
    // Variants have a name of their own, as MPIX; devices' (MPI-CUDA) measure the same.
    op_ = found.library == "MPI" || found.library.ends_with("CCL") ? osu_operation(found.test) : "";
    if (op_ == "ping_pong" && found.library != "MPI") op_.clear();
    if (op_.empty() && skipped_.empty()) {
      skipped_ = line;
      skipped_at_ = at_;
    }
    if (!op_.empty() && !found.version.empty()) results_.version("osu", std::string(found.version));
    return true;
  }

  bool take_type(std::string_view line) {
    const std::string_view name = trimmed(line.substr(kDatatype.size(), line.find('.') - kDatatype.size()));
    const auto known =
        std::find_if(kOsuTypes.begin(), kOsuTypes.end(), [&](const NamePair& one) { return one.theirs == name; });
    if (known != kOsuTypes.end()) return type_ = known->ours, true;
    diagnostics_.error(at_, fmt::format("found the type {}, expected MPI_CHAR, MPI_INT or MPI_FLOAT", shown(name)));
    return false;
  }

  bool row(const std::vector<std::string_view>& words, std::string_view line) {
    const bool barrier = op_ == "barrier";
    const auto size = barrier ? std::optional<double>(0) : number_of(words[0]);
    const auto time = number_of(words[barrier || words.size() < 2 ? 0 : 1]);
    if ((words.size() < 2 && !barrier) || !time || *time <= 0 || *time > kLongestTime_us || *size < 0 ||
        *size > kLargestBuffer) {
      diagnostics_.error(at_, fmt::format("found {}, expected a size and a time above 0", shown(line)));
      return true;
    }
    if (std::find(words.begin(), words.end(), "Fail") != words.end()) {
      diagnostics_.error(at_, fmt::format("found {}: wrong data came out, so its time means nothing", shown(line)),
                         "find the fault before measuring");
      return false;
    }
    const MeasuredPlaces places = op_ != "ping_pong"     ? places_of({}, hints_, "", diagnostics_)
                                  : hints_.per_node == 2 ? MeasuredPlaces{2, 1, 2}
                                                         : MeasuredPlaces{2, 2, 1};
    if (places.ranks < 1) return false;
    results_.add(osu_row(op_, *size, *time, type_, places));
    ++rows_;
    return true;
  }

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  LogPrefix prefix_;
  std::string at_;
  std::string op_, type_;             ///< of the table being read; no operation: it is left out
  std::string skipped_, skipped_at_;  ///< the first title that was left out
  std::size_t rows_ = 0;
};

}  // namespace

void read_osu(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
              Diagnostics& diagnostics) {
  OsuTables tables(hints, results, diagnostics);
  const std::string plain = without_escapes(text);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(plain))
    if (!tables.line(line, ++number)) return;
  tables.finish();
}

}  // namespace stepcast
