#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

// Programs of nccl-tests by name, without `_perf`; the longer first, for `all_reduce` holds `reduce`. Those of no
// collective here have none.
constexpr std::array kNcclPrograms{NamePair{"all_reduce", "all_reduce"},
                                   NamePair{"all_gather", "all_gather"},
                                   NamePair{"reduce_scatter", "reduce_scatter"},
                                   NamePair{"alltoallv", ""},
                                   NamePair{"alltoall", "all_to_all"},
                                   NamePair{"all_to_all", "all_to_all"},
                                   NamePair{"broadcast", "broadcast"},
                                   NamePair{"sendrecv", "send_recv"},
                                   NamePair{"send_recv", "send_recv"},
                                   NamePair{"hypercube", ""},
                                   NamePair{"gather", ""},
                                   NamePair{"scatter", ""},
                                   NamePair{"reduce", "reduce"}};
// Types of nccl-tests' and rccl-tests' tables.
constexpr std::array kNcclTypes{
    NamePair{"float", "float32"},     NamePair{"half", "float16"}, NamePair{"double", "float64"},
    NamePair{"bfloat16", "bfloat16"}, NamePair{"int8", "int8"},    NamePair{"uint8", "uint8"},
    NamePair{"int32", "int32"},       NamePair{"uint32", "int32"}, NamePair{"int64", "int64"},
    NamePair{"uint64", "int64"},      NamePair{"fp8_e4m3", "fp8"}, NamePair{"fp8_e5m2", "fp8"},
    NamePair{"f8e4m3", "fp8"},        NamePair{"f8e5m2", "fp8"}};

// Rates are printed with two digits behind the point, times with three at least (common.cu).
constexpr double kRoundedRate = 0.0051, kRoundedTime = 0.01;

constexpr std::string_view kMeasuredOperations =
    "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, send_recv";

/// The program that a text or a file's name holds; null when none.
const NamePair* program_in(std::string_view text) {
  for (const NamePair& program : kNcclPrograms)
    if (text.find(program.theirs) != std::string_view::npos) return &program;
  return nullptr;
}

const NamePair* program_of_file(const std::string& file) {
  return program_in(std::string_view(file).substr(file.find_last_of('/') + 1));
}

std::string type_of(std::string_view name, Diagnostics& diagnostics, const std::string& at) {
  for (const NamePair& type : kNcclTypes)
    if (type.theirs == name) return std::string(type.ours);
  diagnostics.error(at, fmt::format("found the type {}, which nccl-tests does not have", shown(name)));
  return "float32";
}

/// Checks what one row of nccl-tests says and adds it.
struct NcclRow {
  double size = 0;
  std::string type;
  bool in_place = false;
  double time_us = 0;
  std::optional<double> wrong;  ///< elements; empty where they were not counted
  bool checked = false;
  std::vector<double> samples;
};

void add_nccl(const NcclRow& row, const std::string& op, const MeasuredPlaces& places, int iterations,
              const std::string& at, ResultsBuilder& results, Diagnostics& diagnostics) {
  if (row.size < 0 || row.size > kLargestBuffer)
    return diagnostics.error(at, fmt::format("a size of {} bytes", row.size));
  if (row.time_us < 0 || row.time_us > kLongestTime_us)
    return diagnostics.error(at, fmt::format("a time of {} us", row.time_us));
  if (row.wrong && *row.wrong > 0)
    return diagnostics.error(at,
                             fmt::format("{} wrong elements in {} of {} bytes: the data that came out was wrong, so "
                                         "its time means nothing",
                                         *row.wrong, op, row.size),
                             "find the fault before measuring");
  // Empty buffers, which nccl-tests prints where a size does not divide over the ranks.
  if (row.size == 0 || row.time_us == 0) return;
  Json out = collective_row(op, row.size, places, row.in_place, row.type,
                            row.samples.empty() ? std::vector{row.time_us} : row.samples);
  if (row.samples.empty() && iterations > 1) out["calls_per_sample"] = iterations;
  out["checked"] = row.checked;
  results.add(std::move(out));
}

/// The host of each rank, by the group that it was in (NCCL_TESTS_SPLIT).
using HostsOfGroups = std::map<int, std::vector<std::string>>;

