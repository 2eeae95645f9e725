#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "calibration/importers/log_prefix.hpp"
#include "calibration/importers/measured/left_out_tables.hpp"
#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/measured/table_lines.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Collectives as ucc_perftest names them, in small letters.
constexpr std::array kUccCollectives{
    NamePair{"allreduce", "all_reduce"},
    NamePair{"allgather", "all_gather"},
    NamePair{"reduce_scatter", "reduce_scatter"},
    NamePair{"alltoall", "all_to_all"},
    NamePair{"bcast", "broadcast"},
    NamePair{"reduce", "reduce"},
    NamePair{"barrier", "barrier"},
};
constexpr std::array<std::string_view, 8> kUccTypes{"int8",    "uint8",   "int32",   "int64",
                                                    "float16", "float32", "float64", "bfloat16"};

struct UccRow {
  std::string at;
  double size = 0, time_us = 0;
  double rate_GBps = 0;  ///< of the bus, as -F prints it; 0: it does not
};

/// Tables of ucc_perftest, each below `Collective: NAME`.
class UccTables {
 public:
  UccTables(const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics) {}

  /// False where reading on makes no sense.
  bool line(std::string_view text, std::size_t number) {
    at_ = fmt::format("line {}", number);
    constexpr std::string_view kTitle = "Collective: ";
    if (const auto mark = text.find(kTitle); mark != std::string_view::npos) {
      if (!end_table()) return false;
      prefix_.learn(text.substr(0, mark));
      return begin_table(trimmed(text.substr(mark + kTitle.size()))), true;
    }
    const std::string_view line = prefix_.strip(text);
    if (op_.empty() || line.empty()) return true;
    if (const auto type = value_of(line, {"Datatype:", "Data type:"})) return take_type(*type);
    if (const auto memory = value_of(line, {"Memory type:"})) return take_memory(*memory);
    if (const auto in_place = value_of(line, {"Inplace:"})) return in_place_ = *in_place == "1", true;
    const std::vector<std::string_view> words = words_of(line);
    if (words.front() == "Count") return columns_ = line.find("Bandwidth") == std::string_view::npos ? 5 : 8, true;
    const bool sizes = op_ != "barrier";
    if (columns_ == 0 || is_prose(words) || !(sizes ? number_of(words[0]).has_value() : words[0] == "N/A")) return true;
    return row(words, line);
  }

  void finish() {
    if (!diagnostics_.ok() || !end_table()) return;
    left_out_.report(rows_, "ucc_perftest",
                     "allreduce, allgather, reduce_scatter, alltoall, bcast, reduce and barrier are taken", results_,
                     diagnostics_);
  }

 private:
  static std::optional<std::string_view> value_of(std::string_view line, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys)
      if (line.starts_with(key)) return trimmed(line.substr(key.size()));
    return std::nullopt;
  }

  void begin_table(std::string_view name) {
    op_.clear();
    type_.clear();
    in_place_ = false;
    columns_ = 0;
    const std::string lower = lower_case(name);
    for (const NamePair& one : kUccCollectives)
      if (one.theirs == lower) op_ = one.ours;
    if (op_.empty()) left_out_.add(fmt::format("{} is no collective that is predicted here", shown(name)), at_);
  }

  bool take_type(std::string_view name) {
    if (std::find(kUccTypes.begin(), kUccTypes.end(), name) != kUccTypes.end()) return type_ = name, true;
    diagnostics_.error(at_, fmt::format("found the type {}", shown(name)),
                       fmt::format("expected one of {}", fmt::join(kUccTypes, ", ")));
    return false;
  }

  bool take_memory(std::string_view name) {
    if (memory_.empty()) memory_ = name;
    if (memory_ == name) return true;
    diagnostics_.error(at_, fmt::format("found memory of type {} after {}", shown(name), shown(memory_)),
                       "import tables of each kind of memory by themselves");
    return false;
  }

  bool row(const std::vector<std::string_view>& words, std::string_view line) {
    const bool sizes = op_ != "barrier";
    const bool whole = words.size() == columns_ && !is_cut(words);
    const std::optional<double> size = !sizes ? 0 : whole ? number_of(words[1]) : std::nullopt;
    std::optional<double> time;
    if (whole) time = number_of(words[2]);
    if (!whole || !size || !time || *size < 0 || *size > kLargestBuffer || *time <= 0 || *time > kLongestTime_us) {
      diagnostics_.error(
          at_, fmt::format("found {}, expected {} columns with a size and a time above 0", shown(line), columns_));
      return false;
    }
    table_.push_back({at_, *size, *time, columns_ > 5 ? number_of(words[5]).value_or(0) : 0});
    return true;
  }

  /// Of an alltoall some versions print what a rank sends to each, and some what it sends in all. -F tells by the rate,
  /// (n - 1) / n of all ÷ time.
  std::optional<bool> prints_shares(int ranks) const {
    constexpr double kLeastRate = 0.05;  // of two digits behind the point
    const auto told =
        std::find_if(table_.rbegin(), table_.rend(), [](const UccRow& row) { return row.rate_GBps >= kLeastRate; });
    if (told == table_.rend()) return std::nullopt;
    const double if_all = told->size * (ranks - 1) / ranks / told->time_us * 1e-3;
    const double off_all = std::abs(std::log(told->rate_GBps / if_all));
    const double off_shares = std::abs(std::log(told->rate_GBps / (if_all * ranks)));
    // Means over ranks differ by a few per cent; other numbers of ranks by their ratio.
    constexpr double kOff = 0.25;
    if (std::min(off_all, off_shares) > kOff)
      diagnostics_.error(told->at,
                         fmt::format("{:g} bytes in {:g} us at {:g} GB/s are no alltoall of {} ranks", told->size,
                                     told->time_us, told->rate_GBps, ranks),
                         "--ranks as they were");
    return off_shares < off_all;
  }

  /// Adds the rows of the table that was read. False, with a fault, where their sizes or ranks are not told.
  bool end_table() {
    if (table_.empty()) return true;
    const MeasuredPlaces places = places_of({}, hints_, "", diagnostics_);
    if (places.ranks < 1) return false;
    std::optional<bool> shares = op_ == "all_gather";
    if (op_ == "all_to_all") shares = prints_shares(places.ranks);
    if (!diagnostics_.ok()) return false;
    if (!shares) {
      diagnostics_.error(table_.front().at,
                         "sizes of an alltoall are of each pair in some versions and of all pairs in others",
                         "measure with -F: its rates tell which");
      return false;
    }
    for (const UccRow& row : table_) {
      Json out = collective_row(op_, *shares ? row.size * places.ranks : row.size, places, in_place_,
                                type_.empty() ? "float32" : type_, {row.time_us});
      out["across_ranks"] = "mean";
      results_.add(std::move(out));
    }
    rows_ += table_.size();
    table_.clear();
    return true;
  }

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  LogPrefix prefix_;
  std::string at_;
  std::string op_, type_;  ///< of the table being read; no operation: it is left out
  std::string memory_;     ///< of the tables
  bool in_place_ = false;
  std::size_t columns_ = 0;
  std::vector<UccRow> table_;
  LeftOutTables left_out_;
  std::size_t rows_ = 0;
};

}  // namespace

void read_ucc(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
              Diagnostics& diagnostics) {
  UccTables tables(hints, results, diagnostics);
  read_table_lines(text, tables);
}

}  // namespace stepcast
