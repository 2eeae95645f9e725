#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "calibration/importers/log_prefix.hpp"
#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/nccl_rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

int number_after(const std::vector<std::string_view>& words, std::string_view name) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == name) return static_cast<int>(std::clamp(number_of(words[i + 1]).value_or(0), 0.0, 1e6));
  return 0;
}

/// `# Rank 0 Group 0 Pid 123 on node1 device 0 [0000:07:00] NVIDIA A100-SXM4-40GB`
void take_rank(const std::vector<std::string_view>& words, HostsOfGroups& hosts, ResultsBuilder& results) {
  const auto on = std::find(words.begin(), words.end(), "on");
  if (on == words.end() || on + 1 == words.end()) return;
  const std::string host(*(on + 1));
  hosts[number_after(words, "Group")].push_back(host);
  results.host(host);
  const auto address =
      std::find_if(on, words.end(), [](std::string_view word) { return !word.empty() && word.front() == '['; });
  if (address == words.end()) return;
  std::string device;
  for (auto word = address + 1; word != words.end(); ++word)
    if (word->back() != ']' || !device.empty()) device += (device.empty() ? "" : " ") + std::string(*word);
  if (!device.empty()) results.accelerator(device);
}

/// Columns that a row leaves blank: operations that sum nothing have no redop in some versions, and a number in its
/// place.
std::size_t blank_columns(const std::vector<std::string>& header, const std::vector<std::string_view>& words) {
  return header.size() > 3 && header[3] == "redop" && words.size() > 3 && number_of(words[3]) ? 1 : 0;
}

/// Whether a line begins, behind its `#`, as nccl-tests begins one.
bool is_known_comment(std::string_view behind_mark) {
  constexpr std::array kFirstWords{std::string_view("nThread"),    std::string_view("Using"),
                                   std::string_view("Rank"),       std::string_view("size"),
                                   std::string_view("Collective"), std::string_view("Out")};
  const auto words = words_of(behind_mark);
  return !words.empty() && std::find(kFirstWords.begin(), kFirstWords.end(), words.front()) != kFirstWords.end();
}

/// Whether words are a comment of nccl-tests whose mark is lost, as where a log was copied from a page that shows it as
/// a heading.
bool is_comment_without_mark(const std::vector<std::string_view>& words) {
  const auto begins = [&](std::string_view first, auto second) {
    return words.size() > 1 && words[0] == first && second(words[1]);
  };
  const auto number = [](std::string_view word) { return number_of(word).has_value(); };
  return begins("nThread", number) || begins("Rank", number) ||
         begins("size", [](std::string_view word) { return word == "count"; }) ||
         begins("Using", [](std::string_view word) { return word == "devices"; }) ||
         begins("Out", [](std::string_view word) { return word == "of"; });
}

/// The program that a command line starts, as `mpirun … ./build/all_reduce_perf -b 8`; null in other lines.
const NamePair* program_of_command(std::string_view line) {
  const auto end = line.find("_perf -");
  return end == std::string_view::npos ? nullptr : nccl_program_of_file(std::string(line.substr(0, end)));
}

/// The program that a heading of a script names, as `==== all_reduce_perf ====`; null in other lines.
const NamePair* program_of_heading(std::string_view line) {
  const auto end = line.find("_perf");
  if (end == std::string_view::npos || line.find("_perf", end + 1) != std::string_view::npos) return nullptr;
  const std::string_view before = line.substr(0, end);
  const std::string_view word = before.substr(before.find_last_of(" \t/=:[(") + 1);
  const NamePair* program = nccl_program_in(word);
  return program != nullptr && program->theirs == word ? program : nullptr;
}

/// The words of a row before a message of NCCL that was printed into it: `… sum -1node1:7:9 [0] NCCL INFO Launch mode`.
std::vector<std::string_view> words_before_message(std::string_view line) {
  const auto message = line.find(" NCCL ");
  auto words = words_of(line.substr(0, message));
  // Before it stand the device and, behind the row's last word, host and process.
  if (message != std::string_view::npos && words.size() > 1) words.pop_back();
  return words;
}