/// How many ranks each host has of a group, the most first: what groups must have in common.
std::vector<int> spread_of(const std::vector<std::string>& hosts) {
  std::map<std::string, int> on_host;
  for (const std::string& host : hosts) ++on_host[host];
  std::vector<int> out;
  out.reserve(on_host.size());
  for (const auto& [host, ranks] : on_host) out.push_back(ranks);
  std::sort(out.rbegin(), out.rend());
  return out;
}

/// Places of the ranks of one group. Groups that ran side by side share one time, so they must be alike.
MeasuredPlaces places_of_group(const HostsOfGroups& groups, const MeasuredHints& hints, const std::string& at,
                               ResultsBuilder& results, Diagnostics& diagnostics) {
  if (groups.empty()) return places_of({}, hints, at, diagnostics);
  const std::vector<std::string>& first = groups.begin()->second;
  const MeasuredPlaces out = places_of(first, hints, at, diagnostics);
  if (groups.size() == 1 || out.ranks < 1) return out;
  for (const auto& [group, hosts] : groups)
    if (spread_of(hosts) != spread_of(first)) {
      diagnostics.error(at,
                        fmt::format("the ranks ran in {} groups, which are not alike: group {} has {} ranks, group {} "
                                    "{}, or other hosts",
                                    groups.size(), groups.begin()->first, first.size(), group, hosts.size()),
                        "measure groups of one shape: NCCL_TESTS_SPLIT");
      return {};
    }
  results.warn(fmt::format("{} groups of {} ranks ran side by side: times are of one while the others load the links",
                           groups.size(), out.ranks));
  return out;
}

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

/// Bus bandwidth over algorithm bandwidth (nccl-tests, PERFORMANCE.md).
double bus_factor(const std::string& op, int ranks) {
  const double others = (ranks - 1.0) / ranks;
  if (op == "all_reduce") return 2 * others;
  return op == "all_gather" || op == "reduce_scatter" || op == "all_to_all" ? others : 1;
}

/// Whether two printed rates are those of a collective on so many ranks.
bool of_these_ranks(const std::string& op, int ranks, double algbw_GBps, double busbw_GBps) {
  const double factor = bus_factor(op, ranks);
  return std::abs(busbw_GBps - factor * algbw_GBps) <= kRoundedRate * (1 + factor) + 1e-3 * busbw_GBps;
}

/// The collective of a file, by what names it (its program, else its name) or else by `--op`. A fault where both are
/// there and differ; empty then, and where neither is.
std::string op_of(const NamePair* named, const char* what, const MeasuredHints& hints, const std::string& at,
                  Diagnostics& diagnostics) {
  if (named == nullptr) return hints.op;
  if (hints.op.empty() || hints.op == named->ours) return std::string(named->ours);
  diagnostics.error(at, fmt::format("--op says {}, and {} {}", hints.op, what, named->theirs), "leave out --op");
  return {};
}

/// Whether a printed rate is that of the size and the time beside it, as they are rounded.
bool agree(double size, double time_us, double algbw_GBps) {
  if (time_us <= 0) return true;
  const double rate = size / time_us * 1e-3;
  return std::abs(rate - algbw_GBps) <= kRoundedRate + kRoundedTime * rate;
}

/// Tables of nccl-tests: rows stand under the header's words, aligned at the end, for `redop` may be blank.
class NcclTable {
 public:
  NcclTable(const std::string& file, const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics) {
    named_ = program_of_file(file);
  }

