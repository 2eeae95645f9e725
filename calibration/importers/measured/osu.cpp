#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "calibration/importers/log_prefix.hpp"
#include "calibration/importers/measured/left_out_tables.hpp"
#include "calibration/importers/measured/osu_titles.hpp"
#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/measured/table_lines.hpp"

namespace stepcast {

namespace {

// What `# Datatype: MPI_CHAR.` names, from version 7 on.
constexpr std::array kOsuTypes{NamePair{"MPI_CHAR", "int8"},     NamePair{"MPI_INT", "int32"},
                               NamePair{"MPI_FLOAT", "float32"}, NamePair{"ncclChar", "int8"},
                               NamePair{"ncclInt", "int32"},     NamePair{"ncclFloat", "float32"}};
constexpr std::string_view kDatatype = "# Datatype:", kPureTime = "Pure Comm.(us)";

/// The type of a table's elements: what it says, else the default of the versions that do not say it.
std::string type_of_elements(const std::string& stated, const std::string& op) {
  if (!stated.empty()) return stated;
  return op == "all_reduce" || op.starts_with("reduce") ? "float32" : "int8";
}

/// Columns of a table, by their places among the words of a row.
struct OsuColumns {
  std::optional<std::size_t> time, calls;
  std::size_t decimals = 0;  ///< of the times of the rows before
};

/// Place of a column: every one before it but that of sizes ends with its unit in brackets.
std::optional<std::size_t> place_of(std::string_view header, std::string_view name, bool sizes) {
  const auto at = header.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = header.substr(0, at);
  const auto units = std::count(before.begin(), before.end(), ')');
  // `Size (B)` of OMB-Py.
  const bool bytes = before.find("(B)") != std::string_view::npos;
  return static_cast<std::size_t>(units) + (sizes && !bytes ? 1 : 0);
}

/// Tables of OSU's programs, each below its title.
class OsuTables {
 public:
  OsuTables(const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics) {}

  /// False where reading on makes no sense.
  bool line(std::string_view text, std::size_t number) {
    at_ = fmt::format("line {}", number);
    if (const OsuTitle title = osu_title_in(text); !title.test.empty()) {
      prefix_.learn(title.before);
      take_title(title, prefix_.strip(text));
      return true;
    }
    const std::string_view line = prefix_.strip(text);
    // The header of osu_ibarrier stands there without its #.
    if (line.starts_with("#") || line.find(kPureTime) != std::string_view::npos) return comment(line);
    const std::vector<std::string_view> words = words_of(line);
    if (table_.op.empty() || words.empty() || !number_of(words[0]) || is_prose(words)) return true;
    return row(words, line);
  }

  void finish() {
    if (diagnostics_.ok())
      left_out_.report(rows_, "an OSU micro-benchmark",
                       "osu_latency, osu_allreduce, osu_allgather, osu_reduce_scatter, osu_alltoall, osu_bcast, "
                       "osu_reduce, osu_barrier and their non-blocking kin hold such times",
                       results_, diagnostics_);
  }

 private:
  void take_title(const OsuTitle& title, std::string_view line) {
    type_.clear();
    columns_ = {};
    table_ = osu_table_of(title);
    if (table_.pairs && hints_.ranks == 2) table_.pairs = false;
    if (table_.pairs) table_.op.clear();
    if (table_.op.empty()) {
      std::string words = fmt::format("{} holds {}", shown(line), table_.holds);
      if (table_.pairs) words += " (--ranks 2 says that there is but one)";
      left_out_.add(std::move(words), at_);
    } else if (!title.version.empty()) {
      results_.version("osu", std::string(title.version));
    }
    if (!table_.non_blocking) columns_.time = table_.op == "barrier" ? 0 : 1;
  }

