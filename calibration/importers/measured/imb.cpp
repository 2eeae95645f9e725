#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

#include "calibration/importers/log_prefix.hpp"
#include "calibration/importers/measured/left_out_tables.hpp"
#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/measured/table_lines.hpp"

namespace stepcast {

namespace {

/// A benchmark of IMB, and what its sizes are of (Intel MPI Benchmarks' user guide, MPI-1).
struct ImbBenchmark {
  std::string_view name, op;
  bool shares = false;  ///< X is one process' share of the buffer
};
constexpr std::array kBenchmarks{
    ImbBenchmark{"PingPong", "ping_pong"},
    ImbBenchmark{"PingPing", "send_recv"},
    ImbBenchmark{"Sendrecv", "send_recv"},
    ImbBenchmark{"Allreduce", "all_reduce"},
    ImbBenchmark{"Allgather", "all_gather", true},
    ImbBenchmark{"Reduce_scatter", "reduce_scatter"},
    ImbBenchmark{"Reduce_scatter_block", "reduce_scatter", true},
    ImbBenchmark{"Alltoall", "all_to_all", true},
    ImbBenchmark{"Bcast", "broadcast"},
    ImbBenchmark{"Reduce", "reduce"},
    ImbBenchmark{"Barrier", "barrier"},
};
constexpr std::string_view kTaken =
    "PingPong, PingPing, Sendrecv, Allreduce, Allgather, Reduce_scatter, Reduce_scatter_block, Alltoall, Bcast, "
    "Reduce, "
    "Barrier and the non-blocking ones of IMB-NBC hold such times";

constexpr std::array kTypes{NamePair{"MPI_BYTE", "int8"}, NamePair{"MPI_CHAR", "int8"}, NamePair{"MPI_INT", "int32"},
                            NamePair{"MPI_FLOAT", "float32"}, NamePair{"MPI_DOUBLE", "float64"}};

/// The benchmark of a name, or of that of a non-blocking call (`Iallreduce`, `Iallreduce_pure`); null for others.
const ImbBenchmark* benchmark_of(std::string_view name, bool& non_blocking) {
  std::string blocking(name);
  non_blocking = name.size() > 1 && name[0] == 'I' && std::islower(static_cast<unsigned char>(name[1])) != 0;
  if (non_blocking) {
    constexpr std::string_view kPure = "_pure";
    if (name.ends_with(kPure)) name.remove_suffix(kPure.size());
    blocking = name.substr(1);
    blocking[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(blocking[0])));
  }
  const auto* found = std::find_if(kBenchmarks.begin(), kBenchmarks.end(),
                                   [&](const ImbBenchmark& one) { return one.name == blocking; });
  return found == kBenchmarks.end() ? nullptr : found;
}

/// What stands behind a key of a comment, as `# Date   :  Fri Nov 20 …`; nothing where the line is of another.
std::optional<std::string_view> comment_value(std::string_view line, std::string_view key) {
  std::string_view rest = trimmed(line.substr(1));
  if (!rest.starts_with(key)) return std::nullopt;
  rest = trimmed(rest.substr(key.size()));
  if (rest.empty() || (rest.front() != ':' && rest.front() != '=')) return std::nullopt;
  return trimmed(rest.substr(1));
}

/// The columns of a table by name, and their places among the words of a row.
class ImbColumns {
 public:
  void set(const std::vector<std::string_view>& header) {
    places_.clear();
    for (const std::string_view name : header) places_.emplace(std::string(name), places_.size());
  }
  void clear() { places_.clear(); }
  [[nodiscard]] std::size_t count() const { return places_.size(); }
  [[nodiscard]] bool has(const char* name) const { return places_.contains(name); }
  /// Empty where the column is not there, or holds no number.
  [[nodiscard]] std::optional<double> in(const std::vector<std::string_view>& row, const char* name) const {
    const auto at = places_.find(name);
    return at == places_.end() || at->second >= row.size() ? std::nullopt : number_of(row[at->second]);
  }