  void line(std::string_view text, std::size_t number) {
    const std::string_view line = without_rank_label(trimmed(text));
    const std::string at = fmt::format("line {}", number);
    if (const auto version = line.find("NCCL version "); version != std::string_view::npos) {
      const auto words = words_of(line.substr(version + 13));
      if (!words.empty()) results_.version("nccl", std::string(words.front()));
    }
    if (line.starts_with("#")) return comment(words_of(line.substr(1)), line, at);
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty() || !number_of(words.front())) return;  // what jobs print around the table
    row(words, at);
  }

  void finish() {
    if (taken_ || !diagnostics_.ok()) return;
    if (!skipped_.empty())
      return diagnostics_.error("", fmt::format("holds only tables of {}_perf, which is no collective here", skipped_),
                                fmt::format("expected one of {}", kMeasuredOperations));
    diagnostics_.error("", "no table of nccl-tests or rccl-tests in it", "the output of all_reduce_perf …");
  }

 private:
  void comment(const std::vector<std::string_view>& words, std::string_view line, const std::string& at) {
    if (words.empty()) return;
    if (line.find(", predicted (") != std::string_view::npos && diagnostics_.ok())
      diagnostics_.error(at, fmt::format("{} is a prediction of stepcast collective, no measurement", shown(line)),
                         "the output of all_reduce_perf …");
    if (words.front() == "Rank") return take_rank(words, hosts_, results_);
    if (words.front() == "size") {
      header_.assign(words.begin(), words.end());
      opened_ = false;
      return;
    }
    // A file may hold several runs: each begins with its program, its arguments and its devices (common.cu).
    if (line.find("Using devices") != std::string_view::npos) return hosts_.clear();
    if (line.find("Collective test starting:") != std::string_view::npos) {
      begin_run();
      if (const NamePair* program = program_in(line)) {
        named_ = program;
        what_ = "its program is";
      }
    }
    if (line.find("nThread") != std::string_view::npos) begin_run();
    if (line.find("nGpus") != std::string_view::npos) take_iterations(words, line);
    if (line.find("Out of bounds values") != std::string_view::npos) check_bounds(line, at);
  }

  void begin_run() {
    hosts_.clear();
    header_.clear();
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
    op_ = op_of(named_, what_, hints_, at, diagnostics_);
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
    places_ = places_of_group(hosts_, hints_, at, results_, diagnostics_);
  }

  void row(const std::vector<std::string_view>& words, const std::string& at) {
    if (header_.empty()) return;
    if (!opened_) open(at);
    if (op_.empty() || places_.ranks < 1) return;
    const std::size_t blanks = blank_columns(header_, words);
    if (words.size() + blanks != header_.size())
      return diagnostics_.error(at, fmt::format("has {} columns, its header {}", words.size(), header_.size()),
                                "leave out a row that the end of a job has cut");
    bool in_place = false;
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
    if (header_[column] == "time" && rate && !agree(*size, *time, *rate))
      return diagnostics_.error(at,
                                fmt::format("{} bytes in {} us are no {} GB/s: the row is cut, or its columns are "
                                            "not those of the header",
                                            *size, *time, *rate),
                                "leave out a row that the end of a job has cut");
    const auto bus = number_of(word(column + 2));
    if (hosts_.empty() && rate && bus && !of_these_ranks(op_, places_.ranks, *rate, *bus)) {
      if (diagnostics_.ok())
        diagnostics_.error(at,
                           fmt::format("busbw is {:.4g} of algbw, of {} on {} ranks it would be {:.4g}", *bus / *rate,
                                       op_, places_.ranks, bus_factor(op_, places_.ranks)),
                           "--ranks as they were, and --op");
      return;
    }
    NcclRow row{*size, type_of(words[2], diagnostics_, at), in_place, *time, std::nullopt, false, {}};
    // Where data is not checked some versions leave the column out, others write N/A.
    if (const std::size_t after = column + 3; after < header_.size()) {
      const auto found = number_of(word(after));
      if (header_[after] == "#wrong") row.wrong = found;
      row.checked = found && (header_[after] == "#wrong" || header_[after] == "error");
    }
    add_nccl(row, op_, places_, iterations_, at, results_, diagnostics_);
  }

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  const NamePair* named_ = nullptr;  ///< the program, or what the file's name says; null: neither tells
  const char* what_ = "the file's name";
  std::string op_;       ///< of the table being read; empty: of no collective here
  std::string skipped_;  ///< the last program of none whose table was passed over
  std::vector<std::string> header_;
  HostsOfGroups hosts_;
  MeasuredPlaces places_;  ///< of the table being read
  int iterations_ = 1;
  bool opened_ = false;  ///< the first row of the table was seen
  bool taken_ = false;   ///< a table of a collective was
};