  bool comment(std::string_view line) {
    if (table_.op.empty()) return true;
    if (line.starts_with(kDatatype)) return take_type(line);
    if (line.find("Buffer on") != std::string_view::npos) return take_memory(line);
    if (line.find("(us)") == std::string_view::npos) return true;
    const bool sizes = table_.op != "barrier";
    if (table_.non_blocking) columns_.time = place_of(line, kPureTime, sizes);
    columns_.calls = place_of(line, "Iterations", sizes);
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

  /// `# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)`: messages of the two kinds of memory would be taken
  /// for equal ones.
  bool take_memory(std::string_view line) {
    if (memory_.empty()) memory_ = line;
    if (memory_ == line) return true;
    diagnostics_.error(at_, fmt::format("found {} after {}", shown(line), shown(memory_)),
                       "import tables of each kind of memory by themselves");
    return false;
  }

  /// A number in a column; nothing where the row ends before it, or something else stands there.
  static std::optional<double> cell(const std::vector<std::string_view>& words, std::optional<std::size_t> column) {
    return column && *column < words.size() ? number_of(words[*column]) : std::nullopt;
  }

  bool row(const std::vector<std::string_view>& words, std::string_view line) {
    if (!columns_.time) {
      diagnostics_.error(at_, fmt::format("found {} below no column \"{}\"", shown(line), kPureTime));
      return false;
    }
    const bool sizes = table_.op != "barrier";
    const auto size = sizes ? number_of(words[0]) : 0;
    const auto time = cell(words, columns_.time), calls = cell(words, columns_.calls);
    if (!time || *time <= 0 || *time > kLongestTime_us || *size < 0 || *size > kLargestBuffer ||
        (columns_.calls && !calls)) {
      diagnostics_.error(at_, fmt::format("found {}, expected {}a time above 0{}", shown(line),
                                          sizes ? "a size and " : "", columns_.calls ? " and all columns" : ""));
      return false;
    }
    const std::size_t decimals = decimals_of(words[*columns_.time]);
    if (decimals < columns_.decimals) {
      diagnostics_.error(
          at_, fmt::format("found {}, a time of fewer digits than those above it: the row is cut", shown(line)));
      return false;
    }
    columns_.decimals = decimals;
    if (std::find(words.begin(), words.end(), "Fail") != words.end()) {
      diagnostics_.error(at_, fmt::format("found {}: wrong data came out, so its time means nothing", shown(line)),
                         "find the fault before measuring");
      return false;
    }
    const MeasuredPlaces places = table_.op != "ping_pong" ? places_of({}, hints_, "", diagnostics_)
                                  : hints_.per_node >= 2   ? MeasuredPlaces{2, 1, 2}
                                                           : MeasuredPlaces{2, 2, 1};
    if (table_.op == "ping_pong" && hints_.per_node == 0) assume_two_nodes();
    if (places.ranks < 1) return false;
    Json out = table_.op == "ping_pong" ? ping_pong_row(*size, places.nodes, *time) : collective(*size, *time, places);
    out["checked"] = std::find(words.begin(), words.end(), "Pass") != words.end();
    if (calls && *calls >= 1 && *calls <= kMostCalls) out["calls_per_sample"] = static_cast<std::int64_t>(*calls);
    add(std::move(out));
    return true;
  }

  Json collective(double size, double time, const MeasuredPlaces& places) const {
    // osu_reduce_scatter counts the whole buffer (recvcounts are size / numprocs), the others what each rank sends.
    const bool shares = table_.op == "all_gather" || table_.op == "all_to_all";
    Json out = collective_row(table_.op, shares ? size * places.ranks : size, places, false,
                              type_of_elements(type_, table_.op), {time});
    out["across_ranks"] = "mean";
    return out;
  }

  void assume_two_nodes() {
    if (!two_nodes_assumed_)
      results_.warn("a ping-pong is taken as one between two nodes; --ranks-per-node 2: within a node");
    two_nodes_assumed_ = true;
  }

  void add(Json row) {
    ++rows_;
    table_.non_blocking ? results_.add_non_blocking(std::move(row)) : results_.add(std::move(row));
  }

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  LogPrefix prefix_;
  std::string at_;
  OsuTable table_;  ///< being read; one without an operation is left out
  OsuColumns columns_;
  std::string type_, memory_;
  LeftOutTables left_out_;
  std::size_t rows_ = 0;
  bool two_nodes_assumed_ = false;
};

}  // namespace

void read_osu(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
              Diagnostics& diagnostics) {
  OsuTables tables(hints, results, diagnostics);
  read_table_lines(text, tables);
}

}  // namespace stepcast