/// Tables of nccl-tests: rows stand under the header's words, aligned at the end, for `redop` may be blank.
class NcclTable {
 public:
  NcclTable(const std::string& file, const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics) {
    named_ = nccl_program_of_file(file);
  }

  void line(std::string_view text, std::size_t number) {
    const auto mark = text.find('#');
    if (mark != std::string_view::npos && is_known_comment(text.substr(mark + 1))) prefix_.learn(text.substr(0, mark));
    const std::string_view line = prefix_.strip(text);
    const std::string at = fmt::format("line {}", number);
    if (line.starts_with("RCCL version :")) results_.version("rccl", std::string(trimmed(line.substr(14))));
    if (const auto version = line.find("NCCL version "); version != std::string_view::npos) {
      const auto words = words_of(line.substr(version + 13));
      if (!words.empty()) results_.version("nccl", std::string(words.front()));
    }
    if (line.starts_with("#")) return comment(words_of(line.substr(1)), line, at);
    if (const NamePair* program = program_of_command(line))
      commands_.insert(program);
    else if (const NamePair* headed = program_of_heading(line))
      headings_.insert(headed);
    const std::vector<std::string_view> words = words_before_message(line);
    if (is_comment_without_mark(words)) return comment(words, line, at);
    if (words.empty() || !number_of(words.front())) return;  // what jobs print around the table
    joined_row(words, at);
  }

  void finish() {
    end_started_row();
    if (taken_ || !diagnostics_.ok()) return;
    if (!skipped_.empty())
      return diagnostics_.error("", fmt::format("holds only tables of {}_perf, which is no collective here", skipped_),
                                fmt::format("expected one of {}", kMeasuredOperations));
    diagnostics_.error("", "no table of nccl-tests or rccl-tests in it", "the output of all_reduce_perf …");
  }

 private:
  void comment(const std::vector<std::string_view>& words, std::string_view line, const std::string& at) {
    if (words.empty()) return;
    end_started_row();
    if (line.find(", predicted (") != std::string_view::npos && diagnostics_.ok())
      diagnostics_.error(at, fmt::format("{} is a prediction of stepcast collective, no measurement", shown(line)),
                         "the output of all_reduce_perf …");
    if (words.front() == "Rank") {
      repeated_rank_ = repeated_rank_ || !ranks_.insert(number_after(words, "Rank")).second;
      return take_rank(words, hosts_, results_);
    }
    if (words.front() == "out-of-place" || words.front() == "in-place") first_in_place_ = words.front() == "in-place";
    if (words.front() == "size") {
      header_.assign(words.begin(), words.end());
      opened_ = false;
      return;
    }
    // A file may hold several runs: each begins with its program, its arguments and its devices (common.cu).
    if (line.find("Using devices") != std::string_view::npos) return begin_devices();
    if (line.find("Collective test starting:") != std::string_view::npos) {
      begin_run();
      if (const NamePair* program = nccl_program_in(line)) {
        named_ = program;
        what_ = "its program is";
        commands_.clear();
        headings_.clear();
      }
    }
    if (line.find("nThread") != std::string_view::npos) begin_run();
    if (line.find("nGpus") != std::string_view::npos) take_iterations(words, line);
    if (line.find("Out of bounds values") != std::string_view::npos) check_bounds(line, at);
  }

  void begin_run() {
    begin_devices();
    header_.clear();
    first_in_place_ = false;
  }

  void begin_devices() {
    hosts_.clear();
    ranks_.clear();
    repeated_rank_ = false;
  }

  void take_iterations(const std::vector<std::string_view>& words, std::string_view line) {
    iterations_ = std::max(1, number_after(words, "iters:"));
    // "warmup iters: 5 iters: 20": the second counts.
    const auto plain =
        line.rfind(" iters:", line.find(" agg iters") == std::string_view::npos ? std::string_view::npos
                                                                                : line.find(" agg iters") - 1);
    if (plain == std::string_view::npos) return;
    const auto after = words_of(line.substr(plain + 7));
    if (!after.empty()) iterations_ = static_cast<int>(std::clamp(number_of(after.front()).value_or(1), 1.0, 1e6));
  }