/// NCCL's version as one number: 22304 is 2.23.4, and before 2.9 2808 is 2.8.8 (nccl.h, NCCL_VERSION).
std::string nccl_version(int code) {
  if (code < 10000) return fmt::format("{}.{}.{}", code / 1000, code % 1000 / 100, code % 100);
  return fmt::format("{}.{}.{}", code / 10000, code % 10000 / 100, code % 100);
}

void read_nccl_json(const Json& document, const std::string& file, const MeasuredHints& hints, ResultsBuilder& results,
                    Diagnostics& diagnostics) {
  if (!document.is_object() || !document.contains("results") || !document["results"].is_array())
    return diagnostics.error("/results", "missing: is no JSON of nccl-tests (-J)");
  const NamePair* program = nullptr;
  if (document.contains("args") && document["args"].is_array() && !document["args"].empty() &&
      document["args"][0].is_string())
    program = program_in(document["args"][0].get_ref<const std::string&>());
  const char* what = program != nullptr ? "its program is" : "the file's name";
  if (!program) program = program_of_file(file);
  const std::string op = op_of(program, what, hints, "/args", diagnostics);
  if (!diagnostics.ok()) return;
  if (op.empty() && program)
    return diagnostics.error("/args", fmt::format("is of {}_perf, which is no collective here", program->theirs),
                             fmt::format("expected one of {}", kMeasuredOperations));
  if (op.empty())
    return diagnostics.error("/args", "neither the arguments nor the file's name say which collective it is",
                             fmt::format("--op with one of {}", kMeasuredOperations));
  if (const double code = figure(document, "nccl_version"); code > 0 && code < 1e7)
    results.version("nccl", nccl_version(static_cast<int>(code)));
  if (const auto start = moment_of(words(document, "start_time"))) results.date(*start);
  static const Json kNothing = Json::object();
  const Json& config = document.contains("config") ? document["config"] : kNothing;
  HostsOfGroups hosts;
  if (config.is_object() && config.contains("devices") && config["devices"].is_array())
    for (const Json& device : config["devices"]) {
      hosts[static_cast<int>(std::clamp(figure(device, "group"), 0.0, 1e6))].push_back(words(device, "hostname"));
      results.host(words(device, "hostname"));
      if (const std::string name = words(device, "device_info"); !name.empty()) results.accelerator(name);
    }
  const MeasuredPlaces places = places_of_group(hosts, hints, "/config/devices", results, diagnostics);
  if (places.ranks < 1) return;
  const auto iterations = static_cast<int>(std::clamp(figure(config, "iterations", 1), 1.0, 1e6));
  for (std::size_t i = 0; i < document["results"].size(); ++i) {
    const Json& row = document["results"][i];
    const std::string at = fmt::format("/results/{}", i);
    if (!row.is_object()) {
      diagnostics.error(at, "is no object");
      continue;
    }
    for (const char* place : {"out_of_place", "in_place"}) {
      if (!row.contains(place) || !row[place].is_object()) continue;
      const Json& body = row[place];
      NcclRow out{figure(row, "size", -1),
                  type_of(words(row, "type"), diagnostics, at),
                  place[0] == 'i',
                  figure(body, "time", figure(body, "cpu_time", -1)),
                  std::nullopt,
                  false,
                  {}};
      if (body.contains("nwrong") && body["nwrong"].is_number()) out.wrong = body["nwrong"].get<double>();
      out.checked = out.wrong.has_value();
      const std::string each = std::string(place) + "_per_iter";
      if (row.contains(each) && row[each].is_object() && row[each].contains("times_us") &&
          row[each]["times_us"].is_array())
        for (const Json& sample : row[each]["times_us"])
          if (sample.is_number() && sample.get<double>() > 0 && sample.get<double>() <= kLongestTime_us)
            out.samples.push_back(sample.get<double>());
      add_nccl(out, op, places, iterations, at, results, diagnostics);
    }
  }
}

}  // namespace

void read_nccl_tests(std::string_view text, const std::string& file, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  if (trimmed(text).starts_with("{")) {
    const Json document = parse_json(text, diagnostics);
    if (diagnostics.ok()) read_nccl_json(document, file, hints, results, diagnostics);
    return;
  }
  NcclTable table(file, hints, results, diagnostics);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) table.line(line, ++number);
  table.finish();
}

}  // namespace stepcast