 private:
  std::map<std::string, std::size_t> places_;
};

/// Tables of IMB's programs, each below `# Benchmarking NAME`.
class ImbTables {
 public:
  ImbTables(const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics) {}

  /// False where reading on makes no sense.
  bool line(std::string_view text, std::size_t number) {
    at_ = fmt::format("line {}", number);
    constexpr std::string_view kTitle = "# Benchmarking ";
    if (const auto mark = text.find(kTitle); mark != std::string_view::npos) {
      prefix_.learn(text.substr(0, mark));
      return begin_table(trimmed(text.substr(mark + kTitle.size())));
    }
    // The date stands above all tables.
    if (const auto date = text.find("# Date "); date != std::string_view::npos) prefix_.learn(text.substr(0, date));
    const std::string_view line = prefix_.strip(text);
    if (line.empty()) return true;
    return line.front() == '#' ? comment(line) : row(words_of(line), line);
  }

  void finish() {
    if (diagnostics_.ok())
      left_out_.report(rows_, "the Intel MPI Benchmarks", std::string(kTaken), results_, diagnostics_);
  }

 private:
  bool begin_table(std::string_view name) {
    benchmark_ = benchmark_of(name, non_blocking_);
    columns_.clear();
    processes_ = 0;
    if (benchmark_ == nullptr)
      skip(fmt::format("{} holds no times of a single call that is predicted here", shown(name)));
    name_ = name;
    return true;
  }

  void skip(std::string words) {
    left_out_.add(std::move(words), at_);
    benchmark_ = nullptr;
  }

  bool comment(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (std::any_of(words.begin(), words.end(), [](std::string_view word) { return word == "#repetitions"; }))
      return columns_.set(words), true;
    if (const auto date = comment_value(line, "Date"))
      if (const auto moment = calendar_moment_of(*date)) results_.date(*moment);
    if (line.find("MPI Benchmark") != std::string_view::npos) take_version(words);
    if (const auto type = comment_value(line, "MPI_Datatype")) return take_type(*type, moved_type_);
    if (const auto type = comment_value(line, "MPI_Datatype for reductions")) return take_type(*type, reduced_type_);
    if (const auto count = comment_value(line, "#processes")) return take_processes(*count);
    if (line.find(" -map ") != std::string_view::npos)
      results_.warn("-map: its ranks may not fill node after node, as is assumed here");
    if (benchmark_ != nullptr && line.find("running simultaneous") != std::string_view::npos)
      skip(fmt::format("{} of several groups at once holds times of links that they share", name_));
    return true;
  }

  void take_version(const std::vector<std::string_view>& words) {
    for (std::string_view word : words) {
      if (word.ends_with(',')) word.remove_suffix(1);
      if (word.starts_with('V')) word.remove_prefix(1);
      if (!word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0)
        return results_.version("imb", std::string(word));
    }
  }