  /// Versions before 2.13 print each row's largest deviation, and only here whether one was too large.
  void check_bounds(std::string_view line, const std::string& at) {
    if (line.find("FAILED") == std::string_view::npos || !diagnostics_.ok()) return;
    diagnostics_.error(at,
                       fmt::format("found {}: the data that came out was wrong, so its times mean nothing",
                                   shown(trimmed(line.substr(1)))),
                       "find the fault before measuring");
  }

  /// What a table needs besides its rows.
  void open(const std::string& at) {
    opened_ = true;
    places_ = {};
    if (!diagnostics_.ok()) return;
    if (commands_.size() == 1 && named_by_command()) {
      named_ = *commands_.begin();
      what_ = "the command line says";
    }
    if (commands_.empty() && headings_.size() == 1 && named_by_command()) {
      named_ = *headings_.begin();
      what_ = "the heading says";
    }
    commands_.clear();
    headings_.clear();
    op_ = nccl_operation(named_, what_, hints_, at, diagnostics_);
    if (!diagnostics_.ok()) return;
    if (op_.empty() && named_ != nullptr) {
      skipped_ = named_->theirs;
      results_.warn(fmt::format("tables of {}_perf were left out: it is no collective here", skipped_));
      return;
    }
    taken_ = true;
    if (op_.empty())
      return diagnostics_.error(at, "neither the table nor the file's name says which collective it is",
                                fmt::format("--op with one of {}", kMeasuredOperations));
    if (repeated_rank_)
      return diagnostics_.error(at, "its list of devices has a rank twice: each process ran by itself",
                                "build nccl-tests with MPI=1 for ranks of several processes");
    if (!ranks_.empty() && *ranks_.rbegin() >= static_cast<int>(ranks_.size()))
      return diagnostics_.error(
          at, fmt::format("its list of devices is cut: {} of {} ranks are in it", ranks_.size(), *ranks_.rbegin() + 1),
          "the whole output; or leave the list out, and say --ranks and --ranks-per-node");
    places_ = places_of_group(hosts_, hints_, at, results_, diagnostics_);
    if (places_.ranks == 1) results_.warn("a table is of one rank alone, which moves nothing between devices");
  }

  /// Whether a command line tells the collective: the program itself does, in versions that say it.
  [[nodiscard]] bool named_by_command() const { return std::string_view(what_) != "its program is"; }

  /// A row, or what is left of one that a message of NCCL has split.
  void joined_row(const std::vector<std::string_view>& words, const std::string& at) {
    if (header_.empty()) return;
    const auto whole = [&](const auto& row) { return row.size() + blank_columns(header_, row) >= header_.size(); };
    std::vector<std::string_view> joined(started_.begin(), started_.end());
    joined.insert(joined.end(), words.begin(), words.end());
    if (whole(words) || joined.size() > header_.size()) {
      end_started_row();
      joined = words;
    }
    if (!whole(joined)) {
      started_at_ = at;
      return started_.assign(joined.begin(), joined.end());
    }
    row(joined, at);
    started_.clear();
  }

  /// A row that nothing completes is a cut one.
  void end_started_row() {
    if (started_.empty()) return;
    row({started_.begin(), started_.end()}, started_at_);
    started_.clear();
  }

  /// The time at which a row was printed (-S): its last two words below the header's last.
  void take_timestamp(std::vector<std::string_view>& words) {
    if (header_.back() != "timestamp" || words.size() != header_.size() + 1) return;
    const auto moment = moment_of(fmt::format("{}T{}", words[words.size() - 2], words.back()));
    if (!moment) return;
    results_.date(*moment);
    words.pop_back();
  }

  void row(std::vector<std::string_view> words, const std::string& at) {
    if (!opened_) open(at);
    if (op_.empty() || places_.ranks < 1) return;
    take_timestamp(words);
    const std::size_t blanks = blank_columns(header_, words);
    if (words.size() + blanks != header_.size())
      return diagnostics_.error(at, fmt::format("has {} columns, its header {}", words.size(), header_.size()),
                                "leave out a row that the end of a job has cut");
    bool in_place = first_in_place_;
    for (std::size_t column = 3 + blanks; column < header_.size(); ++column) {
      if (header_[column] != "time" && header_[column] != "cputime") continue;
      timed(words, column, blanks, in_place, at);
      in_place = true;
    }
  }

  /// What stands from one column of times on; `blanks`: columns that the row lacks before it.
  void timed(const std::vector<std::string_view>& words, std::size_t column, std::size_t blanks, bool in_place,
             const std::string& at) {
    const auto word = [&](std::size_t of) { return of < header_.size() ? words[of - blanks] : std::string_view(); };
    const auto time = number_of(word(column)), size = number_of(words[0]);
    if (!time || !size) return diagnostics_.error(at, fmt::format("found {}, expected a number", shown(word(column))));
    // Rates come from the time of the device, also where that of the host is printed.
    const auto rate = number_of(word(column + 1));
    const auto bus = number_of(word(column + 2));
    const bool old =
        rate && bus && places_.ranks > 1 && rates_of_old_version(op_, places_.ranks, *size, *time, *rate, *bus);
    if (header_[column] == "time" && rate && !old && !rate_of_time(*size, *time, *rate))
      return diagnostics_.error(at,
                                fmt::format("{} bytes in {} us are no {} GB/s: the row is cut, or its columns are "
                                            "not those of the header",
                                            *size, *time, *rate),
                                "leave out a row that the end of a job has cut");
    if (hosts_.empty() && rate && bus && !old && !rates_of_ranks(op_, places_.ranks, *rate, *bus)) {
      if (diagnostics_.ok())
        diagnostics_.error(at,
                           fmt::format("busbw is {:.4g} of algbw, of {} on {} ranks it would be {:.4g}", *bus / *rate,
                                       op_, places_.ranks, bus_factor(op_, places_.ranks)),
                           "--ranks as they were, and --op");
      return;
    }
    NcclRow row{*size, nccl_type(words[2], diagnostics_, at), in_place, *time, std::nullopt, false, {}};
    // Old versions mark a deviation that is too large: `1e+00*`.
    if (word(column + 3).ends_with('*')) row.wrong = 1;
    // Where data is not checked some versions leave the column out, others write N/A.
    if (const std::size_t after = column + 3; after < header_.size()) {
      const auto found = number_of(word(after));
      if (header_[after] == "#wrong") row.wrong = found;
      row.checked = found && (header_[after] == "#wrong" || header_[after] == "error");
    }
    add_nccl_row(row, op_, places_, iterations_, at, results_, diagnostics_);
  }

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  const NamePair* named_ = nullptr;  ///< the program, or what the file's name says; null: neither tells
  const char* what_ = "the file's name";
  std::string op_;       ///< of the table being read; empty: of no collective here
  std::string skipped_;  ///< the last program of none whose table was passed over
  LogPrefix prefix_;
  std::set<const NamePair*> commands_;  ///< programs that command lines before the table start
  std::set<const NamePair*> headings_;  ///< programs that other lines before the table name
  std::vector<std::string> header_;
  std::vector<std::string> started_;  ///< words of a row that a message of NCCL has split
  std::string started_at_;
  HostsOfGroups hosts_;
  MeasuredPlaces places_;  ///< of the table being read
  std::set<int> ranks_;    ///< of the list of devices
  int iterations_ = 1;
  bool repeated_rank_ = false;   ///< in the list of devices
  bool first_in_place_ = false;  ///< the first times of a row are in place: there are no others
  bool opened_ = false;          ///< the first row of the table was seen
  bool taken_ = false;           ///< a table of a collective was
};

}  // namespace

void read_nccl_tests(std::string_view text, const std::string& file, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  if (is_rccl_records(text)) return read_rccl_records(text, hints, results, diagnostics);
  if (trimmed(text).starts_with("{")) {
    const Json document = parse_json(text, diagnostics);
    if (diagnostics.ok()) read_nccl_json(document, file, hints, results, diagnostics);
    return;
  }
  NcclTable table(file, hints, results, diagnostics);
  std::size_t number = 0;
  const std::string plain = without_escapes(text);
  for (const std::string_view line : lines_of(plain)) table.line(line, ++number);
  table.finish();
}

}  // namespace stepcast