  bool take_type(std::string_view name, std::string& type) {
    const auto* known =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const NamePair& one) { return one.theirs == name; });
    if (known != kTypes.end()) return type = known->ours, true;
    diagnostics_.error(
        at_,
        fmt::format("found the type {}, expected MPI_BYTE, MPI_CHAR, MPI_INT, MPI_FLOAT or MPI_DOUBLE", shown(name)));
    return false;
  }

  bool take_processes(std::string_view count) {
    const auto found = whole_number(count);
    if (!found || *found < 1 || *found > kMostProcesses) {
      diagnostics_.error(at_, fmt::format("found {} processes, expected 1 to {}", shown(count), kMostProcesses));
      return false;
    }
    processes_ = *found;
    if (benchmark_ == nullptr) return true;
    if (processes_ == 1) skip(fmt::format("{} of one process holds no communication", name_));
    const bool pair = name_ == "PingPong" || name_ == "PingPing";
    if (pair && processes_ > 2)
      skip(fmt::format("{} of {} processes holds times of pairs that share the links", name_, processes_));
    return true;
  }

  /// Ranks fill node after node; fewer than all take part in the smaller tables.
  MeasuredPlaces places() const {
    const int per_node = std::min(processes_, hints_.per_node);
    return {processes_, (processes_ + per_node - 1) / per_node, per_node};
  }

  /// Whether a line is a row that has a time; faults of rows are reported.
  bool row(const std::vector<std::string_view>& words, std::string_view line) {
    if (benchmark_ == nullptr || columns_.count() == 0) return true;
    if (!number_of(words[0]) && words[0] != name_) return true;
    // `4194304 out-of-mem.; needed X= …`
    if (is_prose({words.begin() + 1, words.end()})) {
      if (words[1].ends_with(".;")) results_.warn("rows without a time are left out");
      return true;
    }
    const bool sizes = columns_.has("#bytes");
    const auto size = sizes ? columns_.in(words, "#bytes") : 0, calls = columns_.in(words, "#repetitions");
    const auto time = time_of(words);
    if (words.size() != columns_.count() || !size || !calls || !time || is_cut(words)) {
      diagnostics_.error(at_, fmt::format("found {}, expected {} columns of numbers of as many digits", shown(line),
                                          columns_.count()));
      return false;
    }
    if (columns_.in(words, "defects").value_or(0) != 0) {
      diagnostics_.error(at_, fmt::format("found {}: wrong data came out, so its time means nothing", shown(line)),
                         "find the fault before measuring");
      return false;
    }
    if (*size == 0 && benchmark_->op != "barrier") return true;  // nothing is sent, and no time is told of most
    return add(*size, *calls, *time, line);
  }

  [[nodiscard]] std::optional<double> time_of(const std::vector<std::string_view>& words) const {
    for (const char* name : {"t_avg[usec]", "t[usec]", "t_pure[usec]"})
      if (columns_.has(name)) return columns_.in(words, name);
    return std::nullopt;
  }

  bool add(double size, double calls, double time, std::string_view line) {
    if (size < 0 || size > kLargestBuffer || calls < 1 || calls > kMostCalls || time <= 0 || time > kLongestTime_us) {
      diagnostics_.error(at_, fmt::format("found {}, expected a size, a count and times above 0", shown(line)));
      return false;
    }
    if (processes_ < 2) {
      diagnostics_.error(at_, "no \"# #processes = N\" above this table");
      return false;
    }
    if (hints_.per_node < 1) {
      diagnostics_.error("", "the file does not tell how many ranks a node has", "say it: --ranks-per-node 8");
      return false;
    }
    Json out = benchmark_->op == "ping_pong" ? ping_pong_row(size, places().nodes, time) : collective(size, time);
    out["calls_per_sample"] = static_cast<std::int64_t>(calls);
    out["checked"] = columns_.has("defects");
    ++rows_;
    non_blocking_ ? results_.add_non_blocking(std::move(out)) : results_.add(std::move(out));
    return true;
  }

  [[nodiscard]] Json collective(double size, double time) const {
    const std::string op(benchmark_->op);
    const bool reduces = op == "all_reduce" || op.starts_with("reduce");
    Json out = collective_row(op, benchmark_->shares ? size * processes_ : size, places(), false,
                              reduces ? reduced_type_ : moved_type_, {time});
    if (columns_.has("t_avg[usec]")) out["across_ranks"] = "mean";
    return out;
  }

  static constexpr int kMostProcesses = 1 << 20;

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  LogPrefix prefix_;
  std::string at_, name_;
  const ImbBenchmark* benchmark_ = nullptr;  ///< of the table being read; null: it is left out
  bool non_blocking_ = false;
  ImbColumns columns_;
  int processes_ = 0;
  std::string moved_type_ = "int8", reduced_type_ = "float32";
  LeftOutTables left_out_;
  std::size_t rows_ = 0;
};

}  // namespace

void read_imb(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
              Diagnostics& diagnostics) {
  ImbTables tables(hints, results, diagnostics);
  read_table_lines(text, tables);
}

}  // namespace stepcast
